//! The API of DeepL, version 2 (developers.deepl.com).

mod dictionaries;
mod documents;
mod glossaries;
mod translate;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use serde::Deserialize;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{reply, warned};
use crate::http::asked::{Asked, FieldRules, NoFields, json_or_form};
use crate::language::{Language, detect_among};
use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;
use crate::work::texts::TextFormat;

/// The fields that are special in this API.
const RULES: FieldRules = FieldRules { key: "auth_key", lists: &[], neutral: &[] };

/// The limit that DeepL reports for unlimited accounts.
const UNLIMITED: u64 = 1_000_000_000_000;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(translate::post_translate))
        .routes(routes!(get_languages, post_languages))
        .routes(routes!(get_usage, post_usage))
        .merge(glossaries::routes())
        .merge(dictionaries::routes())
        .merge(documents::routes())
        .merge(unsupported())
}

/// What DeepL does and no model here: one refusal for each path.
fn unsupported() -> OpenApiRouter<SharedApp> {
    let paths = [
        ("/v2/write/rephrase", "rephrasing"),
        ("/v3/style_rules", "style rules"),
        ("/v3/style_rules/{*rest}", "style rules"),
        ("/v3/translation_memories", "translation memories"),
        ("/v3/translation_memories/{*rest}", "translation memories"),
    ];
    paths.into_iter().fold(OpenApiRouter::new(), |router, (path, what)| {
        let refuse = move |State(app): State<SharedApp>, request: Request| async move {
            let _: Asked<NoFields> = json_or_form(request, &app, RULES).await?;
            let problem = format!("This server has no {what}: its models only translate.");
            Err::<Response, Problem>(Problem::new(ProblemKind::Invalid, problem))
        };
        router.route(path, any(refuse))
    })
}

/// Refuses a formality that models do not have.
fn check_formality(formality: Option<&str>) -> Result<(), Problem> {
    match formality {
        None | Some("" | "default" | "prefer_more" | "prefer_less") => Ok(()),
        Some(_) => Err(Problem::field("formality", "'formality' is not supported for given 'target_lang'.")),
    }
}

/// The model for a text, and the language of the text.
fn choose(
    app: &SharedApp,
    source: Option<&Language>,
    target: &Language,
    format: &TextFormat,
    text: &str,
) -> Result<(Arc<ModelInstance>, Language), Problem> {
    let unsupported = || {
        let problem = format!("Value for 'target_lang' not supported: no model translates into {target}.");
        Problem::field("target_lang", problem)
    };
    let source = match source {
        Some(source) => source.clone(),
        None => {
            let sources = app.models.sources(Some(target));
            detect_among(&format.words(text), &sources).ok_or_else(unsupported)?.language
        }
    };
    let model = app.models.translating(&source, target);
    let no_pair = || {
        // Of a language that models translate, the other one is wrong.
        let is_source = app.models.sources(None).iter().any(|one| one.base() == source.base());
        let field = if is_source { "target_lang" } else { "source_lang" };
        let problem =
            format!("Value for '{field}' not supported: no model translates {source} into {target}.");
        Problem::field(field, problem)
    };
    Ok((model.ok_or_else(no_pair)?, source))
}

/// The kind of languages to list.
#[derive(Deserialize, utoipa::ToSchema)]
struct Languages {
    /// `source` or `target`.
    #[serde(rename = "type")]
    side: Option<String>,
    /// The key, if it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    auth_key: (),
}

/// Lists the languages that can be translated from or into.
#[utoipa::path(get, path = "/v2/languages", tag = "DeepL",
    params(("type" = Option<String>, Query, description = "`source` or `target`")),
    responses((status = 200, description = "A list of `language` and `name`")))]
async fn get_languages(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let asked: Asked<Languages> = json_or_form(request, &app, RULES).await?;
    let is_target = match asked.fields.side.as_deref() {
        None | Some("source") => false,
        Some("target") => true,
        Some(_) => return Err(Problem::field("type", "Value for 'type' not supported.")),
    };
    let all = app.models.all();
    let directions = all.iter().filter_map(|model| model.direction());
    let side = directions.map(|one| if is_target { &one.target } else { &one.source });
    let mut languages: Vec<&Language> = side.collect();
    languages.sort();
    languages.dedup();
    let entry = |language: &Language| {
        let mut entry = json!({"language": language.code().to_uppercase(), "name": language.name()});
        if is_target {
            entry["supports_formality"] = false.into();
        }
        entry
    };
    Ok(warned(reply(&languages.into_iter().map(entry).collect::<Vec<_>>()), &asked.warnings))
}

/// Lists the languages that can be translated from or into.
#[utoipa::path(post, path = "/v2/languages", tag = "DeepL", request_body = Languages,
    responses((status = 200, description = "A list of `language` and `name`")))]
async fn post_languages(app: State<SharedApp>, request: Request) -> Result<Response, Problem> {
    get_languages(app, request).await
}

/// Returns the number of characters that were translated since the server was started; there is no limit.
#[utoipa::path(get, path = "/v2/usage", tag = "DeepL",
    responses((status = 200, description = "`character_count` and `character_limit`")))]
async fn get_usage(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let asked: Asked<NoFields> = json_or_form(request, &app, RULES).await?;
    let count = app.characters.load(Relaxed);
    Ok(warned(reply(&json!({"character_count": count, "character_limit": UNLIMITED})), &asked.warnings))
}

/// Returns the number of characters that were translated since the server was started; there is no limit.
#[utoipa::path(post, path = "/v2/usage", tag = "DeepL",
    responses((status = 200, description = "`character_count` and `character_limit`")))]
async fn post_usage(app: State<SharedApp>, request: Request) -> Result<Response, Problem> {
    get_usage(app, request).await
}

fn language(field: &str, code: &str) -> Result<Language, Problem> {
    code.parse().map_err(|_| Problem::field(field, format!("Value for '{field}' not supported.")))
}
