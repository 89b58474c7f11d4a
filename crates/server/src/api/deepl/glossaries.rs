//! Glossaries, as in version 2 of DeepL's API.

use std::sync::Arc;

use attentive_pipeline::service::Client;
use attentive_pipeline::{self as pipeline, GlossaryFormat};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{RULES, language};
use crate::api::{Id, reply, warned, with_status};
use crate::http::asked::{Asked, NoFields, json_or_form};
use crate::language::{Language, TranslationDirection};
use crate::problem::{Problem, ProblemKind};
use crate::state::app::{App, SharedApp};
use crate::state::glossaries::{Dictionary, NewDictionary, StoredGlossary};
use crate::work::thread_pool::StopFlag;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(describe, delete))
        .routes(routes!(entries))
        .routes(routes!(pairs))
}

/// A new glossary.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::CreateGlossary)]
struct Create {
    /// The name of the glossary.
    name: String,
    /// The language of the terms.
    source_lang: String,
    /// The language of their translations.
    target_lang: String,
    /// A term and its translation on each line.
    entries: String,
    /// `tsv` for a tab between them, or `csv` for a comma [default: `tsv`].
    entries_format: Option<String>,
    /// The key, if it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    auth_key: (),
}

/// The languages and entries of a new dictionary.
///
/// # Errors
/// A [`Problem`] for languages between which no model translates, and for an unknown format.
pub(super) fn new_dictionary(
    app: &App,
    [source, target]: [&str; 2],
    entries: String,
    format: Option<&str>,
) -> Result<NewDictionary, Problem> {
    let direction = TranslationDirection {
        source: language("source_lang", source)?,
        target: language("target_lang", target)?,
    };
    if app.models.translating(&direction.source, &direction.target).is_none() {
        let problem = "Unsupported glossary source and target language pair";
        let hint = "`GET /v2/glossary-language-pairs` lists them";
        return Err(Problem::field("target_lang", problem).hint(hint));
    }
    let format = match format {
        None | Some("tsv") => GlossaryFormat::Tsv,
        Some("csv") => GlossaryFormat::Csv,
        Some(_) => {
            let problem = "Value for 'entries_format' not supported.";
            return Err(Problem::field("entries_format", problem).hint("use `tsv` or `csv`"));
        }
    };
    Ok(NewDictionary { direction, format, entries })
}

/// The entries of a dictionary, one on each line: a term, a tab, and its translation.
pub(super) fn tsv(dictionary: &Dictionary) -> String {
    let entries = dictionary.terms.entries().iter();
    let lines = entries.map(|one| format!("{}\t{}", one.source, one.target));
    lines.collect::<Vec<_>>().join("\n")
}

/// Creates a glossary, which lasts until it is deleted or the server is stopped.
#[utoipa::path(post, path = "/v2/glossaries", tag = "DeepL", request_body = Create,
    responses((status = 201, description = "The glossary, with `glossary_id`"),
        (status = 456, description = "There are too many glossaries")))]
async fn create(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let Asked { fields: asked, client, warnings, .. }: Asked<Create> =
        json_or_form(request, &app, RULES).await?;
    let owner = app.owner(client);
    let languages = [&*asked.source_lang, &*asked.target_lang];
    let dictionary = new_dictionary(&app, languages, asked.entries, asked.entries_format.as_deref())?;
    let store = Arc::clone(&app);
    let add = move |stop: &StopFlag| store.glossaries.add(owner, asked.name, vec![dictionary], stop);
    let glossary = app.pool.run(client, add).await?;
    Ok(warned(with_status(StatusCode::CREATED, &described(&glossary)?), &warnings))
}

/// Lists the glossaries.
#[utoipa::path(get, path = "/v2/glossaries", tag = "DeepL",
    responses((status = 200, description = "The list `glossaries`")))]
async fn list(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { owner, warnings, .. } = sender(&app, request).await?;
    let all = app.glossaries.of(owner);
    let all: Vec<Value> = all.iter().filter_map(|one| described(one).ok()).collect();
    Ok(warned(reply(&json!({"glossaries": all})), &warnings))
}

/// Describes a glossary.
#[utoipa::path(get, path = "/v2/glossaries/{glossary_id}", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 200, description = "The glossary"), (status = 404, description = "There is no such glossary")))]
async fn describe(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { owner, warnings, .. } = sender(&app, request).await?;
    Ok(warned(reply(&described(&*app.glossaries.get(owner, &id)?)?), &warnings))
}

/// Deletes a glossary.
#[utoipa::path(delete, path = "/v2/glossaries/{glossary_id}", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 204, description = "The glossary was deleted"), (status = 404, description = "There is no such glossary")))]
async fn delete(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    removed(&app, &id, request).await
}

/// Removes a glossary.
pub(super) async fn removed(app: &App, id: &str, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { owner, warnings, .. } = sender(app, request).await?;
    app.glossaries.remove(owner, id)?;
    Ok(warned(StatusCode::NO_CONTENT.into_response(), &warnings))
}

/// Returns the entries of a glossary.
#[utoipa::path(get, path = "/v2/glossaries/{glossary_id}/entries", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 200, description = "A line for each entry: a term, a tab, and its translation",
        content_type = "text/tab-separated-values"), (status = 404, description = "There is no such glossary")))]
async fn entries(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { client, owner, warnings } = sender(&app, request).await?;
    let glossary = app.glossaries.get(owner, &id)?;
    let dictionary = Arc::clone(only(&glossary)?);
    let write = move |_: &StopFlag| Ok(tsv(&dictionary));
    let text = app.pool.run(client, write).await?;
    let kind = "text/tab-separated-values; charset=UTF-8";
    Ok(warned(([(CONTENT_TYPE, kind)], text).into_response(), &warnings))
}

/// Lists the pairs of languages that a glossary can have.
#[utoipa::path(get, path = "/v2/glossary-language-pairs", tag = "DeepL",
    responses((status = 200, description = "`supported_languages`, a list of `source_lang` and \
                                            `target_lang`")))]
async fn pairs(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { warnings, .. } = sender(&app, request).await?;
    let all = app.models.all();
    let directions = all.iter().filter_map(|model| model.direction());
    let mut pairs: Vec<[&str; 2]> = directions.map(|one| [one.source.base(), one.target.base()]).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let pair = |[source, target]: [&str; 2]| json!({"source_lang": source, "target_lang": target});
    let pairs: Vec<Value> = pairs.into_iter().map(pair).collect();
    Ok(warned(reply(&json!({"supported_languages": pairs})), &warnings))
}

/// The terms of the glossary of `owner` with this `id`, for texts of these languages.
///
/// # Errors
/// A [`Problem`] if there is none, or it has other languages.
pub(super) fn fitting(
    app: &App,
    owner: Client,
    id: &str,
    source: Option<&Language>,
    target: &Language,
) -> Result<Arc<pipeline::Glossary>, Problem> {
    let Some(source) = source else {
        let problem = "Use of a glossary requires the source_lang parameter to be specified";
        return Err(Problem::field("source_lang", problem));
    };
    let glossary = app.glossaries.get(owner, id)?;
    if let Some(dictionary) = glossary.dictionary(source, target) {
        return Ok(Arc::clone(&dictionary.terms));
    }
    let pairs = glossary.dictionaries.iter().map(|one| &one.direction);
    let pairs: Vec<String> = pairs.map(|one| format!("{} to {}", one.source, one.target)).collect();
    let pairs = if pairs.is_empty() { "no languages".to_owned() } else { pairs.join(", ") };
    let problem =
        format!("No dictionary found for language pair {source} to {target}: the glossary has {pairs}");
    Err(Problem::field("glossary_id", problem))
}

/// The only dictionary of a glossary.
///
/// # Errors
/// A [`Problem`] for a glossary of several pairs of languages, which version 2 does not know.
fn only(glossary: &StoredGlossary) -> Result<&Arc<Dictionary>, Problem> {
    match &glossary.dictionaries[..] {
        [one] => Ok(one),
        _ => {
            let problem = "the glossary has not exactly one pair of languages, as those of version 2 have";
            let hint = format!("ask for `/v3/glossaries/{}`", glossary.id);
            Err(Problem::new(ProblemKind::NoGlossary, problem).hint(hint))
        }
    }
}

/// The sender of a request without fields.
pub(super) struct GlossaryClient {
    pub(super) client: Client,
    /// The owner of the glossaries that the client can access.
    pub(super) owner: Client,
    /// Warnings about the request.
    pub(super) warnings: Vec<String>,
}

pub(super) async fn sender(app: &App, request: Request) -> Result<GlossaryClient, Problem> {
    let Asked { client, warnings, .. }: Asked<NoFields> = json_or_form(request, app, RULES).await?;
    Ok(GlossaryClient { client, owner: app.owner(client), warnings })
}

fn described(glossary: &StoredGlossary) -> Result<Value, Problem> {
    let Dictionary { direction: TranslationDirection { source, target }, terms, .. } = &**only(glossary)?;
    Ok(json!({
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": true,
        "source_lang": source.code(),
        "target_lang": target.code(),
        "creation_time": glossary.created,
        "entry_count": terms.entries().len(),
    }))
}
