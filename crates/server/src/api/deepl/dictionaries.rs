//! Glossaries with dictionaries between several languages, as in version 3 of DeepL's API.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::glossaries::{GlossaryClient, new_dictionary, removed, sender, tsv};
use super::language;
use crate::api::{Id, reply, warned, with_status};
use crate::http::asked::{Asked, FieldRules, json_or_form};
use crate::language::Language;
use crate::problem::Problem;
use crate::state::app::{App, SharedApp};
use crate::state::glossaries::{Dictionary, NewDictionary, StoredGlossary, no_dictionary};
use crate::work::thread_pool::StopFlag;

/// The fields that are special here.
const RULES: FieldRules = FieldRules { lists: &["dictionaries"], ..super::RULES };

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(describe, change, delete))
        .routes(routes!(entries))
        .routes(routes!(replace_dictionary, delete_dictionary))
}

/// Terms of a language and their translations into another.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::Dictionary)]
struct DictionaryDraft {
    /// The language of the terms.
    source_lang: String,
    /// The language of their translations.
    target_lang: String,
    /// A term and its translation on each line.
    entries: String,
    /// `tsv` for a tab between them, or `csv` for a comma [default: `tsv`].
    entries_format: Option<String>,
}

/// A new glossary.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::CreateMultilingual)]
struct Create {
    /// The name of the glossary.
    name: String,
    /// Its dictionaries, which may also be added later.
    #[serde(default)]
    dictionaries: Vec<DictionaryDraft>,
}

/// What is to change.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::ChangeGlossary)]
struct Change {
    /// Another name.
    name: Option<String>,
    /// Entries to add to the dictionaries, where they replace those for the same terms.
    #[serde(default)]
    dictionaries: Vec<DictionaryDraft>,
}

/// The languages of a dictionary.
#[derive(Deserialize)]
struct Pair {
    source_lang: String,
    target_lang: String,
}

impl Pair {
    fn languages(&self) -> Result<[Language; 2], Problem> {
        Ok([language("source_lang", &self.source_lang)?, language("target_lang", &self.target_lang)?])
    }
}

impl DictionaryDraft {
    fn into_dictionary(self, app: &App) -> Result<NewDictionary, Problem> {
        let languages = [&*self.source_lang, &*self.target_lang];
        new_dictionary(app, languages, self.entries, self.entries_format.as_deref())
    }
}

/// Creates a glossary, which lasts until it is deleted or the server is stopped.
#[utoipa::path(post, path = "/v3/glossaries", tag = "DeepL", request_body = Create,
    responses((status = 201, description = "The glossary, with `glossary_id`"),
        (status = 456, description = "There are too many glossaries")))]
async fn create(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let Asked { fields: asked, client, warnings, .. }: Asked<Create> =
        json_or_form(request, &app, RULES).await?;
    let owner = app.owner(client);
    let dictionaries = new_dictionaries(asked.dictionaries, &app)?;
    let store = Arc::clone(&app);
    let add = move |stop: &StopFlag| store.glossaries.add(owner, asked.name, dictionaries, stop);
    let glossary = app.pool.run(client, add).await?;
    Ok(warned(with_status(StatusCode::CREATED, &described(&glossary)), &warnings))
}

fn new_dictionaries(dictionaries: Vec<DictionaryDraft>, app: &App) -> Result<Vec<NewDictionary>, Problem> {
    dictionaries.into_iter().map(|one| one.into_dictionary(app)).collect()
}

/// Lists the glossaries.
#[utoipa::path(get, path = "/v3/glossaries", tag = "DeepL",
    responses((status = 200, description = "The list `glossaries`")))]
async fn list(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { owner, warnings, .. } = sender(&app, request).await?;
    let all: Vec<Value> = app.glossaries.of(owner).iter().map(|one| described(one)).collect();
    Ok(warned(reply(&json!({"glossaries": all})), &warnings))
}

/// Describes a glossary.
#[utoipa::path(get, path = "/v3/glossaries/{glossary_id}", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 200, description = "The glossary"), (status = 404, description = "There is no such glossary")))]
async fn describe(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let GlossaryClient { owner, warnings, .. } = sender(&app, request).await?;
    Ok(warned(reply(&described(&*app.glossaries.get(owner, &id)?)), &warnings))
}

/// Gives a glossary another name, or adds entries to its dictionaries.
#[utoipa::path(patch, path = "/v3/glossaries/{glossary_id}", tag = "DeepL", request_body = Change,
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 200, description = "The glossary"), (status = 404, description = "There is no such glossary")))]
async fn change(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let Asked { fields: asked, client, warnings, .. }: Asked<Change> =
        json_or_form(request, &app, RULES).await?;
    let owner = app.owner(client);
    let dictionaries = new_dictionaries(asked.dictionaries, &app)?;
    let store = Arc::clone(&app);
    let change = move |stop: &StopFlag| {
        store.glossaries.change(owner, &id, asked.name.as_deref(), &dictionaries, stop)
    };
    let glossary = app.pool.run(client, change).await?;
    Ok(warned(reply(&described(&glossary)), &warnings))
}

/// Deletes a glossary.
#[utoipa::path(delete, path = "/v3/glossaries/{glossary_id}", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 204, description = "The glossary was deleted"), (status = 404, description = "There is no such glossary")))]
async fn delete(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    removed(&app, &id, request).await
}

/// Returns the entries of a dictionary.
#[utoipa::path(get, path = "/v3/glossaries/{glossary_id}/entries", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary"),
        ("source_lang" = String, Query, description = "Language of the terms"),
        ("target_lang" = String, Query, description = "Language of their translations")),
    responses((status = 200, description = "`dictionaries`, a list of one, with its `entries`"),
        (status = 404, description = "There is no such glossary or dictionary")))]
async fn entries(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let Asked { fields: asked, client, warnings, .. }: Asked<Pair> =
        json_or_form(request, &app, RULES).await?;
    let owner = app.owner(client);
    let [source, target] = asked.languages()?;
    let glossary = app.glossaries.get(owner, &id)?;
    let dictionary = glossary.dictionary(&source, &target).ok_or_else(|| no_dictionary(&source, &target))?;
    let dictionary = Arc::clone(dictionary);
    let write = move |_: &StopFlag| {
        let direction = &dictionary.direction;
        let one = json!({
            "source_lang": direction.source.code(),
            "target_lang": direction.target.code(),
            "entries": tsv(&dictionary),
            "entries_format": "tsv",
        });
        Ok(warned(reply(&json!({"dictionaries": [one]})), &warnings))
    };
    app.pool.run(client, write).await
}

/// Puts a dictionary in the place of the one for the same languages, or adds it.
#[utoipa::path(put, path = "/v3/glossaries/{glossary_id}/dictionaries", tag = "DeepL", request_body = DictionaryDraft,
    params(("glossary_id" = String, Path, description = "Identifier of the glossary")),
    responses((status = 200, description = "`source_lang`, `target_lang` and `entry_count`"),
        (status = 404, description = "There is no such glossary")))]
async fn replace_dictionary(
    State(app): State<SharedApp>,
    Id(id): Id,
    request: Request,
) -> Result<Response, Problem> {
    let Asked { fields: asked, client, warnings, .. }: Asked<DictionaryDraft> =
        json_or_form(request, &app, RULES).await?;
    let owner = app.owner(client);
    let dictionary = asked.into_dictionary(&app)?;
    let store = Arc::clone(&app);
    let replace = move |stop: &StopFlag| store.glossaries.replace(owner, &id, &dictionary, stop);
    let dictionary = app.pool.run(client, replace).await?;
    Ok(warned(reply(&counted(&dictionary)), &warnings))
}

/// Deletes a dictionary.
#[utoipa::path(delete, path = "/v3/glossaries/{glossary_id}/dictionaries", tag = "DeepL",
    params(("glossary_id" = String, Path, description = "Identifier of the glossary"),
        ("source_lang" = String, Query, description = "Language of the terms"),
        ("target_lang" = String, Query, description = "Language of their translations")),
    responses((status = 204, description = "The dictionary was deleted"),
        (status = 404, description = "There is no such glossary or dictionary")))]
async fn delete_dictionary(
    State(app): State<SharedApp>,
    Id(id): Id,
    request: Request,
) -> Result<Response, Problem> {
    let Asked { fields: asked, client, warnings, .. }: Asked<Pair> =
        json_or_form(request, &app, RULES).await?;
    let [source, target] = asked.languages()?;
    app.glossaries.remove_dictionary(app.owner(client), &id, &source, &target)?;
    Ok(warned(StatusCode::NO_CONTENT.into_response(), &warnings))
}

fn described(glossary: &StoredGlossary) -> Value {
    let dictionaries: Vec<Value> = glossary.dictionaries.iter().map(|one| counted(one)).collect();
    json!({
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": dictionaries,
        "creation_time": glossary.created,
    })
}

/// The languages and the size of a dictionary.
fn counted(dictionary: &Dictionary) -> Value {
    json!({
        "source_lang": dictionary.direction.source.code(),
        "target_lang": dictionary.direction.target.code(),
        "entry_count": dictionary.terms.entries().len(),
    })
}
