//! Translations with all details.

use std::collections::BTreeMap;
use std::sync::Arc;

use attentive_config::Task;
use attentive_decode::SearchOptions;
use attentive_document::{Segmentation, Split};
use attentive_pipeline::service::Service;
use attentive_pipeline::{Pipeline, Prefix, TranslateOptions, TranslationConstraints};
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::translated::{AnswerContext, Events, TranslationDetails};
use crate::api::{OneOrMany, reply};
use crate::http::body::json;
use crate::http::fields::{Fields, Object, SamplingObject, SearchFields};
use crate::http::objects::unique;
use crate::http::sse;
use crate::http::visit::Visit;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::state::app::{SharedApp, Strings};
use crate::state::glossaries::Terms;
use crate::state::models::ModelInstance;
use crate::work::answers::{Answers, Merge};
use crate::work::divided_request::DividedRequest;
use crate::work::thread_pool::StopFlag;

/// Texts to translate.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Translate {
    /// The model; may be left out if only one here translates.
    model: Option<String>,
    /// The text, or texts.
    text: OneOrMany,
    /// Number of translations of each text [default: 1].
    #[schema(minimum = 1)]
    n_best: Option<usize>,
    /// Whether to translate each sentence of a text separately; if not, each text is read as one line
    /// [default: true].
    #[serde(default = "yes")]
    split_sentences: bool,
    /// Whether to keep placeholders such as `{name}` and `%s`, addresses, and texts without letters as they
    /// are. Not with `alignments`, `prefix`, `prefix_tokens` or `phrases`: the model then reads placeholders,
    /// and a warning says if the translation lacks one [default: whether it is possible].
    keep_placeables: Option<bool>,
    /// The beginning of each translation, that is, of its first sentence.
    prefix: Option<String>,
    /// The beginning of the translations as tokens of the target vocabulary.
    prefix_tokens: Option<Vec<String>>,
    /// Phrases that each translation must contain; each text must then be a single sentence.
    #[serde(default)]
    phrases: Vec<String>,
    /// Terms and the words to translate them with. Not with `prefix`, `prefix_tokens` or `phrases`.
    #[serde(default, deserialize_with = "unique")]
    #[schema(value_type = BTreeMap<String, String>)]
    terms: BTreeMap<String, String>,
    /// Samples translations instead of searching for the most likely ones.
    sampling: Option<SamplingObject>,
    /// Whether to return word alignments.
    #[serde(default)]
    alignments: bool,
    /// Whether to stream translations while they are generated.
    #[serde(default)]
    stream: bool,
    #[serde(flatten)]
    #[schema(inline)]
    search: SearchFields,
}

/// The response.
#[derive(Serialize)]
struct Results<'a> {
    model: &'a str,
    /// One for each text.
    results: Vec<TranslationDetails>,
}

fn yes() -> bool {
    true
}

/// Translates texts.
#[utoipa::path(post, path = "/api/translate", tag = "Attentive", request_body = Translate,
    responses((status = 200, description = "`model` and `results`, one for each text; with `stream`, \
                                            server-sent events `text`, `result` and `done`", body = [TranslationDetails])))]
pub(super) async fn post_translate(
    State(app): State<SharedApp>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let mut asked: Translate = json(request, &app).await?;
    let translates = |model: &ModelInstance| model.task() == Task::Translate;
    let model = (app.models).choose(asked.model.as_deref(), "translate", translates)?;
    let options = asked.options(&app, model.pipeline())?;
    let (texts, constraints) = asked.take_texts()?;
    let [prefix, phrases] = strings(&constraints, &app.config.limits);
    asked.check_terms(&constraints)?;
    app.admit_with(&visit, "text", &texts, &[prefix, phrases])?;
    let terms = Terms::given(&asked.terms, &app, &visit)?;
    let (reader, how) = (Arc::clone(&model), asked.segmentation(model.pipeline(), &constraints)?);
    let limits = app.config.limits;
    let read = move |stop: &StopFlag| {
        let most = limits.most_texts();
        let mut divided = DividedRequest::read(&reader, texts, how, constraints, most, stop)?;
        if let Some(terms) = terms {
            for text in &mut divided.texts {
                let sentences = text.divided.sentences().iter().map(|one| &*one.text);
                text.glossed = terms.of(sentences, stop)?;
            }
        }
        let sentences = reader.read(&divided.requests, &options, &limits)?;
        Ok((divided, sentences))
    };
    let (divided, sentences) = app.pool.run(client, read).await?;
    let mut answers = Answers::new(&model, Merge::Replace);
    let count = sentences.len();
    let send = |service: &Service, reply| service.translate(client, sentences, asked.stream, reply);
    answers.send(send)?;
    let options =
        TranslateOptions { search: options, ..TranslateOptions::from(&model.pipeline().config().decode) };
    let context =
        AnswerContext { app: Arc::clone(&app), model, client, alignments: asked.alignments, options };
    if asked.stream {
        let events = Events::new(context, divided.texts).await?;
        return Ok(sse::response(app, visit, answers, count, events));
    }
    let found = answers.all(count).await?;
    let model = Arc::clone(&context.model);
    let write = move |results: Vec<TranslationDetails>| {
        let model = model.name();
        reply(&Results { model, results })
    };
    context.describe(divided.texts, found, write).await
}

impl Translate {
    fn options(&self, app: &SharedApp, pipeline: &Pipeline) -> Result<SearchOptions, Problem> {
        let (decode, n_best) = (&pipeline.config().decode, self.n_best.unwrap_or(1));
        if n_best == 0 {
            return Err(Problem::field("n_best", "`n_best` is at least 1"));
        }
        let Fields(search) = self.search;
        let sampling = self.sampling.map(|Object(sampling)| sampling);
        let options = search.within(decode, n_best, app.config.limits.of_search());
        let options = options.and_then(|()| search.apply(decode, n_best, sampling));
        let options = options.map_err(|error| Problem::invalid(&error))?;
        if self.alignments {
            // Refuses a model without attention before anything is translated.
            pipeline.align::<&str>(&[]).map_err(|error| Problem::invalid(&error))?;
        }
        Ok(options)
    }

    /// How texts are divided; `None` if they are not.
    ///
    /// # Errors
    /// A [`Problem`] if placeables cannot be kept.
    fn segmentation(
        &self,
        pipeline: &Pipeline,
        constraints: &TranslationConstraints,
    ) -> Result<Option<Segmentation>, Problem> {
        let is_possible = !self.alignments && constraints.is_blank();
        let keep_placeables = self.keep_placeables.unwrap_or(is_possible);
        if keep_placeables && !is_possible {
            let problem =
                "`keep_placeables` is not possible with `alignments`, `prefix`, `prefix_tokens` or `phrases`";
            return Err(Problem::field("keep_placeables", problem));
        }
        let split = if self.split_sentences { Split::Sentences } else { Split::Nowhere };
        let how = Segmentation { keep_placeables, ..pipeline.segmentation(split) };
        Ok((self.split_sentences || keep_placeables).then_some(how))
    }

    /// Refuses terms along with constraints.
    fn check_terms(&self, constraints: &TranslationConstraints) -> Result<(), Problem> {
        if self.terms.is_empty() || constraints.is_blank() {
            return Ok(());
        }
        let problem = "`terms` are not possible with `prefix`, `prefix_tokens` or `phrases`";
        Err(Problem::field("terms", problem))
    }

    /// The texts, and the constraints on their translations.
    ///
    /// # Errors
    /// A [`Problem`] for a prefix given as both text and tokens.
    fn take_texts(&mut self) -> Result<(Vec<String>, TranslationConstraints), Problem> {
        let prefix = match (self.prefix.take(), self.prefix_tokens.take()) {
            (Some(_), Some(_)) => {
                let problem = "give either `prefix` or `prefix_tokens`, not both";
                return Err(Problem::field("prefix_tokens", problem));
            }
            (Some(text), None) => Prefix::Text(text),
            (None, Some(tokens)) => Prefix::Tokens(tokens),
            (None, None) => Prefix::default(),
        };
        let phrases = std::mem::take(&mut self.phrases);
        let none = OneOrMany::Many(Vec::new());
        let (texts, _) = std::mem::replace(&mut self.text, none).into_texts();
        let constraints = TranslationConstraints { prefix, phrases };
        Ok((texts, constraints))
    }
}

/// The strings besides the texts, for the limits of the server.
fn strings<'a>(constraints: &'a TranslationConstraints, limits: &Limits) -> [Strings<'a>; 2] {
    let (field, prefix, most) = match &constraints.prefix {
        Prefix::Text(text) => ("prefix", std::slice::from_ref(text), 1),
        Prefix::Tokens(tokens) => ("prefix_tokens", &tokens[..], limits.tokens),
    };
    let prefix = Strings { field, strings: prefix, most };
    let phrases = Strings { field: "phrases", strings: &constraints.phrases, most: limits.phrases };
    [prefix, phrases]
}
