//! Bodies of requests.

use std::cell::LazyCell;
use std::sync::Arc;

use attentive_base::count::count;
use attentive_pipeline::service::Client;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use http_body_util::BodyExt;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use tokio::time::timeout;
use utoipa::PartialSchema;

use crate::http::fields::{named, with_known};
use crate::http::multipart::insert;
use crate::http::objects::AsObject;
use crate::http::values::MAX_VALUES;
use crate::http::visit::Visit;
use crate::limits::Limits;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::App;
use crate::state::shares::ClientShare;
use crate::work::thread_pool::StopFlag;
use attentive_base::plain::plain;
use attentive_base::shown::shown;

/// Reads a JSON body.
///
/// # Errors
/// A [`Problem`] for a body that is too large, too slow, or not JSON of the right shape.
pub(crate) async fn json<T: DeserializeOwned + PartialSchema + Send + 'static>(
    request: Request,
    app: &App,
) -> Result<T, Problem> {
    let client = sender(&request, app)?;
    let (head, body) = request.into_parts();
    if let Some((name, _)) = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes()).next() {
        let problem = format!("the URL has the parameter `{}`, which is not read", shown(&name));
        return Err(Problem::new(ProblemKind::Invalid, problem).hint("put all fields into the body"));
    }
    // A page of another site can make a browser send bodies of other types, or without a type, without asking
    // the user.
    if media_type(&head.headers).as_deref() != Some("application/json") {
        let problem = "the body must be JSON, with the content type `application/json`";
        return Err(Problem::new(ProblemKind::MediaType, problem));
    }
    let bytes = read(&head, body, &app.config.limits).await?;
    let read = |bytes: &[u8]| {
        parse(bytes)
            .map_err(|problem: Problem| Problem { message: with_known::<T>(problem.message), ..problem })
    };
    read_in_background(app, client, bytes, read).await
}

/// Reads a body and the parameters of the URL.
///
/// # Errors
/// A [`Problem`] for a body that is too large or too slow.
pub(crate) async fn read_form(request: Request, app: &App) -> Result<(Bytes, Map<String, Value>), Problem> {
    let (head, body) = request.into_parts();
    let fields = form(head.uri.query().unwrap_or_default(), &[] as &[&str])?;
    Ok((read(&head, body, &app.config.limits).await?, fields))
}

pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default();
    Some(essence.trim().to_ascii_lowercase())
}

/// The sender of a body: the client with the key in the head, or else the address, since a key may also be in
/// the body.
pub(crate) fn sender(request: &Request, app: &App) -> Result<Client, Problem> {
    let visit = Visit::of(request)?;
    let known = app.client(request.headers(), None, &visit);
    Ok(known.unwrap_or(visit.peer))
}

/// Calls `read` on `bytes` outside the server's own threads; if there are many bytes, when it is the turn of
/// `client`.
pub(crate) async fn read_in_background<T: Send + 'static>(
    app: &App,
    client: Client,
    bytes: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    /// The number of bytes that are read in an instant.
    const FEW: usize = 8 << 10;
    if bytes.len() <= FEW {
        return read(&bytes);
    }
    let read = move |_: &StopFlag| read(&bytes);
    app.parsing.run(client, read).await
}

/// Reads the whole body. A body whose declared length is too large is refused before any of it is read.
pub(crate) async fn read(head: &Parts, mut body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    let encoding = head.headers.get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let problem = "the body is compressed";
        return Err(Problem::new(ProblemKind::MediaType, problem).hint("send it without `Content-Encoding`"));
    }
    let mut buffer = Buffer { bytes: Vec::new(), most: limits.body, share: head.extensions.get() };
    let declared = head.headers.get(CONTENT_LENGTH);
    if let Some(declared) = declared.and_then(|value| value.to_str().ok()) {
        // hyper has already refused a length that is not a number; one that does not fit into a number is too
        // large.
        let len = declared.parse().unwrap_or(usize::MAX);
        buffer.most = buffer.fits(len).map(|()| len)?;
    }
    loop {
        let frame = timeout(limits.stall_timeout, body.frame()).await;
        let frame = frame.map_err(|_| Problem::new(ProblemKind::Timeout, "the body came too slowly"))?;
        let Some(frame) = frame else { break };
        let broken = |error| Problem::new(ProblemKind::Malformed, format!("the body is broken: {error}"));
        if let Ok(data) = frame.map_err(broken)?.into_data() {
            buffer.add(&data)?;
        }
    }
    Ok(buffer.bytes.into())
}

/// The number of bytes of a body that need not be counted, since there are no more bodies than connections.
const FREE: usize = 16 << 10;

/// The received part of a body.
struct Buffer<'a> {
    bytes: Vec<u8>,
    /// The maximum size in bytes.
    most: usize,
    /// The client's share of the memory.
    share: Option<&'a Arc<ClientShare>>,
}

impl Buffer<'_> {
    fn fits(&self, len: usize) -> Result<(), Problem> {
        let most = self.most;
        let too_large = || format!("the body is larger than {}", count(most, "byte"));
        (len <= most).then_some(()).ok_or_else(|| Problem::new(ProblemKind::TooLarge, too_large()))
    }

    /// Adds `data`. Memory is counted before it is taken.
    fn add(&mut self, data: &[u8]) -> Result<(), Problem> {
        let (len, before) = (self.bytes.len() + data.len(), self.bytes.capacity());
        self.fits(len)?;
        if len > before {
            let after = len.max(2 * before).max(FREE.min(self.most)).min(self.most);
            let counted = after.saturating_sub(FREE) - before.saturating_sub(FREE);
            if let Some(share) = self.share {
                share.grow(counted)?;
            }
            self.bytes.reserve_exact(after - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

pub(crate) fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        Problem::new(ProblemKind::Malformed, format!("the body is not UTF-8 at byte {place}"))
    })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = text(bytes)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(AsObject(&mut reader)).map_err(|error| {
        let path = error.path().to_string();
        // serde_json says so of a choice that is not a string.
        let is_choice = error.inner().to_string().starts_with("expected value at");
        if is_choice && serde_json::from_str::<IgnoredAny>(text).is_ok() {
            return Problem::field(&path, format!("`{path}`: expected a string"));
        }
        problem(&path, error.into_inner())
    })?;
    reader.end().map_err(|error| problem(".", error))?;
    Ok(value)
}

/// The problem with the JSON at `path`.
pub(crate) fn problem(path: &str, error: serde_json::Error) -> Problem {
    if !error.is_data() {
        return Problem::new(ProblemKind::Malformed, format!("the body is not JSON: {error}"));
    }
    let message = plain(&error.to_string(), "an object");
    match path {
        "." => Problem {
            field: named(&message).map(str::to_owned),
            ..Problem::new(ProblemKind::Invalid, message)
        },
        path => Problem::field(path, format!("`{path}`: {message}")),
    }
}

/// The fields of a form. Fields in `lists` become lists if they are repeated; of other repeated fields, the
/// last value is used.
pub(crate) fn form(text: &str, lists: &[impl AsRef<str>]) -> Result<Map<String, Value>, Problem> {
    let mut fields = Map::new();
    // Computed once, since many fields may contain the character.
    let replaces = || text.contains('\u{FFFD}') || text.to_ascii_uppercase().contains("%EF%BF%BD");
    let replaces = LazyCell::new(replaces);
    for (number, (name, value)) in form_urlencoded::parse(text.as_bytes()).enumerate() {
        if number >= MAX_VALUES {
            let problem = format!("the form has more than {MAX_VALUES} fields");
            return Err(Problem::new(ProblemKind::Invalid, problem));
        }
        let is_damaged = [&name, &value].iter().any(|part| part.contains('\u{FFFD}'));
        if is_damaged && !*replaces {
            return Err(Problem::new(ProblemKind::Malformed, "the form is not UTF-8"));
        }
        insert(&mut fields, &name, Value::String(value.into_owned()), lists)?;
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use hyper::header::HeaderValue;
    use tokio::runtime::Builder;
    use tokio::time::Instant;

    use super::*;
    use crate::api::Api;
    use crate::config::{ServeConfig, ServedModel};
    use crate::state::shares::Shares;
    use crate::work::threading::Threading;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Small {
        #[allow(dead_code, reason = "it is only read")]
        n: Vec<u32>,
        #[allow(dead_code, reason = "it is only read")]
        #[serde(default)]
        kind: Kind,
    }

    #[derive(Debug, Default, serde::Deserialize)]
    enum Kind {
        #[default]
        Usual,
    }

    fn kind(text: &[u8]) -> (ProblemKind, String) {
        let problem = parse::<Small>(text).unwrap_err();
        (problem.kind, problem.message)
    }

    #[test]
    fn mistakes_are_named() {
        parse::<Small>(br#"{"n": [1]} "#).unwrap();
        let deep = "[".repeat(100_000);
        for (text, expected, words) in [
            (&b"{"[..], ProblemKind::Malformed, "EOF"),
            (b"", ProblemKind::Malformed, "EOF"),
            (br#"{"n": [1]} x"#, ProblemKind::Malformed, "trailing"),
            (b"{\"n\": \xff}", ProblemKind::Malformed, "not UTF-8 at byte 6"),
            (deep.as_bytes(), ProblemKind::Invalid, "invalid type: a list, expected an object"),
            (b"[[1]]", ProblemKind::Invalid, "invalid type: a list, expected an object"),
            (br#"{"n": [1, "2"]}"#, ProblemKind::Invalid, "`n[1]`: invalid type"),
            (br#"{"m": 1}"#, ProblemKind::Invalid, "unknown field `m`"),
            (br#"{"n": [], "n": []}"#, ProblemKind::Invalid, "duplicate field"),
            (br#"{"n": [], "kind": null}"#, ProblemKind::Invalid, "`kind`: expected a string"),
            (br#"{"n": [], "kind": 5}"#, ProblemKind::Invalid, "`kind`: expected a string"),
            (br#"{"n": [], "kind": nul}"#, ProblemKind::Malformed, "not JSON"),
            (br#"{"n": [1e999]}"#, ProblemKind::Malformed, "out of range"),
            (br#"{"n": ["\ud800"]}"#, ProblemKind::Malformed, "not JSON"),
        ] {
            let (found, message) = kind(text);
            assert_eq!(found, expected, "{message}");
            assert!(message.contains(words), "{message}");
        }
        let deep = "[".repeat(100_000);
        let problem = parse::<Value>(deep.as_bytes()).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Malformed);
        assert!(problem.message.contains("recursion limit"), "{problem:?}");
    }

    /// A large body of `client`.
    fn large(client: Client, app: &App) -> Request {
        let mut request = Request::new(Body::from(format!("[1{}]", " ".repeat(100_000))));
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request.extensions_mut().insert(Visit {
            api: Api::Own,
            peer: client,
            started: Instant::now(),
            deadline: Instant::now(),
            carried: Arc::new(app.carried.of(client)),
        });
        request
    }

    #[test]
    fn bodies_of_one_client_do_not_delay_those_of_others() {
        let config = ServeConfig::new(vec![ServedModel::new("none", "none")]);
        let app = App::new(config, ([127, 0, 0, 1], 0).into(), Threading::Own).unwrap();
        let runtime = Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(async {
            // A client whose body is being parsed and that has sent further ones.
            let permit = app.parsing.enter(Client(1)).await.unwrap();
            let more: Vec<_> = (0..3).map(|_| large(Client(1), &app)).collect();
            let mut more =
                pin!(futures_util::future::try_join_all(
                    more.into_iter().map(|request| json::<Value>(request, &app))
                ));
            let soon = Duration::from_millis(20);
            assert!(timeout(soon, &mut more).await.is_err(), "it has one turn");
            let other = json::<Value>(large(Client(2), &app), &app);
            let other = timeout(Duration::from_secs(60), other).await;
            assert_eq!(other.unwrap().unwrap(), serde_json::json!([1]));
            drop(permit);
            assert_eq!(more.await.unwrap().len(), 3);
        });
    }

    #[test]
    fn memory_is_counted_before_it_is_taken() {
        let shares = Shares::new(100 << 10, 60 << 10);
        let share = |client| Arc::new(shares.of(Client(client)));
        let (first, second) = (share(1), share(2));
        let buffer = |share, most| Buffer { bytes: Vec::new(), most, share: Some(share) };
        let piece = [b'x'; 10 << 10];
        let fill = |buffer: &mut Buffer<'_>| (0..100).find_map(|_| buffer.add(&piece).err());
        let mut large = buffer(&first, 1 << 20);
        assert_eq!(fill(&mut large).unwrap().kind, ProblemKind::Busy);
        // 64 KiB hold 60: of the next 64 KiB, the client may have 12.
        assert_eq!(large.bytes.len(), 60 << 10);
        assert!(large.bytes.capacity() <= (60 << 10) + FREE);
        let mut small = buffer(&first, 12 << 10);
        assert_eq!(fill(&mut small).unwrap().kind, ProblemKind::TooLarge);
        assert_eq!(small.bytes.capacity(), 12 << 10);
        let mut other = buffer(&second, 1 << 20);
        assert_eq!(fill(&mut other).unwrap().kind, ProblemKind::Busy);
        assert!(!other.bytes.is_empty());
        drop(first);
        drop(second);
    }

    #[test]
    fn fields_of_a_form_are_not_compared_with_all_of_it() {
        // If they were, this would read 26 GB.
        let fields = form(&"q=\u{FFFD}&".repeat(MAX_VALUES), &["q"]).unwrap();
        assert_eq!(fields["q"].as_array().unwrap().len(), MAX_VALUES);
    }

    #[test]
    fn forms_repeat_lists_only() {
        let read = |text| Value::Object(form(text, &["q"]).unwrap()).to_string();
        assert_eq!(read("q=a+b&q=%C3%A4&x=1&x=2"), r#"{"q":["a b","ä"],"x":"2"}"#);
        assert_eq!(read("q=a"), r#"{"q":"a"}"#);
        let objects = "d[0].a=1&d[0].b=2&d[1][a]=3";
        let read = |text| Value::Object(form(text, &["d"]).unwrap()).to_string();
        assert_eq!(read(objects), r#"{"d":[{"a":"1","b":"2"},{"a":"3"}]}"#);
        for text in ["d[1].a=1", "d[x].a=1", "d[00].a=1", "d[0].a=1&d[2].a=2", "d=x&d[0].a=1"] {
            let problem = form(text, &["d"]).unwrap_err();
            assert!(problem.message.contains("no place"), "{text}: {problem:?}");
        }
        // No objects.
        for text in ["d[0]=1", "e[0].a=1", "d[0.a=1", "d0].a=1"] {
            let name = text.split('=').next().unwrap_or_default();
            assert!(form(text, &["d"]).unwrap().contains_key(name), "{text}");
        }
        assert!(form("q=%FF", &["q"]).is_err());
        assert!(form(&"q=a&".repeat(MAX_VALUES), &["q"]).is_ok());
        let problem = form(&"q=a&".repeat(MAX_VALUES + 1), &["q"]).unwrap_err();
        assert!(problem.message.contains("more than 65536"), "{problem:?}");
        assert_eq!(read("q=%ef%bf%bd"), "{\"q\":\"\u{FFFD}\"}");
        assert_eq!(read("q=\u{FFFD}"), "{\"q\":\"\u{FFFD}\"}");
    }
}
