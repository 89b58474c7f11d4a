//! Monitoring: liveness, readiness and metrics. Also the console page.

use attentive_page as page;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{reply, with_status};
use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::phase::Stage;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(live))
        .routes(routes!(ready))
        .routes(routes!(health))
        .routes(routes!(metrics))
        .routes(routes!(console))
}

/// Responds as long as the process is alive.
#[utoipa::path(get, path = "/livez", tag = "Operation", responses((status = 200, description = "The process is running")))]
async fn live() -> Response {
    reply(&json!({"status": "ok"}))
}

/// Tells whether the server answers requests.
#[utoipa::path(get, path = "/readyz", tag = "Operation",
    responses((status = 200, description = "Requests are answered"),
        (status = 503, description = "Models are being loaded, the server is stopping, a GPU was lost, or \
                                      weights were overwritten")))]
async fn ready(State(app): State<SharedApp>) -> Response {
    let (status, text) = readiness(app.phase.stage(), app.models.failure().is_some());
    with_status(status, &json!({"status": text}))
}

/// The status code and the text that report readiness.
fn readiness(stage: Stage, is_lost: bool) -> (StatusCode, &'static str) {
    match stage {
        Stage::Loading => (StatusCode::SERVICE_UNAVAILABLE, "loading"),
        Stage::Serving if is_lost => (StatusCode::SERVICE_UNAVAILABLE, "lost"),
        Stage::Serving => (StatusCode::OK, "ok"),
        Stage::Draining | Stage::Ending => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    }
}

/// Tells whether the server answers requests, for clients of LibreTranslate.
#[utoipa::path(get, path = "/health", tag = "LibreTranslate",
    responses((status = 200, description = "Requests are answered"),
        (status = 503, description = "Models are being loaded, the server is stopping, a GPU was lost, or \
                                      weights were overwritten")))]
async fn health(app: State<SharedApp>) -> Response {
    ready(app).await
}

/// Returns the metrics of the server in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "Operation", responses((status = 200, description = "Metrics")))]
async fn metrics(State(app): State<SharedApp>) -> Response {
    let models = app.models.all();
    let text = app.metrics.render(&app.phase, models.iter().map(|model| &**model));
    let headers = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (headers, text).into_response()
}

/// Returns a page for trying the models.
#[utoipa::path(get, path = "/", tag = "Attentive", responses((status = 200, description = "HTML")))]
async fn console() -> Response {
    let headers = [
        (CONTENT_TYPE.as_str(), "text/html; charset=utf-8"),
        (CACHE_CONTROL.as_str(), "no-cache"),
        ("content-security-policy", page::console_policy()),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
    ];
    (headers, page::console()).into_response()
}

/// The response for an unknown path.
pub(crate) async fn no_path() -> Problem {
    Problem::new(ProblemKind::NoPath, "there is no such path").hint("`/openapi.json` lists all paths")
}

/// The response for an unsupported method.
pub(crate) async fn no_method() -> Problem {
    Problem::new(ProblemKind::Method, "this path does not support the method")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_whose_gpu_is_lost_is_not_ready() {
        let is_ready = |stage, is_lost| readiness(stage, is_lost).0 == StatusCode::OK;
        assert!(is_ready(Stage::Serving, false) && !is_ready(Stage::Serving, true));
        assert!(!is_ready(Stage::Loading, false) && !is_ready(Stage::Draining, true));
        assert_eq!(readiness(Stage::Serving, true).1, "lost");
    }
}
