//! Translations with everything that is known of them.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{error, told};
use crate::config::Task;
use crate::decode::{Sampling, SearchOptions};
use crate::pipeline::service::{Client, Service};
use crate::pipeline::{self, Alignment, Candidate, Demands, Pipeline, Prefix, Translation};
use crate::server::answers::{Answers, Merge, compute, grouped};
use crate::server::api::{OneOrMany, reply};
use crate::server::app::{Shared, Strings};
use crate::server::body::json;
use crate::server::desk::Stop;
use crate::server::limits::Limits;
use crate::server::models::Model;
use crate::server::problem::Problem;
use crate::server::sse::{self, Telling, named};
use crate::server::visit::Visit;

/// Texts to translate, each as one line.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Translate {
    /// The model; may be left out if only one here translates.
    model: Option<String>,
    /// The text, or texts.
    text: OneOrMany,
    /// Hypotheses kept at each decoding step; 1 is greedy search [default: the model's].
    beam_width: Option<usize>,
    /// Number of translations of each text [default: 1].
    n_best: Option<usize>,
    /// The beginning of the translations.
    prefix: Option<String>,
    /// The beginning of the translations as tokens of the target vocabulary.
    prefix_tokens: Option<Vec<String>>,
    /// Phrases that each translation must contain.
    #[serde(default)]
    phrases: Vec<String>,
    /// Draws translations at random instead of looking for the likeliest.
    sampling: Option<Draw>,
    /// Most tokens of a translation [default: the model's limit].
    max_new_tokens: Option<usize>,
    /// Whether to tell which words belong together.
    #[serde(default)]
    alignments: bool,
    /// Whether to send translations as they are written.
    #[serde(default)]
    stream: bool,
}

/// How tokens are drawn.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Draw {
    /// Divisor of the logits [default: 1].
    temperature: Option<f64>,
    /// Number of likeliest tokens to draw from [default: all].
    top_k: Option<usize>,
    /// Share of the probability of tokens to draw from [default: 1].
    top_p: Option<f64>,
    /// The same seed gives the same translations [default: 0].
    seed: Option<u64>,
}

impl From<Draw> for Sampling {
    fn from(draw: Draw) -> Self {
        let defaults = Self::default();
        Self {
            temperature: draw.temperature.unwrap_or(defaults.temperature),
            top_k: draw.top_k.unwrap_or(defaults.top_k),
            top_p: draw.top_p.unwrap_or(defaults.top_p),
            seed: draw.seed.unwrap_or(defaults.seed),
        }
    }
}

/// The response.
#[derive(Serialize)]
struct Results<'a> {
    model: &'a str,
    /// One for each text.
    results: Vec<Found>,
}

/// The translations of a text.
#[derive(Serialize, utoipa::ToSchema)]
struct Found {
    /// Best first, or in the order in which they were drawn.
    translations: Vec<OneFound>,
    /// What could not be read or met.
    warnings: Vec<String>,
}

/// A translation.
#[derive(Serialize, utoipa::ToSchema)]
struct OneFound {
    text: String,
    /// The log-probability after the length penalty.
    score: f64,
    log_prob: f64,
    /// Whether it was not cut off at the length limit.
    finished: bool,
    tokens: Vec<Token>,
    /// Pairs of a word of the text and a word of the translation, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<[usize; 2]>>)]
    alignment: Option<Vec<(usize, usize)>>,
}

/// A token of a translation.
#[derive(Serialize, utoipa::ToSchema)]
struct Token {
    token: String,
    log_prob: f32,
}

/// Translates texts.
#[utoipa::path(post, path = "/api/translate", tag = "Attentive", request_body = Translate,
    responses((status = 200, description = "`model` and `results`, one for each text; with `stream`, server-sent events `text`, \
        `result` and `done`", body = [Found])))]
pub(super) async fn post_translate(
    State(app): State<Shared>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let mut asked: Translate = json(request, &app.config.limits).await?;
    let translates = |model: &Model| model.task() == Task::Translate;
    let model = (app.models).choose(asked.model.as_deref(), "translate", translates)?;
    let options = asked.options(&app, model.pipeline())?;
    let (texts, demands) = asked.take_texts()?;
    app.admit_with(
        &visit,
        "text",
        &texts,
        &strings(&demands, &app.config.limits),
    )?;
    let reader = Arc::clone(&model);
    let read = move |_: &Stop| {
        let requests = requests(&texts, demands);
        let sentences = reader.service().read(&requests, &options);
        let sentences = sentences.map_err(|error| Problem::invalid(&error))?;
        Ok((texts, sentences))
    };
    let (texts, sentences) = app.desk.ask(client, read).await?;
    let mut answers = Answers::new(&model, Merge::Replace);
    let send = |service: &Service, reply| service.translate(client, sentences, asked.stream, reply);
    answers.send(0, send)?;
    let alignments = asked.alignments.then_some(client);
    if asked.stream {
        let jobs = texts.len();
        let events = Events {
            model,
            texts,
            alignments,
        };
        return Ok(sse::response(app, visit, answers, jobs, events));
    }
    let found = answers.all(texts.len()).await?;
    let aligned = aligned(&model, texts, found, alignments).await?;
    let write = move |_: &Stop| {
        let pipeline = model.pipeline();
        let results = aligned.into_iter().map(|one| describe(pipeline, one));
        let results = Results {
            model: model.name(),
            results: results.collect(),
        };
        Ok(reply(&results))
    };
    app.desk.ask(client, write).await
}

impl Translate {
    fn options(&self, app: &Shared, pipeline: &Pipeline) -> Result<SearchOptions, Problem> {
        let limits = app.config.limits;
        let defaults = SearchOptions::from(&pipeline.config().decode);
        let options = SearchOptions {
            beam_width: self.beam_width.unwrap_or(defaults.beam_width),
            n_best: self.n_best.unwrap_or(1),
            max_new_tokens: self.max_new_tokens.unwrap_or(defaults.max_new_tokens),
            sampling: self.sampling.map(Sampling::from),
            ..defaults
        };
        if options.n_best > 1 + limits.alternatives {
            let most = 1 + limits.alternatives;
            let problem = format!(
                "{} translations of a text; the server allows {most}",
                options.n_best
            );
            return Err(Problem::field("n_best", problem));
        }
        // The model's own search may be wider.
        let widest = limits.beam_width.max(defaults.beam_width);
        if options.beam_width > widest {
            let problem = format!(
                "a beam width of {}; the server allows {widest}",
                options.beam_width
            );
            return Err(Problem::field("beam_width", problem));
        }
        if options.max_new_tokens == 0 {
            return Err(Problem::field(
                "max_new_tokens",
                "translations need at least 1 token",
            ));
        }
        options.check().map_err(|error| Problem::invalid(&error))?;
        if self.alignments {
            // Refuses a model without attention before anything is translated.
            pipeline
                .align::<&str>(&[])
                .map_err(|error| Problem::invalid(&error))?;
        }
        Ok(options)
    }

    /// The texts, and what all of their translations must contain.
    ///
    /// # Errors
    /// A [`Problem`] for a prefix in two forms.
    fn take_texts(&mut self) -> Result<(Vec<String>, Demands), Problem> {
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
        Ok((texts, Demands { prefix, phrases }))
    }
}

/// What is counted beside the texts.
fn strings<'a>(demands: &'a Demands, limits: &Limits) -> [Strings<'a>; 2] {
    let (field, prefix, most) = match &demands.prefix {
        Prefix::Text(text) => ("prefix", std::slice::from_ref(text), 1),
        Prefix::Tokens(tokens) => ("prefix_tokens", &tokens[..], limits.tokens),
    };
    let prefix = Strings {
        field,
        strings: prefix,
        most,
    };
    let phrases = Strings {
        field: "phrases",
        strings: &demands.phrases,
        most: limits.phrases,
    };
    [prefix, phrases]
}

/// The texts, all of which share the demands.
fn requests(texts: &[String], demands: Demands) -> Vec<pipeline::Request> {
    let demands = Arc::new(demands);
    let request = |src: &String| pipeline::Request {
        src: src.clone(),
        demands: Arc::clone(&demands),
    };
    texts.iter().map(request).collect()
}

/// Translations, and an alignment for each hypothesis of those that are aligned.
type Aligned = (Translation, Vec<Alignment>);

/// Translations of `texts`, with alignments for the client who wants them.
async fn aligned(
    model: &Arc<Model>,
    texts: Vec<String>,
    found: Vec<Translation>,
    alignments: Option<Client>,
) -> Result<Vec<Aligned>, Problem> {
    let Some(client) = alignments else {
        return Ok(found.into_iter().map(|one| (one, Vec::new())).collect());
    };
    let positions = |(_, found): &(String, Translation)| {
        let lens = found.hypotheses.iter().map(|one| one.tokens.len());
        2 * lens.sum::<usize>()
    };
    let align = |pipeline: &Pipeline, (text, found): (String, Translation)| {
        let tokens = found.hypotheses.iter().map(|one| &one.tokens[..]);
        let pairs: Vec<_> = tokens.map(|tokens| (&text, tokens)).collect();
        let alignments = pipeline.align(&pairs)?;
        Ok((found, alignments))
    };
    let pairs = texts.into_iter().zip(found);
    let chunks = grouped(pairs, positions, |group| {
        move |pipeline: &Pipeline| group.into_iter().map(|one| align(pipeline, one)).collect()
    });
    let aligned: Vec<Vec<_>> = compute(model, client, chunks).await?;
    Ok(aligned.into_iter().flatten().collect())
}

fn describe(pipeline: &Pipeline, (translation, alignments): Aligned) -> Found {
    let mut alignments = alignments.into_iter();
    Found {
        warnings: told(&translation.warnings),
        translations: (translation.hypotheses.into_iter())
            .map(|candidate| one(pipeline, candidate, alignments.next()))
            .collect(),
    }
}

fn one(pipeline: &Pipeline, candidate: Candidate, alignment: Option<Alignment>) -> OneFound {
    let spelled = pipeline.tokenizers().tgt().spelled(&candidate.tokens);
    let tokens = spelled.into_iter().zip(candidate.token_log_probs);
    OneFound {
        // A blank text cannot be cut off.
        finished: candidate.finished || candidate.tokens.is_empty(),
        text: candidate.text,
        score: candidate.score,
        log_prob: candidate.log_prob,
        tokens: tokens
            .map(|(token, log_prob)| Token { token, log_prob })
            .collect(),
        alignment: alignment.map(|Alignment(pairs)| pairs),
    }
}

/// The events of a stream.
struct Events {
    model: Arc<Model>,
    texts: Vec<String>,
    alignments: Option<Client>,
}

impl Telling<Translation> for Events {
    fn text(&mut self, number: usize, text: String) -> Vec<Bytes> {
        vec![named("text", &json!({"index": number, "text": text}))]
    }

    async fn result(&mut self, number: usize, result: Translation) -> Result<Vec<Bytes>, Problem> {
        let text = self.texts.get(number).cloned().unwrap_or_default();
        let aligned = aligned(&self.model, vec![text], vec![result], self.alignments).await?;
        let pipeline = self.model.pipeline();
        let events = aligned.into_iter().map(|one| {
            let Found {
                translations,
                warnings,
            } = describe(pipeline, one);
            let event =
                json!({"index": number, "translations": translations, "warnings": warnings});
            named("result", &event)
        });
        Ok(events.collect())
    }

    fn end(&mut self) -> Vec<Bytes> {
        vec![named("done", &json!({}))]
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        vec![named("error", &error(problem))]
    }
}
