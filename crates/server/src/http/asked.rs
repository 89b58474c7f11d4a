//! Requests of APIs that others define: whatever their clients send besides the fields that are known here is
//! named in a warning.

use std::collections::HashSet;
use std::sync::Arc;

use attentive_base::shown::shown;
use attentive_pipeline::service::Client;
use axum::body::Bytes;
use axum::extract::Request;
use hyper::Method;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::http::body::{form, media_type, problem, read, read_form, read_in_background, sender, text};
use crate::http::multipart;
use crate::http::values::object;
use crate::http::visit::Visit;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::App;
use crate::state::shares::ClientShare;

/// What is read from a request.
pub(crate) struct Asked<T> {
    pub(crate) fields: T,
    pub(crate) client: Client,
    pub(crate) visit: Visit,
    /// A warning that names the fields that change nothing, if there are any.
    pub(crate) warnings: Vec<String>,
}

/// The special fields of a request.
#[derive(Clone, Copy)]
pub(crate) struct FieldRules {
    /// The field that may have the client's key.
    pub(crate) key: &'static str,
    /// The fields that a form may repeat.
    pub(crate) lists: &'static [&'static str],
    /// The fields whose effect is always there, so that no warning is due.
    pub(crate) neutral: &'static [&'static str],
}

/// A request without fields.
#[derive(Deserialize)]
pub(crate) struct NoFields {}

/// What stands in a request.
pub(crate) struct ReadFields<T> {
    pub(crate) key: Option<String>,
    /// The fields and a warning about others, or the problem with them, which is told to known clients.
    pub(crate) fields: Result<(T, Option<String>), Problem>,
}

impl FieldRules {
    /// Reads the `fields` of a request.
    ///
    /// # Errors
    /// A [`Problem`] for a key that is no string.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        mut fields: Map<String, Value>,
    ) -> Result<ReadFields<T>, Problem> {
        let key = match fields.remove(self.key) {
            None | Some(Value::Null) => None,
            Some(Value::String(key)) => Some(key),
            Some(_) => return Err(Problem::field(self.key, format!("`{}`: expected a string", self.key))),
        };
        let asks_for_nothing = |value: &Value| value.is_null() || value == "";
        let empty = fields.iter().filter(|(_, value)| asks_for_nothing(value));
        let mut silent: HashSet<String> = empty.map(|(name, _)| name.clone()).collect();
        silent.extend(self.neutral.iter().map(|&name| name.to_owned()));
        Ok(ReadFields { key, fields: Self::shaped(fields, &silent) })
    }

    /// The `fields` as a struct, and a warning about those that it does not have, unless they are `silent`.
    fn shaped<T: DeserializeOwned>(
        fields: Map<String, Value>,
        silent: &HashSet<String>,
    ) -> Result<(T, Option<String>), Problem> {
        let mut ignored = Vec::new();
        let mut note = |path: serde_ignored::Path<'_>| {
            let path = path.to_string();
            if !silent.contains(&path) {
                ignored.push(path);
            }
        };
        let mut track = serde_path_to_error::Track::new();
        let reader = serde_path_to_error::Deserializer::new(Value::Object(fields), &mut track);
        let fields = T::deserialize(serde_ignored::Deserializer::new(reader, &mut note));
        let fields = fields.map_err(|error| problem(&track.path().to_string(), error))?;
        Ok((fields, warning(ignored)))
    }
}

/// Reads a JSON object, or a form whose fields become strings, by the `rules` of the API. Parameters of the URL
/// are read as well.
///
/// # Errors
/// The errors of [`json`]; a [`Problem`] for a wrong key.
pub(crate) async fn json_or_form<T: DeserializeOwned + Send + 'static>(
    request: Request,
    app: &App,
    rules: FieldRules,
) -> Result<Asked<T>, Problem> {
    let visit = Visit::of(&request)?;
    let headers = request.headers().clone();
    let read = read_fields(request, app, rules).await?;
    known(app, &headers, visit, read)
}

/// The request with these fields, if the client is known.
///
/// # Errors
/// A [`Problem`] for a wrong key, and else the one with the fields.
pub(crate) fn known<T>(
    app: &App,
    headers: &HeaderMap,
    visit: Visit,
    read: ReadFields<T>,
) -> Result<Asked<T>, Problem> {
    let ReadFields { key, fields } = read;
    let client = app.client(headers, key.as_deref(), &visit)?;
    let (fields, warning) = fields?;
    Ok(Asked { fields, client, visit, warnings: Vec::from_iter(warning) })
}

async fn read_fields<T: DeserializeOwned + Send + 'static>(
    request: Request,
    app: &App,
    rules: FieldRules,
) -> Result<ReadFields<T>, Problem> {
    let client = sender(&request, app)?;
    // As pages send them.
    let boundary = multipart::boundary(request.headers()).filter(|_| request.method() != Method::GET);
    if let Some(boundary) = boundary {
        return read_multipart(request, app, boundary, rules).await;
    }
    let (head, body) = request.into_parts();
    let is_form = media_type(&head.headers).as_deref() == Some("application/x-www-form-urlencoded");
    let has_no_body = [Method::GET, Method::HEAD].contains(&head.method);
    // DeepL's client for Python sends forms with GET.
    let bytes =
        if has_no_body && !is_form { Bytes::new() } else { read(&head, body, &app.config.limits).await? };
    let format = match media_type(&head.headers).as_deref() {
        _ if bytes.is_empty() => BodyFormat::Nothing,
        _ if is_form => BodyFormat::Form,
        None | Some("application/json") => BodyFormat::Json,
        Some(_) => {
            let problem = "the body must be JSON or a form (`application/x-www-form-urlencoded` or \
                           `multipart/form-data`)";
            return Err(Problem::new(ProblemKind::MediaType, problem));
        }
    };
    let query = head.uri.query().unwrap_or_default().to_owned();
    let fields = move |bytes: &[u8]| {
        let mut fields = form(&query, rules.lists)?;
        fields.extend(match format {
            BodyFormat::Form => form(text(bytes)?, rules.lists)?,
            BodyFormat::Json => object(text(bytes)?).map_err(|error| problem(".", error))?,
            BodyFormat::Nothing => Map::new(),
        });
        rules.read(fields)
    };
    read_in_background(app, client, bytes, fields).await
}

/// Reads a form of parts without a file, and the parameters of the URL.
async fn read_multipart<T: DeserializeOwned>(
    request: Request,
    app: &App,
    boundary: String,
    rules: FieldRules,
) -> Result<ReadFields<T>, Problem> {
    let share: Option<Arc<ClientShare>> = request.extensions().get().cloned();
    let (bytes, mut fields) = read_form(request, app).await?;
    if let Some(share) = share {
        // The form is read from a copy, and the fields are copied from there.
        share.grow(2 * bytes.len())?;
    }
    let form = multipart::read(bytes, boundary, rules.lists).await?;
    if form.file.is_some() {
        let problem = "files are not translated here";
        let hint = "send them to `/translate_file`, `/v2/document` or `/api/translate_file`";
        return Err(Problem::field("file", problem).hint(hint));
    }
    fields.extend(form.fields);
    rules.read(fields)
}

/// The format of the body of a request.
#[derive(Clone, Copy)]
enum BodyFormat {
    Nothing,
    Form,
    Json,
}

/// The warning that names the fields that are `ignored`.
fn warning(mut ignored: Vec<String>) -> Option<String> {
    /// The maximum number of fields that are named.
    const MAX_NAMES: usize = 8;
    ignored.sort_unstable();
    let names = ignored.iter().take(MAX_NAMES);
    let names: Vec<String> = names.map(|name| format!("`{}`", shown(name))).collect();
    let more = match ignored.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let are = if ignored.len() == 1 { "is" } else { "are" };
    (!ignored.is_empty()).then(|| format!("{}{more} {are} ignored", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Small {
        #[allow(dead_code, reason = "it is only read")]
        list: Vec<Item>,
    }

    #[derive(Deserialize)]
    struct Item {
        #[allow(dead_code, reason = "it is only read")]
        n: u32,
    }

    const RULES: FieldRules = FieldRules { key: "key", lists: &[], neutral: &["always"] };

    fn read(value: Value) -> Result<ReadFields<Small>, Problem> {
        let Value::Object(fields) = value else { panic!("no object") };
        RULES.read(fields)
    }

    fn warning(value: Value) -> Option<String> {
        read(value).unwrap().fields.unwrap().1
    }

    #[test]
    fn what_is_not_read_is_named() {
        for (value, expected) in [
            (json!({"list": []}), None),
            (json!({"list": [], "x": null, "y": "", "always": 1, "key": "k"}), None),
            (json!({"list": [], "x": false}), Some("`x` is ignored")),
            (json!({"list": [], "x": [], "y": {}, "z": 0}), Some("`x`, `y`, `z` are ignored")),
            (json!({"list": [{"n": 1}, {"n": 1, "foo": 2}]}), Some("`list.1.foo` is ignored")),
        ] {
            assert_eq!(warning(value).as_deref(), expected);
        }
        let many: Map<String, Value> = (0..20).map(|number| (format!("f{number:02}"), json!(1))).collect();
        let mut value = json!({"list": []});
        value.as_object_mut().unwrap().extend(many);
        assert!(warning(value).unwrap().ends_with("`f07` and 12 more are ignored"));
    }

    #[test]
    fn mistakes_are_placed_and_keys_are_taken() {
        assert_eq!(read(json!({"list": [], "key": "k"})).unwrap().key.as_deref(), Some("k"));
        for (value, expected) in [
            (json!({"list": [], "key": 1}), "`key`: expected a string"),
            (json!({"list": [{"n": 1}, {"n": "1"}]}), "`list[1].n`: invalid type"),
            (json!({}), "missing field `list`"),
        ] {
            let Err(problem) = read(value).and_then(|read| read.fields) else { panic!("{expected}") };
            assert!(problem.message.contains(expected), "{problem:?}");
        }
    }
}
