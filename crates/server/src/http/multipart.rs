//! Forms of parts (`multipart/form-data`), as pages and clients send them.

use axum::body::Bytes;
use futures_util::stream;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use multer::Multipart;
use serde_json::{Map, Value};

use crate::problem::{Problem, ProblemKind};

/// The maximum number of fields.
const MAX_FIELDS: usize = 64;

/// The fields of a form, and the name and the content of its file.
pub(crate) struct MultipartForm {
    pub(crate) fields: Map<String, Value>,
    pub(crate) file: Option<(String, Bytes)>,
}

/// What separates the parts; `None` if the body is no such form.
pub(crate) fn boundary(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(kind).ok()
}

/// Reads the parts of a form: its file is in the field `file`, and `lists` are the fields that may be
/// repeated.
///
/// # Errors
/// A [`Problem`] for a body that is no such form, for too many fields, and for text that is not UTF-8.
pub(crate) async fn read(
    bytes: Bytes,
    boundary: String,
    lists: &[impl AsRef<str>],
) -> Result<MultipartForm, Problem> {
    let whole = stream::iter([Ok::<Bytes, std::convert::Infallible>(bytes)]);
    let mut received = Multipart::new(whole, boundary);
    let broken = |error| Problem::new(ProblemKind::Malformed, format!("the form is broken: {error}"));
    let mut form = MultipartForm { fields: Map::new(), file: None };
    let mut count = 0;
    while let Some(field) = received.next_field().await.map_err(broken)? {
        count += 1;
        if count > MAX_FIELDS {
            return Err(Problem::new(
                ProblemKind::Invalid,
                format!("the form has more than {MAX_FIELDS} fields"),
            ));
        }
        let (name, file_name) = (field.name().map(str::to_owned), field.file_name().map(str::to_owned));
        let content = field.bytes().await.map_err(broken)?;
        match name.as_deref() {
            Some("file") if form.file.is_some() => {
                let problem = "the form has more than one file; send one at a time";
                return Err(Problem::field("file", problem));
            }
            Some("file") => form.file = Some((file_name.unwrap_or_default(), content)),
            Some(name) => {
                let value = Value::String(text(name, &content)?);
                insert(&mut form.fields, name, value, lists)?;
            }
            None => {}
        }
    }
    Ok(form)
}

/// Adds a field of a form. One of `lists` that is repeated becomes a list; of others, the last counts. A name
/// such as `dictionaries[0].entries` is a field of an object in one of `lists`.
///
/// # Errors
/// A [`Problem`] for an object that is not the next one of its list.
pub(crate) fn insert(
    fields: &mut Map<String, Value>,
    name: &str,
    value: Value,
    lists: &[impl AsRef<str>],
) -> Result<(), Problem> {
    if let Some((list, at, field)) = nested(name)
        && lists.iter().any(|one| one.as_ref() == list)
    {
        let object = place_of(fields, list, at).ok_or_else(|| {
            let problem = format!("`{list}` has no place for `{}`", attentive_base::shown::shown(name));
            Problem::field(list, problem).hint("number its objects from 0, one after the other")
        })?;
        object.insert(field.to_owned(), value);
        return Ok(());
    }
    match fields.get_mut(name) {
        Some(Value::Array(values)) => values.push(value),
        Some(first) if lists.iter().any(|list| list.as_ref() == name) => {
            *first = Value::Array(vec![first.take(), value]);
        }
        _ => {
            fields.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

/// Object number `at` of a list, which may be the next one; `None` if it has no place.
fn place_of<'a>(
    fields: &'a mut Map<String, Value>,
    list: &str,
    at: &str,
) -> Option<&'a mut Map<String, Value>> {
    let number: usize = at.parse().ok().filter(|number: &usize| number.to_string() == at)?;
    let objects = fields.entry(list).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?;
    if number == objects.len() {
        objects.push(Value::Object(Map::new()));
    }
    objects.get_mut(number)?.as_object_mut()
}

/// The list, the place and the field in a name such as `list[0].field` or `list[0][field]`.
fn nested(name: &str) -> Option<(&str, &str, &str)> {
    let (list, rest) = name.split_once('[')?;
    let (at, field) = rest.split_once(']')?;
    let field = field.strip_prefix('.').or_else(|| field.strip_prefix('[')?.strip_suffix(']'))?;
    Some((list, at, field))
}

/// The text of a field.
///
/// # Errors
/// A [`Problem`] with the line that is not UTF-8.
pub(crate) fn text(field: &str, bytes: &[u8]) -> Result<String, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Problem::field(field, format!("`{field}` is not UTF-8 on line {line}"))
    })?;
    Ok(text.to_owned())
}
