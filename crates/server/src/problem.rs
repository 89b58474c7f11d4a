//! The reasons why a request is not answered.

use std::time::Duration;

use attentive_base::error::Error;
use attentive_pipeline::service::Refused;
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;

use crate::http::wording::with_fields;
use crate::state::shares::Exhausted;

/// The reason why a request is not answered. [`crate::api::Api::refuse`] turns it into the response that its
/// API prescribes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) kind: ProblemKind,
    pub(super) message: String,
    /// A suggestion.
    pub(super) hint: Option<String>,
    /// The field of the request that causes the problem.
    pub(super) field: Option<String>,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    /// The request is not the expected HTTP, JSON or form.
    Malformed,
    /// A value cannot be used.
    Invalid,
    /// A key is needed and missing.
    NoKey,
    /// The key is unknown.
    WrongKey,
    /// The path does not exist.
    NoPath,
    /// The model does not exist.
    NoModel,
    /// The glossary does not exist.
    NoGlossary,
    /// There is no such document.
    NoDocument,
    /// The client, or all clients together, have as many objects as the server stores.
    Quota,
    /// The path does not support this method.
    Method,
    /// The request exceeds a limit of the server.
    TooLarge,
    /// The path does not accept the type or encoding of the body.
    MediaType,
    /// The host is not this server.
    Host,
    /// A page of another site sent the request.
    Origin,
    /// Too many jobs wait.
    Busy,
    /// The server starts or stops.
    Unavailable,
    /// The request took too long.
    Timeout,
    /// The server or the model failed.
    Internal,
}

impl Problem {
    pub(super) fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, field: None }
    }

    /// A value of `field` that cannot be used.
    pub(super) fn field(field: &str, message: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(ProblemKind::Invalid, message) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The answer to a connection beyond the limit.
    pub(super) fn crowded() -> Self {
        Self::new(ProblemKind::Unavailable, "too many connections are open")
    }

    /// The answer to requests while the server stops.
    pub(super) fn stopping() -> Self {
        Self::new(ProblemKind::Unavailable, "the server is stopping")
    }

    /// An error of the library.
    fn of(kind: ProblemKind, error: &Error) -> Self {
        if let Error::Config { key, expected, found, .. } = error {
            let field = key.rsplit('.').next().unwrap_or(key);
            let message = format!("`{field}`: expected {expected}, found {found}");
            let hint = error.hint().map(with_fields);
            return Self { field: Some(field.to_owned()), hint, ..Self::new(kind, message) };
        }
        Self { hint: error.hint().map(with_fields), ..Self::new(kind, with_fields(error.to_string())) }
    }

    /// An error that the request causes.
    pub(super) fn invalid(error: &Error) -> Self {
        Self::of(ProblemKind::Invalid, error)
    }

    /// An error that occurs during the work.
    pub(super) fn failed(error: &Error) -> Self {
        match error {
            Error::Usage { .. } => Self::invalid(error),
            _ => {
                // The hint is for whoever runs the server, and may name files.
                tracing::error!(%error, hint = error.hint(), "a request failed");
                Self { hint: None, ..Self::of(ProblemKind::Internal, error) }
            }
        }
    }

    /// The time after which the client may try again.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self.kind {
            ProblemKind::Busy => Some(Duration::from_secs(1)),
            ProblemKind::Timeout | ProblemKind::Unavailable => Some(Duration::from_secs(5)),
            _ => None,
        }
    }
}

impl ProblemKind {
    /// The status that HTTP prescribes. Some APIs have others.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NoKey => StatusCode::UNAUTHORIZED,
            Self::WrongKey | Self::Origin => StatusCode::FORBIDDEN,
            Self::NoPath | Self::NoModel | Self::NoGlossary | Self::NoDocument => StatusCode::NOT_FOUND,
            Self::Quota => StatusCode::INSUFFICIENT_STORAGE,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable | Self::Timeout => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// An identifier for programs.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_request",
            Self::Invalid => "invalid_value",
            Self::NoKey => "missing_api_key",
            Self::WrongKey => "invalid_api_key",
            Self::NoPath => "unknown_path",
            Self::NoModel => "model_not_found",
            Self::NoGlossary => "glossary_not_found",
            Self::NoDocument => "document_not_found",
            Self::Quota => "quota_exceeded",
            Self::Method => "method_not_allowed",
            Self::TooLarge => "too_large",
            Self::MediaType => "unsupported_media_type",
            Self::Host => "unknown_host",
            Self::Origin => "foreign_origin",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Internal => "internal_error",
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Invalid(error) => Self::invalid(&error),
            Refused::Closed => Self::stopping(),
            full @ (Refused::Full { .. } | Refused::Crowding { .. }) => {
                Self::new(ProblemKind::Busy, full.to_string())
            }
        }
    }
}

impl From<Exhausted> for Problem {
    fn from(_: Exhausted) -> Self {
        Self::new(
            ProblemKind::Busy,
            "other requests use all the RAM that the server has for requests; try again later",
        )
    }
}

/// Handlers return problems; [`crate::http::visit`] turns them into responses of the API.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
