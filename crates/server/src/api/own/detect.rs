//! The language of a text.

use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::api::reply;
use crate::http::body::json;
use crate::http::upload::format_of;
use crate::http::visit::Visit;
use crate::language::{Language, recognize};
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::work::texts::TextFormat;
use crate::work::thread_pool::StopFlag;

/// A text.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DetectText {
    text: String,
    /// The name of a file whose content the text is; its extension tells what of it is text.
    name: Option<String>,
}

/// The language of a text.
#[derive(Serialize, utoipa::ToSchema)]
struct DetectedText {
    /// The code of the language; absent for a text that could be in many.
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// From 0 to 100.
    confidence: f64,
}

/// Detects the language of a text: one of those that the models read and write, or another one if that is
/// certain.
#[utoipa::path(post, path = "/api/detect", tag = "Attentive", request_body = DetectText,
    responses((status = 200, description = "The language", body = DetectedText)))]
pub(super) async fn post_detect(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let DetectText { text, name } = json(request, &app).await?;
    let format = match name {
        None => TextFormat::Plain,
        Some(name) => TextFormat::File(format_of("name", &name)?),
    };
    let texts = [text];
    app.admit(&visit, "text", &texts)?;
    let all = app.models.all();
    let directions = all.iter().filter_map(|model| model.direction());
    let mut choices: Vec<Language> =
        directions.flat_map(|one| [one.source.clone(), one.target.clone()]).collect();
    choices.sort();
    choices.dedup();
    let guess = move |_: &StopFlag| Ok(recognize(&format.words(&texts[0]), &choices));
    let found = app.pool.run(client, guess).await?;
    Ok(reply(&DetectedText {
        confidence: found.as_ref().map_or(0.0, |found| found.confidence),
        language: found.map(|found| found.language.code().to_owned()),
    }))
}
