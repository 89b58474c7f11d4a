//! Translation of files, as in version 2 of DeepL's API: uploaded, translated while the client asks how far
//! it is, fetched once.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{RULES, choose, glossaries, language};
use crate::api::{Id, attached, reply, warned};
use crate::http::asked::{Asked, json_or_form};
use crate::http::upload::{Upload, upload};
use crate::language::{Language, recognize};
use crate::problem::{Problem, ProblemKind};
use crate::state::app::{App, SharedApp};
use crate::state::documents::{FileAccess, TranslatedDocument, TranslationStatus};
use crate::state::glossaries::Terms;
use crate::work::texts::{TextFormat, TranslationTexts, translate};
use crate::work::thread_pool::StopFlag;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new().routes(routes!(create)).routes(routes!(status)).routes(routes!(result))
}

/// A file to translate, in the field `file` of a form.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::CreateDocument)]
struct Create {
    /// The file.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = String, format = Binary, required = true)]
    file: (),
    /// The language of the file.
    source_lang: Option<String>,
    /// The language to translate into.
    target_lang: String,
    /// Only `default`, `prefer_more` and `prefer_less`.
    formality: Option<String>,
    /// The glossary to use; requires `source_lang`.
    glossary_id: Option<String>,
    /// The format of the translation, which must be that of the file.
    output_format: Option<String>,
    /// The key, if it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    auth_key: (),
}

/// Starts the translation of a file.
#[utoipa::path(post, path = "/v2/document", tag = "DeepL", request_body(content = Create,
        content_type = "multipart/form-data", description = "The fields, and `filename` if `file` has no name"),
    responses((status = 200, description = "`document_id` and `document_key`")))]
async fn create(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let (file, asked): (Upload, Asked<Create>) = upload(request, &app, RULES).await?;
    let Upload { name, format, text } = file;
    let Asked { fields: asked, client, visit, warnings } = asked;
    if asked
        .output_format
        .as_deref()
        .is_some_and(|asked| !asked.is_empty() && asked.parse().ok() != Some(format))
    {
        let problem = "Value for 'output_format' not supported: a file keeps its format.";
        return Err(Problem::field("output_format", problem));
    }
    super::check_formality(asked.formality.as_deref())?;
    let target = language("target_lang", &asked.target_lang)?;
    let source = asked.source_lang.filter(|code| !code.is_empty());
    let source = source.map(|code| language("source_lang", &code)).transpose()?;
    let owner = app.owner(client);
    let terms = match asked.glossary_id.as_deref() {
        None | Some("") => None,
        Some(id) => Some(Terms {
            glossary: glossaries::fitting(&app, owner, id, source.as_ref(), &target)?,
            app: Arc::clone(&app),
            visit: visit.clone(),
        }),
    };
    let texts = vec![text];
    app.admit(&visit, "file", &texts)?;
    let chooser = Arc::clone(&app);
    let chosen = move |_: &StopFlag| {
        let format = TextFormat::File(format);
        let model = if is_in(&chooser, source.as_ref(), &target, &format, &texts[0]) {
            None
        } else {
            Some(choose(&chooser, source.as_ref(), &target, &format, &texts[0])?.0)
        };
        let characters = texts[0].chars().count();
        Ok((texts, model, characters))
    };
    let (texts, model, characters) = app.pool.run(client, chosen).await?;
    let accepted = app.phase.accept().ok_or_else(Problem::stopping)?;
    let handle = app.documents.begin(owner, FileAccess::Owner, texts[0].len())?;
    let answer = warned(reply(&json!({"document_id": handle.id, "document_key": handle.key})), &warnings);
    let Some(model) = model else {
        let problem = "Source and target language are equal.";
        app.documents.end(&handle, Err(Problem::field("target_lang", problem)));
        return Ok(answer);
    };
    tokio::spawn(async move {
        // Kept until the end: the server waits for it when it stops, and its characters count.
        let _held = (accepted, visit);
        let asked = TranslationTexts::of_file(texts, format, terms);
        let done = translate(&app, &model, client, asked).await.map(|done| {
            let (text, warnings) = done.into_first();
            TranslatedDocument { name, format, text, characters, warnings }
        });
        app.documents.end(&handle, done);
    });
    Ok(answer)
}

/// True if `text` is in the language `target` already.
fn is_in(app: &App, source: Option<&Language>, target: &Language, format: &TextFormat, text: &str) -> bool {
    let mut languages = app.models.sources(Some(target));
    match source {
        Some(source) => source.base() == target.base() && app.models.translating(source, target).is_none(),
        None if languages.iter().any(|one| one.base() == target.base()) => false,
        None => {
            languages.push(target.clone());
            let recognized = recognize(&format.words(text), &languages);
            recognized.is_some_and(|found| found.language.base() == target.base())
        }
    }
}

/// The key of a file.
#[derive(Deserialize, utoipa::ToSchema)]
struct Key {
    /// The `document_key` of the file.
    document_key: String,
    /// The key, if it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    auth_key: (),
}

/// Tells how far the translation of a file is.
#[utoipa::path(post, path = "/v2/document/{document_id}", tag = "DeepL", request_body = Key,
    params(("document_id" = String, Path, description = "Identifier of the document")),
    responses((status = 200, description = "`status`: `translating`, `done` or `error`"),
        (status = 404, description = "There is no such document")))]
async fn status(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let (state, warnings) = find(&app, &id, request).await?;
    let told = match state {
        TranslationStatus::Translating => {
            json!({"document_id": id, "status": "translating", "seconds_remaining": 1})
        }
        TranslationStatus::Done(done) => {
            json!({"document_id": id, "status": "done", "billed_characters": done.characters})
        }
        TranslationStatus::Failed(problem) => {
            json!({"document_id": id, "status": "error", "error_message": problem})
        }
    };
    Ok(warned(reply(&told), &warnings))
}

/// Returns a translated file, and releases it.
#[utoipa::path(post, path = "/v2/document/{document_id}/result", tag = "DeepL", request_body = Key,
    params(("document_id" = String, Path, description = "Identifier of the document")),
    responses((status = 200, description = "The file", content_type = "application/octet-stream"),
        (status = 404, description = "There is no such document")))]
async fn result(State(app): State<SharedApp>, Id(id): Id, request: Request) -> Result<Response, Problem> {
    let (state, warnings) = find(&app, &id, request).await?;
    match state {
        TranslationStatus::Done(done) => {
            app.documents.remove(&id);
            Ok(attached(&done, &warnings))
        }
        TranslationStatus::Translating => {
            let problem = Problem::new(ProblemKind::Unavailable, "the document is still being translated");
            Err(problem.hint("ask for its status first"))
        }
        TranslationStatus::Failed(problem) => Err(Problem::new(ProblemKind::Invalid, problem)),
    }
}

/// The status of a document, and warnings about the request.
async fn find(
    app: &SharedApp,
    id: &str,
    request: Request,
) -> Result<(TranslationStatus, Vec<String>), Problem> {
    let asked: Asked<Key> = json_or_form(request, app, RULES).await?;
    let owner = app.owner(asked.client);
    Ok((app.documents.status(owner, id, Some(&asked.fields.document_key))?, asked.warnings))
}
