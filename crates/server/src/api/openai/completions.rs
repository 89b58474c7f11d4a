//! Continuations of texts.

use std::iter;
use std::sync::Arc;

use attentive_config::Task;
use attentive_decode::Ending;
use attentive_pipeline::service::{Client, Continuation, Service};
use attentive_pipeline::{GenerateOptions, Generation, Prompt};
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::metadata::{ResponseMetadata, Usage};
use super::neutral;
use super::options;
use super::request::request;
use super::stream::Chunks;
use super::texts::texts_or_null;
use crate::api::{OneOrMany, reply, warned};
use crate::http::body::json;
use crate::http::sse;
use crate::http::visit::Visit;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::models::{ModelInstance, check_tokens};
use crate::work::answers::{Answers, Merge};
use crate::work::thread_pool::StopFlag;

request! {
    /// Texts to continue.
    struct Complete {
        /// The model; may be left out if only one here generates text.
        model: Option<String>,
        /// The text, or texts.
        #[serde(default, deserialize_with = "texts_or_null")]
        prompt: Option<OneOrMany>,
        /// Maximum number of tokens of a continuation [default: 16].
        max_tokens: Option<usize>,
        /// Up to four strings before which a continuation ends.
        stop: Option<OneOrMany>,
        /// Whether to return the text before its continuation.
        echo: Option<bool>,
        /// Only 1, or the same value as `n`: no choice among more continuations is made.
        best_of: Option<usize>,
        /// Only `null`.
        #[serde(default, deserialize_with = "neutral::null")]
        #[schema(value_type = Option<f64>)]
        logprobs: (),
        /// Only an empty text.
        #[serde(default, deserialize_with = "neutral::empty_text")]
        #[schema(value_type = Option<String>)]
        suffix: (),
    }
}

/// A text to continue, and the part of it that has been read.
pub(super) struct EncodedPrompt {
    prompt: Arc<Prompt>,
    pub(super) tokens: usize,
}

impl EncodedPrompt {
    fn text(&self) -> &str {
        self.prompt.text()
    }
}

/// A request whose texts have been read.
struct CompletionJob {
    metadata: ResponseMetadata,
    prompts: Vec<EncodedPrompt>,
    /// The number of continuations of each text.
    copies: usize,
    /// True if the text comes before its continuation.
    echo: bool,
}

impl CompletionJob {
    /// Counts the tokens of the texts.
    fn usage(&self) -> Usage {
        Usage { prompt: self.prompts.iter().map(|one| one.tokens).sum(), completion: 0 }
    }

    /// The text before each continuation.
    fn beginnings(&self) -> impl Iterator<Item = &str> {
        let beginning = |one| if self.echo { EncodedPrompt::text(one) } else { "" };
        let texts = self.prompts.iter().map(beginning);
        texts.flat_map(|text| iter::repeat_n(text, self.copies))
    }

    /// The first events of a stream: the texts before the continuations. The time grows with their length.
    ///
    /// # Errors
    /// A [`Problem`] if the result is no longer needed.
    fn echoes(&self, with_usage: bool, stop: &StopFlag) -> Result<Vec<Bytes>, Problem> {
        let beginnings = self.beginnings().enumerate();
        let echoes = beginnings.filter(|(_, text)| !text.is_empty());
        let echoes = echoes.map(|(index, text)| {
            stop.check()?;
            Ok(self.metadata.chunk(choice(index, text, None), with_usage))
        });
        echoes.collect()
    }

    /// The response to a request without a stream. The time grows with its length.
    fn whole(&self, results: &[Generation], usage: Usage) -> Value {
        let numbered = self.beginnings().zip(results).enumerate();
        let choices = numbered.map(|(index, (beginning, generation))| {
            let text = format!("{beginning}{}", generation.text);
            choice(index, &text, Some(generation.ending))
        });
        self.metadata.answer(choices.collect(), usage.with(results))
    }
}

/// Continues texts.
#[utoipa::path(post, path = "/v1/completions", tag = "OpenAI", request_body = Complete,
    responses((status = 200, description = "`choices`, or with `stream` server-sent events")))]
pub(super) async fn complete(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let mut asked: Complete = json(request, &app).await?;
    let with_usage = options::with_usage(asked.stream, asked.stream_options)?;
    let generates = |model: &ModelInstance| model.task() == Task::Generate;
    let model = (app.models).choose(asked.model.as_deref(), "generate text", generates)?;
    let (texts, _) = match asked.prompt.take() {
        Some(prompt) => prompt.into_texts(),
        None => (vec![String::new()], false),
    };
    let stop = asked.stop.take().map(|stop| stop.into_texts().0);
    let stop = stop.unwrap_or_default();
    let stops = options::stops(&stop, &app.config.limits);
    app.admit_with(&visit, "prompt", &texts, &[stops])?;
    let copies = asked.n.unwrap_or(1);
    if (asked.best_of).is_some_and(|of| of != 1 && of != copies) {
        let problem = "`best_of` is not supported, unless it is 1 or as many as `n`";
        return Err(Problem::field("best_of", problem));
    }
    let options = asked.completion_options("max_tokens", asked.max_tokens.unwrap_or(16));
    let options = options.generate_options(&app, texts.len(), stop)?;
    let reader = Arc::clone(&model);
    let limits = app.config.limits;
    let read = move |stop: &StopFlag| read(&reader, &texts, &limits, stop);
    let prompts = app.pool.run(client, read).await?;
    let warnings = warnings(&prompts);
    let answers = send(&model, client, &prompts, &options, copies)?;
    let jobs = prompts.len() * copies;
    let is_stream = asked.stream == Some(true);
    let asked = CompletionJob {
        metadata: ResponseMetadata::of(&model, "cmpl", "text_completion"),
        prompts,
        copies,
        echo: asked.echo == Some(true),
    };
    let usage = asked.usage();
    if is_stream {
        let metadata = asked.metadata.clone();
        let write = move |stop: &StopFlag| asked.echoes(with_usage, stop);
        let echoes = app.pool.run(client, write).await?;
        let chunks = Chunks::new(metadata, echoes, usage, with_usage);
        return Ok(warned(sse::response(app, visit, answers, jobs, chunks), &warnings));
    }
    let results = answers.all(jobs).await?;
    let write = move |_: &StopFlag| Ok(warned(reply(&asked.whole(&results, usage)), &warnings));
    app.pool.run(client, write).await
}

/// Reads the texts.
///
/// # Errors
/// A [`Problem`] for a text that the model cannot continue, for too many tokens, and if the result is no
/// longer needed.
pub(super) fn read(
    model: &ModelInstance,
    texts: &[String],
    limits: &Limits,
    stop: &StopFlag,
) -> Result<Vec<EncodedPrompt>, Problem> {
    let invalid = |error: attentive_base::Error| Problem {
        field: Some("prompt".to_owned()),
        ..Problem::invalid(&error)
    };
    let mut sum = 0;
    let texts = texts.iter().map(|text| {
        stop.check()?;
        let prompt = model.pipeline().prompt(text).map_err(invalid)?;
        let tokens = model.service().tokens(&prompt);
        sum += tokens;
        check_tokens(sum, limits)?;
        let prompt = Arc::new(prompt);
        Ok(EncodedPrompt { prompt, tokens })
    });
    texts.collect()
}

/// The warnings about texts to continue.
pub(super) fn warnings(prompts: &[EncodedPrompt]) -> Vec<String> {
    let warnings = prompts.iter().flat_map(|one| one.prompt.warnings());
    warnings.map(|warning| warning.problem.clone()).collect()
}

/// Requests `copies` continuations of each text from `model`; they are numbered one after another.
pub(super) fn send(
    model: &Arc<ModelInstance>,
    client: Client,
    prompts: &[EncodedPrompt],
    options: &GenerateOptions,
    copies: usize,
) -> Result<Answers<Generation>, Problem> {
    let copy = |one: &EncodedPrompt, number: usize| {
        let mut options = options.clone();
        options.sample.number = number as u64;
        let prompt = Arc::clone(&one.prompt);
        Continuation { prompt, options }
    };
    let texts = prompts.iter();
    let texts = texts.flat_map(|one| (0..copies).map(move |number| copy(one, number)));
    let texts = texts.collect();
    let mut answers = Answers::new(model, Merge::Append);
    answers.send(|service: &Service, reply| service.generate(client, texts, reply))?;
    Ok(answers)
}

/// A continuation, or a piece of one, for which `ending` is `None`.
pub(super) fn choice(index: usize, text: &str, ending: Option<Ending>) -> Value {
    let reason = ending.map(reason);
    json!({"text": text, "index": index, "logprobs": null, "finish_reason": reason})
}

/// The reason why a text ended, in OpenAI's terms.
pub(super) fn reason(ending: Ending) -> &'static str {
    match ending {
        Ending::EndOfText | Ending::Stopped => "stop",
        Ending::MaxNewTokens | Ending::ContextFull => "length",
    }
}
