//! The API of this program, for everything that a model can do.

mod detect;
mod explain;
mod file;
mod generate;
mod label;
mod translate;
mod translated;

use attentive_config::Task;
use attentive_document::FileFormat;
use attentive_model::engine::Precision;
use attentive_pipeline::Warning;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::reply;
use crate::http::visit::Visit;
use crate::language::Language;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(models))
        .routes(routes!(translate::post_translate))
        .routes(routes!(file::post_file))
        .routes(routes!(detect::post_detect))
        .routes(routes!(generate::post_generate))
        .routes(routes!(label::post_fill))
        .routes(routes!(label::post_tag))
        .routes(routes!(label::post_classify))
        .routes(routes!(label::post_embed))
        .routes(routes!(explain::post_explain))
}

/// A model.
#[derive(Serialize, utoipa::ToSchema)]
struct Described {
    /// The name by which requests choose it.
    name: String,
    /// `translate`, `generate`, `fill`, `tag`, `classify` or `embed`.
    task: &'static str,
    /// The code of the source language, if it is known.
    source: Option<String>,
    /// The code of the target language, if it is known.
    target: Option<String>,
    /// Number of parameters.
    parameters: usize,
    /// Maximum number of tokens of a text.
    max_len: usize,
    /// Default beam width, for a translation model.
    #[serde(skip_serializing_if = "Option::is_none")]
    beam_width: Option<usize>,
    /// Whether `/api/embed` supports the model.
    embeds: bool,
    /// The number type of the weights: `f32`, `bf16` or `int8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<&'static str>,
    /// The GPU on which the model decodes, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
}

/// Lists the models, the limits of a request, and the formats of files.
#[utoipa::path(get, path = "/api/models", tag = "Attentive",
    responses((status = 200, description = "`models`, a list, and `limits`: how many `characters` and \
                                            `texts` a request may have, and the largest `beam_width`, \
                                            `n_best` and `max_new_tokens`; and `files`: the extensions of \
                                            `formats` and of some `others` that are refused",
        body = [Described])))]
async fn models(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    app.client(request.headers(), None, &Visit::of(&request)?)?;
    let all = app.models.all();
    let described: Vec<_> = all.iter().map(|model| described(model)).collect();
    let limits = &app.config.limits;
    let search = limits.of_search();
    let limits = json!({
        "characters": limits.characters,
        "texts": limits.most_texts(),
        "beam_width": search.beam_width,
        "n_best": search.n_best,
        "max_new_tokens": limits.new_tokens,
    });
    let formats: Vec<_> = FileFormat::ALL.into_iter().flat_map(FileFormat::extensions).collect();
    let files = json!({"formats": formats, "others": FileFormat::OTHERS});
    Ok(reply(&json!({"models": described, "limits": limits, "files": files})))
}

fn described(model: &ModelInstance) -> Described {
    let direction = model.direction();
    let code = |language: &Language| language.code().to_owned();
    let pipeline = model.pipeline();
    let translates = model.task() == Task::Translate;
    Described {
        name: model.name().to_owned(),
        task: model.task().name(),
        source: direction.map(|direction| code(&direction.source)),
        target: direction.map(|direction| code(&direction.target)),
        parameters: pipeline.n_weights(),
        max_len: pipeline.architecture().max_len,
        beam_width: translates.then_some(pipeline.config().decode.beam_width),
        embeds: pipeline.require_encoder().is_ok(),
        precision: pipeline.precision().map(Precision::name),
        gpu: pipeline.hardware(),
    }
}

/// The body of an error response.
pub(super) fn error(problem: &Problem) -> Value {
    let mut error = json!({"code": problem.kind.code(), "message": problem.message});
    if let Some(field) = &problem.field {
        error["field"] = field.as_str().into();
    }
    if let Some(hint) = &problem.hint {
        error["hint"] = hint.as_str().into();
    }
    json!({"error": error})
}

/// The problems of warnings, as texts.
fn warning_texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(|warning| warning.problem.clone()).collect()
}
