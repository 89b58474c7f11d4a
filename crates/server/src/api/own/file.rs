//! Translation of files.

use std::collections::BTreeMap;
use std::sync::Arc;

use attentive_config::Task;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::api::reply;
use crate::http::body::json;
use crate::http::objects::unique;
use crate::http::upload::format_of;
use crate::http::visit::Visit;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::glossaries::Terms;
use crate::state::models::ModelInstance;
use crate::work::texts::{TranslationTexts, translate};

/// A file to translate.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TranslateFile {
    /// The model; may be left out if only one here translates.
    model: Option<String>,
    /// The name of the file, whose extension tells its format.
    name: String,
    /// The content of the file.
    text: String,
    /// Terms and the words to translate them with.
    #[serde(default, deserialize_with = "unique")]
    #[schema(value_type = BTreeMap<String, String>)]
    terms: BTreeMap<String, String>,
}

/// A translated file.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct TranslatedFile {
    model: String,
    /// The name of the file.
    name: String,
    /// The content of the translated file.
    text: String,
    /// Warnings about input that could not be read literally.
    warnings: Vec<String>,
}

/// Translates a file: its texts, sentence by sentence.
#[utoipa::path(post, path = "/api/translate_file", tag = "Attentive", request_body = TranslateFile,
    responses((status = 200, description = "The translated file", body = TranslatedFile)))]
pub(super) async fn post_file(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let TranslateFile { model, name, text, terms } = json(request, &app).await?;
    let translates = |model: &ModelInstance| model.task() == Task::Translate;
    let model: Arc<ModelInstance> = app.models.choose(model.as_deref(), "translate", translates)?;
    let format = format_of("name", &name)?;
    let texts = vec![text];
    app.admit(&visit, "text", &texts)?;
    let terms = Terms::given(&terms, &app, &visit)?;
    let done = translate(&app, &model, client, TranslationTexts::of_file(texts, format, terms)).await?;
    let (text, warnings) = done.into_first();
    Ok(reply(&TranslatedFile { model: model.name().to_owned(), name, text, warnings }))
}
