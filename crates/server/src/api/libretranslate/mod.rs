//! The API of LibreTranslate 1.6 (github.com/LibreTranslate/LibreTranslate).

mod files;

use std::sync::Arc;

use attentive_document::{FileFormat, Split};
use axum::extract::{Request, State};
use axum::response::Response;
use hyper::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{OneOrMany, reply, warned};
use crate::http::asked::{Asked, FieldRules, json_or_form};
use crate::language::{Detected, Language, detect_among};
use crate::problem::{Problem, ProblemKind};
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;
use crate::work::texts::{Rendered, TextFormat, TranslatedTexts, TranslationTexts, translate};
use crate::work::thread_pool::StopFlag;

/// The fields that are special in this API.
const RULES: FieldRules = FieldRules { key: "api_key", lists: &["q"], neutral: &[] };

/// The value of the source language that requests language detection.
const AUTO: &str = "auto";

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(post_translate, preflight_translate))
        .routes(routes!(post_detect, preflight_detect))
        .routes(routes!(languages))
        .routes(routes!(settings))
        .merge(files::routes())
}

/// A text or texts to translate.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = libretranslate::Translate)]
struct Translate {
    /// What to translate.
    q: Option<OneOrMany>,
    /// The language of the text, or `auto`.
    source: Option<String>,
    /// The language to translate into.
    target: Option<String>,
    /// `text` or `html`.
    format: Option<String>,
    /// Number of further translations.
    #[serde(default, deserialize_with = "count")]
    alternatives: usize,
    /// The key, if the server needs one and it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    api_key: (),
}

/// A text.
#[derive(Deserialize, utoipa::ToSchema)]
struct Detect {
    /// The text.
    q: Option<OneOrMany>,
    /// The key, if the server needs one and it is not in the header `Authorization`.
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    api_key: (),
}

/// A number, or a number in a string, as forms have it.
fn count<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let expected = || serde::de::Error::custom("expected a whole number, 0 or more");
    let number = match Value::deserialize(from)? {
        Value::Null => return Ok(0),
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let number = number.ok_or_else(expected)?;
    usize::try_from(number).map_err(|_| expected())
}

/// Translates a text, or each text of a list.
#[utoipa::path(post, path = "/translate", tag = "LibreTranslate",
    request_body(content((Translate = "application/json"), (Translate = "application/x-www-form-urlencoded"))),
    responses((status = 200, description = "`translatedText`, and `detectedLanguage` and `alternatives` if \
                                            asked for")))]
async fn post_translate(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let asked: Asked<Translate> = json_or_form(request, &app, RULES).await?;
    let Asked { fields: asked, client, visit, mut warnings } = asked;
    let (texts, is_list) = required(asked.q, "q")?.into_texts();
    let source = required(asked.source, "source")?;
    let target = language("target", &required(asked.target, "target")?)?;
    let (format, split) = match asked.format.as_deref() {
        None | Some("" | "text") => (TextFormat::Plain, Split::Sentences),
        // Line breaks mean nothing in HTML.
        Some("html") => (TextFormat::Html, Split::Paragraphs),
        Some(other) => {
            let problem = format!("`{other}` is not a format: use `text` or `html`");
            return Err(Problem::field("format", problem));
        }
    };
    let (alternatives, most) = (asked.alternatives, app.config.limits.alternatives);
    if alternatives > most {
        let problem = format!("{alternatives} alternatives requested; the server allows at most {most}");
        return Err(Problem::field("alternatives", problem));
    }
    app.admit(&visit, "q", &texts)?;
    let chooser = Arc::clone(&app);
    let choose = move |_: &StopFlag| {
        let chosen = choose(&chooser, &source, &target, &format, &texts)?;
        Ok((texts, format, chosen))
    };
    let (texts, format, (model, detected)) = app.pool.run(client, choose).await?;
    let asked = TranslationTexts { texts, format, split, terms: None, alternatives };
    let TranslatedTexts { texts, warnings: found } = translate(&app, &model, client, asked).await?;
    warnings.extend(found);
    let write = move |_: &StopFlag| {
        let answer = answer(texts, is_list, detected, alternatives > 0);
        Ok(warned(reply(&answer), &warnings))
    };
    app.pool.run(client, write).await
}

/// The model for the languages, and the detected one if `source` is `auto`.
fn choose(
    app: &SharedApp,
    source: &str,
    target: &Language,
    format: &TextFormat,
    texts: &[String],
) -> Result<(Arc<ModelInstance>, Option<Detected>), Problem> {
    let unsupported = |source: &str| {
        let problem = format!("there is no model for `{source}` to `{target}`");
        Problem::field("target", problem)
    };
    let unknown =
        |field, language: &Language| Problem::field(field, format!("{} is not supported", language.code()));
    if app.models.sources(Some(target)).is_empty() {
        return Err(unknown("target", target));
    }
    if source != AUTO {
        let source = language("source", source)?;
        if !app.models.sources(None).iter().any(|one| one.base() == source.base()) {
            return Err(unknown("source", &source));
        }
        let model = app.models.translating(&source, target);
        return Ok((model.ok_or_else(|| unsupported(source.code()))?, None));
    }
    let sources = app.models.sources(Some(target));
    let words: String = texts.iter().map(|text| format.words(text)).collect();
    let detected = detect_among(&words, &sources).ok_or_else(|| unsupported(AUTO))?;
    let model = app.models.translating(&detected.language, target);
    Ok((model.ok_or_else(|| unsupported(AUTO))?, Some(detected)))
}

fn answer(rendered: Vec<Rendered>, is_list: bool, detected: Option<Detected>, alternatives: bool) -> Value {
    let (texts, others): (Vec<_>, Vec<_>) =
        rendered.into_iter().map(|one| (Value::from(one.best), Value::from(one.alternatives))).unzip();
    let count = texts.len();
    let shape = |mut values: Vec<Value>| {
        if is_list { Value::Array(values) } else { values.pop().unwrap_or_default() }
    };
    let mut answer = json!({"translatedText": shape(texts)});
    if let Some(detected) = detected {
        answer["detectedLanguage"] = shape(vec![found(&detected); count]);
    }
    if alternatives {
        answer["alternatives"] = shape(others);
    }
    answer
}

fn found(detected: &Detected) -> Value {
    json!({"confidence": detected.confidence, "language": detected.language.code()})
}

/// Detects the language of a text, among those that the server translates.
#[utoipa::path(post, path = "/detect", tag = "LibreTranslate",
    request_body(content((Detect = "application/json"), (Detect = "application/x-www-form-urlencoded"))),
    responses((status = 200, description = "A list of guesses: `confidence` from 0 to 100 and `language`")))]
async fn post_detect(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let asked: Asked<Detect> = json_or_form(request, &app, RULES).await?;
    let Asked { fields, client, visit, warnings } = asked;
    let (texts, _) = required(fields.q, "q")?.into_texts();
    app.admit(&visit, "q", &texts)?;
    let sources = app.models.sources(None);
    let guess = move |_: &StopFlag| {
        let first = || sources.first().cloned().map(Detected::unsure);
        Ok(detect_among(&texts.join("\n"), &sources).or_else(first))
    };
    let guess = app.pool.run(client, guess).await?;
    Ok(warned(reply(&guess.iter().map(found).collect::<Vec<_>>()), &warnings))
}

/// Lists the languages that can be translated, and those that each is translated into.
#[utoipa::path(get, path = "/languages", tag = "LibreTranslate",
    responses((status = 200, description = "A list of `code`, `name` and `targets`")))]
async fn languages(State(app): State<SharedApp>) -> Response {
    let all = app.models.all();
    let directions: Vec<_> = all.iter().filter_map(|model| model.direction()).collect();
    let ends = directions.iter().flat_map(|one| [&one.source, &one.target]);
    let mut known: Vec<&Language> = ends.collect();
    known.sort();
    known.dedup();
    let targets = |language: &Language| {
        let from = directions.iter().filter(|one| one.source == *language);
        let mut targets: Vec<&str> = from.map(|one| one.target.code()).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    };
    let entry = |language: &Language| json!({"code": language.code(), "name": language.name(), "targets": targets(language)});
    reply(&known.into_iter().map(entry).collect::<Vec<_>>())
}

/// Returns limits and default languages, for pages that use the server.
#[utoipa::path(get, path = "/frontend/settings", tag = "LibreTranslate",
    responses((status = 200, description = "Limits and default languages")))]
async fn settings(State(app): State<SharedApp>) -> Response {
    let all = app.models.all();
    let first = all.iter().find_map(|model| model.direction());
    let entry = |language: Option<&Language>| match language {
        Some(language) => json!({"code": language.code(), "name": language.name()}),
        None => json!({"code": AUTO, "name": "Auto Detect"}),
    };
    let formats = FileFormat::ALL.into_iter().flat_map(FileFormat::extensions);
    let formats: Vec<String> = formats.map(|extension| format!(".{extension}")).collect();
    reply(&json!({
        "apiKeys": app.needs_key(),
        "charLimit": app.config.limits.characters,
        "filesTranslation": true,
        "frontendTimeout": 500,
        "keyRequired": app.needs_key(),
        "language": {
            "source": entry(first.map(|direction| &direction.source)),
            "target": entry(first.map(|direction| &direction.target)),
        },
        "suggestions": false,
        "supportedFilesFormat": formats,
    }))
}

/// Answers the preflight request of a browser.
#[utoipa::path(options, path = "/translate", tag = "LibreTranslate", responses((status = 204)))]
async fn preflight_translate() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Answers the preflight request of a browser.
#[utoipa::path(options, path = "/detect", tag = "LibreTranslate", responses((status = 204)))]
async fn preflight_detect() -> StatusCode {
    StatusCode::NO_CONTENT
}

fn required<T>(value: Option<T>, field: &str) -> Result<T, Problem> {
    let missing = || Problem::field(field, format!("Invalid request: missing {field} parameter"));
    value.ok_or_else(missing)
}

fn language(field: &str, code: &str) -> Result<Language, Problem> {
    let wrong = |_| Problem {
        field: Some(field.to_owned()),
        ..Problem::new(ProblemKind::Invalid, format!("{code} is not supported"))
    };
    code.parse().map_err(wrong)
}
