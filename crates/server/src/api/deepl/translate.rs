//! Translation with the API of DeepL.

use std::collections::HashSet;
use std::sync::Arc;

use attentive_document::{Split, XmlTags};
use attentive_pipeline::service::Client;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{check_formality, choose, glossaries, language};
use crate::api::{OneOrMany, reply, warned};
use crate::http::asked::{Asked, FieldRules, json_or_form};
use crate::http::visit::Visit;
use crate::language::Language;
use crate::problem::Problem;
use crate::state::app::{App, SharedApp};
use crate::state::glossaries::Terms;
use crate::state::models::ModelInstance;
use crate::work::texts::{TextFormat, TranslationTexts, begin, check_segments};
use crate::work::thread_pool::StopFlag;

/// Blanks and line breaks are always kept, and there is one version of each thing.
const RULES: FieldRules = FieldRules {
    lists: &["text", "ignore_tags", "splitting_tags", "non_splitting_tags"],
    neutral: &["preserve_formatting", "enable_beta_languages", "tag_handling_version"],
    ..super::RULES
};

/// Texts to translate.
#[derive(Deserialize, utoipa::ToSchema)]
#[schema(as = deepl::Translate)]
pub(super) struct TranslateRequest {
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
    #[serde(default, deserialize_with = "optional_switch")]
    #[schema(value_type = Option<bool>)]
    outline_detection: Option<bool>,
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
    #[serde(default)]
    #[expect(dead_code, reason = "for the description: it is read before the other fields")]
    #[schema(value_type = Option<String>)]
    auth_key: (),
}

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

/// Reads a [`switch`] that may be missing.
fn optional_switch<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        given => switch(given).map(Some).map_err(serde::de::Error::custom),
    }
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
#[utoipa::path(post, path = "/v2/translate", tag = "DeepL",
    request_body(content((TranslateRequest = "application/json"),
        (TranslateRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, description = "`translations`, each with `detected_source_language` and `text`")))]
pub(super) async fn post_translate(
    State(app): State<SharedApp>,
    request: Request,
) -> Result<Response, Problem> {
    let asked: Asked<TranslateRequest> = json_or_form(request, &app, RULES).await?;
    let Asked { fields: asked, client, visit, mut warnings } = asked;
    // First, since only some warnings are told.
    warnings.extend(asked.without_xml());
    let job = asked.into_job(&app, client, &visit)?;
    app.admit(&visit, "text", &job.texts)?;
    let chooser = Arc::clone(&app);
    let choose = move |stop: &StopFlag| Ok((job.choose_models(&chooser, stop)?, job));
    let (chosen, mut job) = app.pool.run(client, choose).await?;
    let texts = std::mem::take(&mut job.texts);
    let models = chosen.iter().map(|one| Arc::clone(&one.model)).collect();
    let texts_of = |texts| job.texts_of(texts);
    let (translated, found) = translate_each(&app, client, texts, models, texts_of).await?;
    warnings.extend(found);
    let write = move |_: &StopFlag| Ok(warned(reply(&job.answer(translated, chosen)), &warnings));
    app.pool.run(client, write).await
}

/// A request whose fields have been read.
struct TranslateJob {
    texts: Vec<String>,
    source: Option<Language>,
    target: Language,
    format: TextFormat,
    split: Split,
    terms: Option<Terms>,
    /// The kind of model that the response names, if the request does.
    model_type: Option<&'static str>,
    show_billed_characters: bool,
}

/// The model for a text.
struct ChosenModel {
    model: Arc<ModelInstance>,
    /// The language of the text.
    source: Language,
    /// The number of characters of the text.
    characters: usize,
}

impl TranslateJob {
    /// The model for each text. The time grows with their length.
    fn choose_models(&self, app: &SharedApp, stop: &StopFlag) -> Result<Vec<ChosenModel>, Problem> {
        let chosen = self.texts.iter().map(|text| {
            stop.check()?;
            let (model, source) = choose(app, self.source.as_ref(), &self.target, &self.format, text)?;
            Ok(ChosenModel { model, source, characters: text.chars().count() })
        });
        chosen.collect()
    }

    /// Some of the texts, to be translated by one model.
    fn texts_of(&self, texts: Vec<String>) -> TranslationTexts {
        let (format, terms) = (self.format.clone(), self.terms.clone());
        TranslationTexts { texts, format, split: self.split, terms, alternatives: 0 }
    }

    /// The response with the `translated` texts.
    fn answer(&self, translated: Vec<String>, chosen: Vec<ChosenModel>) -> Value {
        let results = translated.into_iter().zip(chosen).map(|(text, chosen)| {
            let code = chosen.source.code().to_uppercase();
            let mut result = json!({"detected_source_language": code, "text": text});
            if let Some(model_type) = self.model_type {
                result["model_type_used"] = model_type.into();
            }
            if self.show_billed_characters {
                result["billed_characters"] = chosen.characters.into();
            }
            result
        });
        json!({"translations": results.collect::<Vec<_>>()})
    }
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
        let accepted = begin(app, &model, client, texts_of(texts)).await?;
        segments += accepted.segments();
        check_segments(segments, &app.config.limits)?;
        all.push((numbers, accepted));
    }
    for (numbers, accepted) in all {
        let done = accepted.finish(app).await?;
        for (number, rendered) in numbers.into_iter().zip(done.texts) {
            translated[number] = rendered.best;
        }
        warnings.extend(done.warnings);
    }
    Ok((translated, warnings))
}

impl TranslateRequest {
    /// Reads the fields.
    ///
    /// # Errors
    /// A [`Problem`] for a value that is not supported, and for a glossary that does not fit.
    fn into_job(self, app: &SharedApp, client: Client, visit: &Visit) -> Result<TranslateJob, Problem> {
        check_formality(self.formality.as_deref())?;
        let (format, split, model_type) = (self.format()?, self.split()?, self.model_type()?);
        let target = language("target_lang", &self.target_lang)?;
        let source = self.source_lang.filter(|code| !code.is_empty());
        let source = source.map(|code| language("source_lang", &code)).transpose()?;
        let terms = match self.glossary_id.as_deref() {
            None | Some("") => None,
            Some(id) => Some(Terms {
                glossary: glossaries::fitting(app, app.owner(client), id, source.as_ref(), &target)?,
                app: Arc::clone(app),
                visit: visit.clone(),
            }),
        };
        let (texts, _) = self.text.into_texts();
        let show_billed_characters = self.show_billed_characters;
        Ok(TranslateJob { texts, source, target, format, split, terms, model_type, show_billed_characters })
    }

    /// The format of the texts.
    fn format(&self) -> Result<TextFormat, Problem> {
        match self.tag_handling.as_deref() {
            None | Some("" | "0") => Ok(TextFormat::Plain),
            Some("html") => Ok(TextFormat::Html),
            Some("xml") => Ok(TextFormat::Xml(Arc::new(XmlTags {
                ignored: self.ignore_tags.clone(),
                splitting: self.splitting_tags.clone(),
                non_splitting: self.non_splitting_tags.clone(),
                outline_detection: self.outline_detection.unwrap_or(true),
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

    /// Warnings about fields that change nothing, since the text is not XML.
    fn without_xml(&self) -> Vec<String> {
        let given = [
            ("ignore_tags", !self.ignore_tags.is_empty()),
            ("splitting_tags", !self.splitting_tags.is_empty()),
            ("non_splitting_tags", !self.non_splitting_tags.is_empty()),
            ("outline_detection", self.outline_detection.is_some()),
        ];
        let is_xml = self.tag_handling.as_deref() == Some("xml");
        let given = given.iter().filter(|(_, is_given)| !is_xml && *is_given);
        given.map(|(name, _)| format!("`{name}` is ignored without `tag_handling=xml`")).collect()
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
