//! The API of OpenAI, as far as the models can answer it (platform.openai.com/docs/api-reference).

mod chat;
mod completions;
mod embeddings;
mod metadata;
mod neutral;
mod options;
mod request;
mod stream;
mod texts;

use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use hyper::StatusCode;
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Id, reply};
use crate::http::sse::unnamed;
use crate::http::visit::Visit;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(completions::complete))
        .routes(routes!(chat::chat))
        .routes(routes!(embeddings::embed))
        .routes(routes!(models))
        .routes(routes!(model))
}

/// Lists the models.
#[utoipa::path(get, path = "/v1/models", tag = "OpenAI",
    responses((status = 200, description = "`data`, a list of models with `id`")))]
async fn models(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    app.client(request.headers(), None, &Visit::of(&request)?)?;
    let all = app.models.all();
    let data: Vec<Value> = all.iter().map(|model| described(model)).collect();
    Ok(reply(&json!({"object": "list", "data": data})))
}

/// Describes a model.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "OpenAI",
    params(("id" = String, Path, description = "Name of the model")),
    responses((status = 200, description = "The model"), (status = 404, description = "There is no such model")))]
async fn model(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    app.client(request.headers(), None, &Visit::of(&request)?)?;
    let model = app.models.choose(Some(&id), "answer", |_| true)?;
    Ok(reply(&described(&model)))
}

fn described(model: &ModelInstance) -> Value {
    json!({
        "id": model.name(),
        "object": "model",
        "created": unix(model.loaded()),
        "owned_by": "attentive",
    })
}

/// Seconds since 1970.
fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The last event of a stream with a problem.
fn failed(problem: &Problem) -> Vec<Bytes> {
    vec![unnamed(&error(problem, StatusCode::INTERNAL_SERVER_ERROR))]
}

/// The body of an error response.
pub(super) fn error(problem: &Problem, status: StatusCode) -> Value {
    let kind = match problem.kind {
        ProblemKind::Busy => "rate_limit_error",
        _ if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    };
    let code = match problem.kind {
        ProblemKind::Malformed | ProblemKind::Invalid => Value::Null,
        ProblemKind::Busy => "rate_limit_exceeded".into(),
        other => other.code().into(),
    };
    json!({
        "error": {
            "message": super::said(problem),
            "type": kind,
            "param": problem.field,
            "code": code,
        }
    })
}
