//! Translation of files, as in LibreTranslate's API.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use hyper::HeaderMap;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{RULES, choose, language, required};
use crate::api::{Id, attached, reply, warned};
use crate::http::asked::Asked;
use crate::http::upload::{Upload, upload};
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::documents::{FileAccess, TranslatedDocument, TranslationStatus as Progress};
use crate::work::texts::{TextFormat, TranslationTexts, translate};
use crate::work::thread_pool::StopFlag;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new().routes(routes!(post_file, preflight_file)).routes(routes!(download))
}

/// A file to translate, in the field `file` of a form.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = libretranslate::TranslateFile)]
struct TranslateFile {
    /// The language of the file, or `auto`.
    source: Option<String>,
    /// The language to translate into.
    target: Option<String>,
    /// The key, if the server needs one and it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    api_key: (),
    /// The file.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = String, format = Binary, required = true)]
    file: (),
}

/// Translates a file, which is kept for an hour.
#[utoipa::path(post, path = "/translate_file", tag = "LibreTranslate",
    request_body(content = TranslateFile, content_type = "multipart/form-data",
        description = "The fields, and `filename` if `file` has no name"),
    responses((status = 200, description = "`translatedFileUrl`, where the translated file is")))]
async fn post_file(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let (file, asked): (Upload, Asked<TranslateFile>) = upload(request, &app, RULES).await?;
    let Upload { name, format, text } = file;
    let Asked { fields: asked, client, visit, mut warnings } = asked;
    let source = required(asked.source, "source")?;
    let target = language("target", &required(asked.target, "target")?)?;
    let texts = vec![text];
    app.admit(&visit, "file", &texts)?;
    let chooser = Arc::clone(&app);
    let chosen = move |_: &StopFlag| {
        let (model, _) = choose(&chooser, &source, &target, &TextFormat::File(format), &texts)?;
        let characters = texts[0].chars().count();
        Ok((texts, model, characters))
    };
    let (texts, model, characters) = app.pool.run(client, chosen).await?;
    let owner = app.owner(client);
    let done = translate(&app, &model, client, TranslationTexts::of_file(texts, format, None)).await?;
    let (done, found) = done.into_first();
    warnings.extend(found);
    // Only now, so that nothing is kept for a client that goes away.
    let handle = app.documents.begin(owner, FileAccess::Key, done.len())?;
    app.documents
        .end(&handle, Ok(TranslatedDocument { name, format, text: done, characters, warnings: Vec::new() }));
    let url = format!("{}/download_file/{}.{format}", own_address(&headers), handle.key);
    Ok(warned(reply(&json!({"translatedFileUrl": url})), &warnings))
}

/// The address of this server as the client wrote it; a server in between says whether with TLS.
fn own_address(headers: &HeaderMap) -> String {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let first = value("x-forwarded-proto").and_then(|schemes| schemes.split(',').next());
    let secure = first.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"));
    let scheme = if secure { "https" } else { "http" };
    format!("{scheme}://{}", value("host").unwrap_or("localhost"))
}

/// Returns a translated file. Its address, which nobody can guess, is enough: pages open it without a key.
#[utoipa::path(get, path = "/download_file/{name}", tag = "LibreTranslate",
    params(("name" = String, Path, description = "The last part of `translatedFileUrl`")),
    responses((status = 200, description = "The file", content_type = "application/octet-stream")))]
async fn download(State(app): State<SharedApp>, Id(name): Id) -> Result<Response, Problem> {
    match app.documents.status_by_key(name.split('.').next().unwrap_or_default())? {
        Progress::Done(done) => Ok(attached(&done, &[])),
        Progress::Failed(problem) => Err(Problem::field("file", problem)),
        Progress::Translating => Err(Problem::field("file", "the file is still being translated")),
    }
}

/// Answers the preflight request of a browser.
#[utoipa::path(options, path = "/translate_file", tag = "LibreTranslate", responses((status = 204)))]
async fn preflight_file() -> StatusCode {
    StatusCode::NO_CONTENT
}
