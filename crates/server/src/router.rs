//! The paths of all APIs.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use hyper::header::CONTENT_TYPE;
use serde_json::Value;
use utoipa::openapi::{Info, License};
use utoipa_axum::router::OpenApiRouter;

use crate::api;
use crate::http;
use crate::state::app::SharedApp;

/// Joins the lines of each paragraph in descriptions, which are broken as in the source.
fn unwrap_lines(value: &mut Value) {
    match value {
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| match value {
            Value::String(text) if ["description", "summary"].contains(&key.as_str()) => {
                let paragraphs: Vec<String> =
                    text.split("\n\n").map(|text| text.replace('\n', " ")).collect();
                *text = paragraphs.join("\n\n");
            }
            value => unwrap_lines(value),
        }),
        Value::Array(list) => list.iter_mut().for_each(unwrap_lines),
        _ => {}
    }
}

/// All paths, with their OpenAPI description.
pub(crate) fn router(app: &SharedApp) -> Router {
    let (router, mut description) = OpenApiRouter::new().merge(api::routes()).split_for_parts();
    description.tags = Some(api::tags());
    // In its place are the author and the license of the crate that makes routers.
    description.info = Info::new("Attentive", env!("CARGO_PKG_VERSION"));
    description.info.license = Some(License::new(env!("CARGO_PKG_LICENSE")));
    description.info.description =
        Some("Models that translate, generate, fill, tag, classify and embed text.".to_owned());
    let mut description = serde_json::to_value(&description).unwrap_or_default();
    unwrap_lines(&mut description);
    http::fields::merge_parts(&mut description);
    let description = description.to_string();
    let headers = [(CONTENT_TYPE, "application/json")];
    let describe = move || async move { (headers, description.clone()) };
    router
        .route("/openapi.json", axum::routing::get(describe.clone()))
        // Where LibreTranslate has its own.
        .route("/spec", axum::routing::get(describe))
        .method_not_allowed_fallback(api::operation::no_method)
        .fallback(api::operation::no_path)
        .with_state(Arc::clone(app))
        .layer(from_fn_with_state(Arc::clone(app), http::visit::enter))
}
