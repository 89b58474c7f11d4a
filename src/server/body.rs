//! Bodies of requests.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::limits::Limits;
use super::problem::{Kind, Problem};

/// Reads a JSON body.
///
/// # Errors
/// A [`Problem`] for a body that is too large, too slow, or not JSON of the right shape.
pub(super) async fn json<T: DeserializeOwned + Send + 'static>(
    request: Request,
    limits: &Limits,
) -> Result<T, Problem> {
    let (head, body) = request.into_parts();
    if media_type(&head.headers).is_some_and(|found| found != "application/json") {
        let problem = "the body must be JSON, with the content type `application/json`";
        return Err(Problem::new(Kind::MediaType, problem));
    }
    parsed(read(&head.headers, body, limits).await?).await
}

/// Reads a JSON object, or a form whose fields become strings; `lists` are the fields that may be repeated. Parameters of the
/// URL are read as well.
///
/// # Errors
/// Those of [`json`].
pub(super) async fn json_or_form<T: DeserializeOwned + Send + 'static>(
    request: Request,
    limits: &Limits,
    lists: &[&str],
) -> Result<T, Problem> {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default();
    let mut fields = form(query, lists)?;
    let given = match media_type(&head.headers).as_deref() {
        // DeepL's client for Python sends forms with GET.
        Some("application/x-www-form-urlencoded") => {
            let bytes = read(&head.headers, body, limits).await?;
            let lists: Vec<String> = lists.iter().map(|&name| name.to_owned()).collect();
            aside(bytes, move |bytes| form(text(bytes)?, &lists)).await?
        }
        _ if head.method == Method::GET => Map::new(),
        None | Some("application/json") => {
            let bytes = read(&head.headers, body, limits).await?;
            if bytes.is_empty() {
                Map::new()
            } else {
                parsed(bytes).await?
            }
        }
        Some(_) => {
            let problem = "the body must be JSON or a form (`application/x-www-form-urlencoded`)";
            return Err(Problem::new(Kind::MediaType, problem));
        }
    };
    fields.extend(given);
    shaped(Value::Object(fields))
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default();
    Some(essence.trim().to_ascii_lowercase())
}

/// JSON, which is parsed beside the server's own threads if there is much of it.
async fn parsed<T: DeserializeOwned + Send + 'static>(bytes: Bytes) -> Result<T, Problem> {
    aside(bytes, parse).await
}

/// What `read` makes of `bytes`, beside the server's own threads if there are many.
async fn aside<T: Send + 'static>(
    bytes: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    /// Bytes that are read in an instant.
    const FEW: usize = 8 << 10;
    if bytes.len() <= FEW {
        return read(&bytes);
    }
    let failed = |_| Err(Problem::new(Kind::Internal, "the body could not be read"));
    spawn_blocking(move || read(&bytes))
        .await
        .unwrap_or_else(failed)
}

/// All of a body. One that is declared to be too large is refused before any of it is read.
async fn read(headers: &HeaderMap, mut body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    let too_large = || {
        let most = limits.body;
        Problem::new(
            Kind::TooLarge,
            format!("the body is larger than {most} bytes"),
        )
    };
    let declared = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    if let Some(declared) = declared {
        // hyper has refused what is not a number; one that is too long to be read is too large.
        if declared
            .parse::<usize>()
            .map_or(true, |len| len > limits.body)
        {
            return Err(too_large());
        }
    }
    let mut bytes = Vec::new();
    loop {
        let frame = timeout(limits.stall_timeout, body.frame()).await;
        let frame = frame.map_err(|_| Problem::new(Kind::Timeout, "the body came too slowly"))?;
        let Some(frame) = frame else { break };
        let broken = |error| Problem::new(Kind::Malformed, format!("the body is broken: {error}"));
        let Ok(data) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > limits.body {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.into())
}

fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        Problem::new(
            Kind::Malformed,
            format!("the body is not UTF-8 at byte {place}"),
        )
    })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = text(bytes)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        problem(&path, error.into_inner())
    })?;
    reader.end().map_err(|error| problem(".", error))?;
    Ok(value)
}

fn shaped<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        problem(&path, error.into_inner())
    })
}

/// What is wrong with the JSON at `path`.
fn problem(path: &str, error: serde_json::Error) -> Problem {
    if !error.is_data() {
        return Problem::new(Kind::Malformed, format!("the body is not JSON: {error}"));
    }
    match path {
        "." => Problem::new(Kind::Invalid, error.to_string()),
        path => Problem::field(path, format!("`{path}`: {error}")),
    }
}

/// The fields of a form. Those in `lists` are lists if they are repeated; of others the last one counts.
fn form(text: &str, lists: &[impl AsRef<str>]) -> Result<Map<String, Value>, Problem> {
    let mut fields = Map::new();
    let encoded = text.to_ascii_uppercase();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        let is_damaged = [&name, &value].iter().any(|part| part.contains('\u{FFFD}'));
        if is_damaged && !encoded.contains("%EF%BF%BD") && !text.contains('\u{FFFD}') {
            return Err(Problem::new(Kind::Malformed, "the form is not UTF-8"));
        }
        let value = Value::String(value.into_owned());
        match fields.get_mut(&*name) {
            Some(Value::Array(values)) => values.push(value),
            Some(first) if lists.iter().any(|list| list.as_ref() == name) => {
                *first = Value::Array(vec![first.take(), value]);
            }
            _ => {
                fields.insert(name.into_owned(), value);
            }
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Small {
        #[allow(dead_code, reason = "it is only read")]
        n: Vec<u32>,
    }

    fn kind(text: &[u8]) -> (Kind, String) {
        let problem = parse::<Small>(text).unwrap_err();
        (problem.kind, problem.message)
    }

    #[test]
    fn mistakes_are_named() {
        parse::<Small>(br#"{"n": [1]} "#).unwrap();
        let deep = "[".repeat(100_000);
        for (text, expected, words) in [
            (&b"{"[..], Kind::Malformed, "EOF"),
            (b"", Kind::Malformed, "EOF"),
            (br#"{"n": [1]} x"#, Kind::Malformed, "trailing"),
            (b"{\"n\": \xff}", Kind::Malformed, "not UTF-8 at byte 6"),
            (deep.as_bytes(), Kind::Invalid, "invalid type"),
            (br#"{"n": [1, "2"]}"#, Kind::Invalid, "`n[1]`: invalid type"),
            (br#"{"m": 1}"#, Kind::Invalid, "unknown field `m`"),
            (br#"{"n": [], "n": []}"#, Kind::Invalid, "duplicate field"),
        ] {
            let (found, message) = kind(text);
            assert_eq!(found, expected, "{message}");
            assert!(message.contains(words), "{message}");
        }
        let deep = "[".repeat(100_000);
        let problem = parse::<Value>(deep.as_bytes()).unwrap_err();
        assert_eq!(problem.kind, Kind::Malformed);
        assert!(problem.message.contains("recursion limit"), "{problem:?}");
    }

    #[test]
    fn forms_repeat_lists_only() {
        let read = |text| Value::Object(form(text, &["q"]).unwrap()).to_string();
        assert_eq!(
            read("q=a+b&q=%C3%A4&x=1&x=2"),
            r#"{"q":["a b","ä"],"x":"2"}"#
        );
        assert_eq!(read("q=a"), r#"{"q":"a"}"#);
        assert!(form("q=%FF", &["q"]).is_err());
        assert_eq!(read("q=%ef%bf%bd"), "{\"q\":\"\u{FFFD}\"}");
    }
}
