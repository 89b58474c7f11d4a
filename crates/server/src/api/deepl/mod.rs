//! The API of DeepL, version 2 (developers.deepl.com).

mod dictionaries;
mod documents;
mod glossaries;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use attentive_document::{Split, XmlTags};
use attentive_pipeline::service::Client;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ignored::Ignored;
use super::{OneOrMany, reply, warned};
use crate::app::{App, SharedApp};
use crate::body::json_or_form;
use crate::desk::StopFlag;
use crate::glossaries::Terms;
use crate::language::{Language, detect_among};
use crate::models::ModelInstance;
use crate::problem::{Problem, ProblemKind};
use crate::texts::{TextFormat, TranslationTexts, begin, check_segments};
use crate::visit::Visit;

/// The limit that DeepL reports for unlimited accounts.
const UNLIMITED: u64 = 1_000_000_000_000;

pub(super) fn routes() -> OpenApiRouter<SharedApp> {
    OpenApiRouter::new()
        .routes(routes!(post_translate))
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
            let visit = Visit::of(&request)?;
            app.client(request.headers(), None, &visit)?;
            let problem = format!("This server has no {what}: its models only translate.");
            Err::<Response, Problem>(Problem::new(ProblemKind::Invalid, problem))
        };
        router.route(path, any(refuse))
    })
}

/// The fields of [`Translate`] that a form may repeat.
const LISTS: [&str; 4] = ["text", "ignore_tags", "splitting_tags", "non_splitting_tags"];

/// Texts to translate.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::Translate)]
struct Translate {
    /// The texts.
    text: OneOrMany,
    /// The language of the texts.
    source_lang: Option<String>,
    /// The language to translate into.
    target_lang: String,
    /// `html` or `xml` for text with tags.
    tag_handling: Option<String>,
    /// `0` for no division into sentences, `1` to divide after punctuation and line breaks, `nonewlines` to
    /// divide only after punctuation [default: `nonewlines` for `html`, else `1`].
    #[serde(default, deserialize_with = "word")]
    split_sentences: Option<String>,
    /// With `xml`: names of elements whose content is kept as it is.
    #[serde(default, deserialize_with = "names")]
    #[schema(value_type = Option<Vec<String>>)]
    ignore_tags: HashSet<String>,
    /// With `xml`: names of elements that are always texts of their own.
    #[serde(default, deserialize_with = "names")]
    #[schema(value_type = Option<Vec<String>>)]
    splitting_tags: HashSet<String>,
    /// With `xml`: names of elements before and after which a sentence may go on.
    #[serde(default, deserialize_with = "names")]
    #[schema(value_type = Option<Vec<String>>)]
    non_splitting_tags: HashSet<String>,
    /// With `xml`: whether to find out which other elements are texts of their own [default: true].
    #[serde(default = "on", deserialize_with = "switch_on")]
    outline_detection: bool,
    /// Only `default`, `prefer_more` and `prefer_less`.
    formality: Option<String>,
    /// The glossary to use; requires `source_lang`.
    glossary_id: Option<String>,
    /// Whether to return the number of characters.
    #[serde(default, deserialize_with = "switch")]
    show_billed_characters: bool,
    /// The kind of model; there is one for each pair of languages.
    model_type: Option<String>,
    /// The key, if it is not in the header `Authorization`.
    auth_key: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    others: Ignored,
}

/// The fields whose effect is always there: blanks and line breaks are kept, and there is one version of each
/// thing.
const NEUTRAL: [&str; 3] = ["preserve_formatting", "enable_beta_languages", "tag_handling_version"];

/// Reads `true`, or one of the strings that forms use for it.
fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(false),
        Value::Bool(on) => Ok(on),
        Value::String(text) if ["1", "true"].contains(&text.as_str()) => Ok(true),
        Value::String(text) if ["0", "false"].contains(&text.as_str()) => Ok(false),
        _ => Err(serde::de::Error::custom("expected `true` or `false`")),
    }
}

/// Reads a [`switch`] that is on if it is missing.
fn switch_on<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(true),
        given => switch(given).map_err(serde::de::Error::custom),
    }
}

fn on() -> bool {
    true
}

/// Reads a list of names, or one with commas between them.
fn names<'de, D: Deserializer<'de>>(from: D) -> Result<HashSet<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        None,
        One(String),
        Many(Vec<String>),
    }
    let lists = match Names::deserialize(from).map_err(|_| serde::de::Error::custom("expected names"))? {
        Names::None => Vec::new(),
        Names::One(names) => vec![names],
        Names::Many(lists) => lists,
    };
    let names = lists.iter().flat_map(|names| names.split(',')).map(str::trim);
    Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Reads a word, or a number or boolean in its place.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(on) => Ok(Some(u8::from(on).to_string())),
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err(serde::de::Error::custom("expected a string")),
    }
}

/// Translates texts.
#[utoipa::path(post, path = "/v2/translate", tag = "DeepL", request_body = Translate,
    responses((status = 200, description = "`translations`, each with `detected_source_language` and `text`")))]
async fn post_translate(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let headers = request.headers().clone();
    let asked: Translate = json_or_form(request, &app, &LISTS).await?;
    let client = app.client(&headers, asked.auth_key.as_deref(), &visit)?;
    check_formality(asked.formality.as_deref())?;
    let (form, split, model_type) = (asked.form()?, asked.split()?, asked.model_type()?);
    let ignored = asked.ignored();
    let target = language("target_lang", &asked.target_lang)?;
    let source = asked.source_lang.filter(|code| !code.is_empty());
    let source = source.map(|code| language("source_lang", &code)).transpose()?;
    let terms = match asked.glossary_id.as_deref() {
        None | Some("") => None,
        Some(id) => Some(Terms {
            glossary: glossaries::fitting(&app, app.owner(client), id, source.as_ref(), &target)?,
            app: Arc::clone(&app),
            visit: visit.clone(),
        }),
    };
    let (texts, _) = asked.text.into_texts();
    app.admit(&visit, "text", &texts)?;
    let chooser = Arc::clone(&app);
    let detected = form.clone();
    let choose = move |stop: &StopFlag| {
        let chosen = texts.iter().map(|text| {
            stop.check()?;
            choose(&chooser, source.as_ref(), &target, &detected, text)
        });
        let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        let billed: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
        Ok((texts, chosen, billed))
    };
    let (texts, chosen, billed) = app.desk.ask(client, choose).await?;
    let models = chosen.iter().map(|(model, _)| Arc::clone(model)).collect();
    let texts_of =
        |texts| TranslationTexts { texts, form: form.clone(), split, terms: terms.clone(), alternatives: 0 };
    let (translated, warnings) = translate_each(&app, client, texts, models, texts_of).await?;
    // First, since only some warnings are told.
    let warnings = [ignored, warnings].concat();
    let write = move |_: &StopFlag| {
        let results = translated.into_iter().zip(chosen).zip(billed);
        let results = results.map(|((text, (_, source)), billed)| {
            let code = source.code().to_uppercase();
            let mut result = json!({"detected_source_language": code, "text": text});
            if let Some(model_type) = model_type {
                result["model_type_used"] = model_type.into();
            }
            if asked.show_billed_characters {
                result["billed_characters"] = billed.into();
            }
            result
        });
        let answer = json!({"translations": results.collect::<Vec<_>>()});
        Ok(warned(reply(&answer), &warnings))
    };
    app.desk.ask(client, write).await
}

/// Translates each text with its own model. Also returns warnings about text that could not be read or
/// written literally.
async fn translate_each(
    app: &App,
    client: Client,
    texts: Vec<String>,
    models: Vec<Arc<ModelInstance>>,
    texts_of: impl Fn(Vec<String>) -> TranslationTexts,
) -> Result<(Vec<String>, Vec<String>), Problem> {
    let mut warnings = Vec::new();
    let mut translated = vec![String::new(); texts.len()];
    let mut groups: Vec<(Arc<ModelInstance>, Vec<usize>, Vec<String>)> = Vec::new();
    for (number, (text, model)) in texts.into_iter().zip(models).enumerate() {
        match groups.iter_mut().find(|(of, ..)| Arc::ptr_eq(of, &model)) {
            Some((_, numbers, texts)) => {
                numbers.push(number);
                texts.push(text);
            }
            None => groups.push((model, vec![number], vec![text])),
        }
    }
    // All models accept their texts before any of them is waited for, so that no finished translation is
    // thrown away.
    let (mut all, mut segments) = (Vec::new(), 0);
    for (model, numbers, texts) in groups {
        let begun = begin(app, &model, client, texts_of(texts)).await?;
        segments += begun.segments();
        check_segments(segments, &app.config.limits)?;
        all.push((numbers, begun));
    }
    for (numbers, begun) in all {
        let done = begun.finish(app).await?;
        for (number, rendered) in numbers.into_iter().zip(done.texts) {
            translated[number] = rendered.best;
        }
        warnings.extend(done.warnings);
    }
    Ok((translated, warnings))
}

impl Translate {
    /// The form of the texts.
    fn form(&self) -> Result<TextFormat, Problem> {
        match self.tag_handling.as_deref() {
            None | Some("" | "0") => Ok(TextFormat::Plain),
            Some("html") => Ok(TextFormat::Html),
            Some("xml") => Ok(TextFormat::Xml(Arc::new(XmlTags {
                ignored: self.ignore_tags.clone(),
                splitting: self.splitting_tags.clone(),
                non_splitting: self.non_splitting_tags.clone(),
                outline_detection: self.outline_detection,
            }))),
            Some(_) => Err(Problem::field("tag_handling", "Value for 'tag_handling' not supported.")),
        }
    }

    /// The kind of model that is used, if one is asked for. The only model of two languages is both the best
    /// and the fastest.
    fn model_type(&self) -> Result<Option<&'static str>, Problem> {
        match self.model_type.as_deref() {
            None | Some("") => Ok(None),
            Some("latency_optimized") => Ok(Some("latency_optimized")),
            Some("quality_optimized" | "prefer_quality_optimized") => Ok(Some("quality_optimized")),
            Some(_) => Err(Problem::field("model_type", "Value for 'model_type' not supported.")),
        }
    }

    /// Warnings about fields that change nothing.
    fn ignored(&self) -> Vec<String> {
        let names = [
            ("ignore_tags", &self.ignore_tags),
            ("splitting_tags", &self.splitting_tags),
            ("non_splitting_tags", &self.non_splitting_tags),
        ];
        let is_xml = self.tag_handling.as_deref() == Some("xml");
        let of_xml = names.iter().filter(|(_, tags)| !is_xml && !tags.is_empty());
        let of_xml = of_xml.map(|(name, _)| format!("`{name}` is ignored without `tag_handling=xml`"));
        self.others.warning(&NEUTRAL).into_iter().chain(of_xml).collect()
    }

    /// The places where texts are divided.
    fn split(&self) -> Result<Split, Problem> {
        let is_html = self.tag_handling.as_deref() == Some("html");
        match self.split_sentences.as_deref() {
            None | Some("") if is_html => Ok(Split::Paragraphs),
            None | Some("" | "1") => Ok(Split::Sentences),
            Some("nonewlines") => Ok(Split::Paragraphs),
            Some("0") => Ok(Split::Nowhere),
            Some(_) => Err(Problem::field("split_sentences", "Value for 'split_sentences' not supported.")),
        }
    }
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
    form: &TextFormat,
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
            detect_among(&form.words(text), &sources).ok_or_else(unsupported)?.language
        }
    };
    let model = app.models.translating(&source, target);
    let no_pair = || {
        let problem =
            format!("Value for 'source_lang' not supported: no model translates {source} into {target}.");
        Problem::field("source_lang", problem)
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
    auth_key: Option<String>,
}

/// Lists the languages that can be translated from or into.
#[utoipa::path(get, path = "/v2/languages", tag = "DeepL",
    params(("type" = Option<String>, Query, description = "`source` or `target`")),
    responses((status = 200, description = "A list of `language` and `name`")))]
async fn get_languages(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let headers = request.headers().clone();
    let asked: Languages = json_or_form(request, &app, &[]).await?;
    app.client(&headers, asked.auth_key.as_deref(), &visit)?;
    let is_target = match asked.side.as_deref() {
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
    Ok(reply(&languages.into_iter().map(entry).collect::<Vec<_>>()))
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
    let visit = Visit::of(&request)?;
    app.client(request.headers(), None, &visit)?;
    let count = app.characters.load(Relaxed);
    Ok(reply(&json!({"character_count": count, "character_limit": UNLIMITED})))
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
