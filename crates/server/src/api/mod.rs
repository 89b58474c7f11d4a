//! The supported APIs, each with its own error format.

mod deepl;
mod libretranslate;
mod openai;
pub(super) mod operation;
pub(super) mod own;

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::json;
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa_axum::router::OpenApiRouter;

use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::documents::FinishedDocument;

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Api {
    LibreTranslate,
    DeepL,
    OpenAi,
    Own,
    /// The page and the description of the APIs.
    Console,
    /// Monitoring.
    Operation,
}

impl Api {
    /// The API that `path` belongs to.
    pub(super) fn of(path: &str) -> Self {
        let first = path.split('/').nth(1).unwrap_or_default();
        match first {
            "v1" => Self::OpenAi,
            "v2" | "v3" => Self::DeepL,
            "api" => Self::Own,
            "" | "openapi.json" => Self::Console,
            "livez" | "readyz" | "metrics" | "health" => Self::Operation,
            _ => Self::LibreTranslate,
        }
    }

    /// The name of the API as a label.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LibreTranslate => "libretranslate",
            Self::DeepL => "deepl",
            Self::OpenAi => "openai",
            Self::Own => "own",
            Self::Console => "console",
            Self::Operation => "operation",
        }
    }

    /// The response to a request with a problem.
    pub(super) fn refuse(self, problem: &Problem) -> Response {
        let status = self.status(problem.kind);
        let mut response = match self {
            Self::LibreTranslate => with_status(status, &json!({"error": said(problem)})),
            Self::DeepL => with_status(status, &json!({"message": said(problem)})),
            Self::OpenAi => with_status(status, &openai::error(problem, status)),
            Self::Own | Self::Console | Self::Operation => with_status(status, &own::error(problem)),
        };
        if let Some(after) = problem.retry_after() {
            let after = HeaderValue::from(after.as_secs());
            response.headers_mut().insert(RETRY_AFTER, after);
        }
        response
    }

    fn status(self, kind: ProblemKind) -> StatusCode {
        match (self, kind) {
            (Self::LibreTranslate, ProblemKind::NoKey | ProblemKind::Invalid | ProblemKind::NoModel)
            | (Self::DeepL, ProblemKind::Invalid | ProblemKind::NoModel)
            | (Self::OpenAi, ProblemKind::Invalid) => StatusCode::BAD_REQUEST,
            (Self::DeepL, ProblemKind::NoKey) => StatusCode::FORBIDDEN,
            (Self::DeepL, ProblemKind::Quota) => {
                // A status code that only DeepL uses.
                StatusCode::from_u16(456).unwrap_or(StatusCode::BAD_REQUEST)
            }
            (Self::OpenAi, ProblemKind::WrongKey) => StatusCode::UNAUTHORIZED,
            _ => kind.status(),
        }
    }

    /// Adds the headers that all responses of the API have. LibreTranslate allows requests from every web
    /// page.
    pub(super) fn decorate(self, headers: &mut HeaderMap) {
        let set = |headers: &mut HeaderMap, name: &'static str, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        set(headers, "x-content-type-options", "nosniff");
        if self == Self::LibreTranslate {
            set(headers, "access-control-allow-origin", "*");
            set(headers, "access-control-allow-headers", "Authorization, Content-Type");
            set(headers, "access-control-allow-methods", "GET, POST, OPTIONS");
        }
    }
}

/// The message and the hint of a problem, in one text.
fn said(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{}; {hint}", problem.message.trim_end_matches('.')),
        None => problem.message.clone(),
    }
}

/// A response with `value` as JSON.
pub(super) fn reply(value: &impl Serialize) -> Response {
    with_status(StatusCode::OK, value)
}

/// Returns `character` as a header may hold it: visible ASCII as it is, everything else as an escape such as
/// `\u{732b}`.
fn in_header(character: char) -> String {
    match character {
        ' '..='[' | ']'..='~' => character.to_string(),
        _ => character.escape_default().to_string(),
    }
}

/// Adds the first distinct ones of `warnings` to `response` in the header `X-Warnings`, for APIs whose
/// answers have no field for them.
fn warned(mut response: Response, warnings: &[String]) -> Response {
    const MAX_WARNINGS: usize = 5;
    /// The maximum number of bytes of all of them: some proxies reject heads of more than 4 KiB.
    const MAX_WARNING_BYTES: usize = 2 << 10;
    let mut room = MAX_WARNING_BYTES;
    let mut told: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut distinct = warnings.iter().filter(|warning| seen.insert(warning.as_str()));
    while let Some(warning) = distinct.next() {
        let warning: String = warning.chars().map(in_header).collect();
        if told.len() == MAX_WARNINGS || warning.len() > room {
            told.push(format!("and {} more", 1 + distinct.count()));
            break;
        }
        room -= warning.len();
        told.push(warning);
    }
    if let Ok(told) = HeaderValue::try_from(told.join("; "))
        && !told.is_empty()
    {
        response.headers_mut().insert("x-warnings", told);
    }
    response
}

fn with_status(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A translated file as an attachment under its own name, with its warnings and those about the `request`.
fn attached(file: &FinishedDocument, request: &[String]) -> Response {
    let name = form_urlencoded::byte_serialize(file.name.as_bytes()).collect::<String>().replace('+', "%20");
    let disposition = format!("attachment; filename*=UTF-8''{name}");
    let head = [(CONTENT_TYPE, file.format.media_type().to_owned()), (CONTENT_DISPOSITION, disposition)];
    let warnings = [request, &file.warnings].concat();
    warned((head, file.content.clone()).into_response(), &warnings)
}

/// All paths, with their description.
pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    let routes = OpenApiRouter::new().merge(own::routes());
    // A page that has its own models needs no other API.
    if cfg!(feature = "network") {
        routes
            .merge(libretranslate::routes())
            .merge(deepl::routes())
            .merge(openai::routes())
            .merge(operation::routes())
    } else {
        routes
    }
}

/// The APIs in the description, as their paths name them.
pub(super) fn tags() -> Vec<Tag> {
    let known = [
        ("Attentive", "Everything that the models do."),
        ("LibreTranslate", "For programs that are written for LibreTranslate."),
        (
            "DeepL",
            "For programs that are written for DeepL. All paths also read the key from the URL, as `auth_key`.",
        ),
        ("OpenAI", "For programs that are written for OpenAI's completions, chat and embeddings."),
        ("Operation", "Probes and metrics."),
    ];
    let tag = |(name, text)| TagBuilder::new().name(name).description(Some(text)).build();
    known.map(tag).to_vec()
}

/// The part of a path that names an object. Its problems are told in the format of the API.
struct Id(String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Problem> {
        let id = Path::from_request_parts(head, state).await;
        let id = id.map(|Path(id)| Self(id));
        id.map_err(|_| Problem::new(ProblemKind::Malformed, "the path is not UTF-8"))
    }
}

/// A text, or a list of texts.
#[derive(Clone, Debug, utoipa::ToSchema)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    /// A text.
    One(String),
    /// Texts.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The texts, and true if they were given as a list.
    pub(super) fn into_texts(self) -> (Vec<String>, bool) {
        match self {
            Self::One(text) => (vec![text], false),
            Self::Many(texts) => (texts, true),
        }
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_or_many(from, "a string or a list of strings", Self::One, Self::Many)
    }
}

/// Reads a text with `one`, or a list of items with `many`, directly into their final types.
/// `#[serde(untagged)]` would first buffer the values, which takes many times the memory of their text.
///
/// # Errors
/// An error with what was `expected`.
fn one_or_many<'de, T, I: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
    expected: &'static str,
    one: impl FnOnce(String) -> T,
    many: impl FnOnce(Vec<I>) -> T,
) -> Result<T, D::Error> {
    from.deserialize_any(Either { expected, one, many, items: PhantomData })
}

/// Reads a text or a list.
struct Either<I, O, M> {
    expected: &'static str,
    one: O,
    many: M,
    items: PhantomData<I>,
}

impl<'de, T, I, O, M> Visitor<'de> for Either<I, O, M>
where
    I: Deserialize<'de>,
    O: FnOnce(String) -> T,
    M: FnOnce(Vec<I>) -> T,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok((self.one)(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok((self.one)(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok((self.many)(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_other_things_is_not_read_to_its_end() {
        let read = |text: &str| serde_json::from_str::<OneOrMany>(text);
        let texts = |text| read(text).unwrap().into_texts();
        assert_eq!(texts(r#""a\n""#), (vec!["a\n".to_owned()], false));
        assert_eq!(texts(r#"["a", "b"]"#), (vec!["a".into(), "b".into()], true));
        for wrong in [r#"["a", {"": 0}, not JSON"#, "{\"\": not JSON", "1"] {
            let error = read(wrong).unwrap_err();
            assert!(error.is_data(), "{wrong}: {error}");
        }
        assert!(read("1").unwrap_err().to_string().contains("expected a string or a list of strings"));
    }

    #[test]
    fn errors_have_the_status_of_their_api() {
        let status = |api: Api, kind| api.refuse(&Problem::new(kind, "no")).status().as_u16();
        assert_eq!(status(Api::LibreTranslate, ProblemKind::NoKey), 400);
        assert_eq!(status(Api::LibreTranslate, ProblemKind::WrongKey), 403);
        assert_eq!(status(Api::DeepL, ProblemKind::NoKey), 403);
        assert_eq!(status(Api::DeepL, ProblemKind::Quota), 456);
        assert_eq!(status(Api::OpenAi, ProblemKind::WrongKey), 401);
        assert_eq!(status(Api::Own, ProblemKind::Invalid), 422);
        let busy = Api::Own.refuse(&Problem::new(ProblemKind::Busy, "no"));
        assert_eq!(busy.headers()[RETRY_AFTER], "1");
    }

    #[test]
    fn warnings_fit_into_a_head() {
        let header = |warnings: &[String]| {
            let response = warned(reply(&json!({})), warnings);
            let told = response.headers().get("x-warnings");
            told.map(|told| told.to_str().unwrap().to_owned())
        };
        assert_eq!(header(&[]), None);
        let few = ["a".to_owned(), "ä".to_owned()];
        assert_eq!(header(&few).unwrap(), "a; \\u{e4}");
        // Each is 900 bytes in the header.
        let many: Vec<String> = ["猫", "犬", "鳥", "魚", "馬"].map(|sign| sign.repeat(112)).into();
        let told = header(&many).unwrap();
        assert_eq!(told.split("; ").count(), 3);
        assert!(told.ends_with("; and 3 more"), "{told}");
        let same = vec!["a".to_owned(); 9];
        assert_eq!(header(&same).unwrap(), "a");
        assert!(told.len() <= 2 << 10);
    }
}
