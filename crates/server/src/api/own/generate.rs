//! Continuations of a text.

use std::sync::Arc;

use attentive_config::Task;
use attentive_decode::SampleOptions;
use attentive_pipeline::service::{Client, Continuation, Service};
use attentive_pipeline::{GenerateOptions, Generation, GenerationAnswer, Prefix, Prompt};
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error;
use crate::api::reply;
use crate::http::body::json;
use crate::http::fields::{GenerationFields, SamplingFields};
use crate::http::sse::{self, EventEncoder, named};
use crate::http::visit::Visit;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::state::app::{SharedApp, Strings};
use crate::state::models::{ModelInstance, check_tokens};
use crate::work::answers::{Answers, Merge, lost};
use crate::work::thread_pool::StopFlag;

/// A text to continue.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Generate {
    /// The model; may be left out if only one here generates text.
    model: Option<String>,
    /// The text.
    prompt: Option<String>,
    /// The exact tokens to continue, spelled as in the vocabulary, instead of the text.
    prompt_tokens: Option<Vec<String>>,
    /// Maximum number of tokens of the continuation [default: 500].
    #[schema(minimum = 1)]
    max_new_tokens: Option<usize>,
    /// Strings before which the continuation ends.
    #[serde(default)]
    stop: Vec<String>,
    /// Whether to stream the text while it is generated.
    #[serde(default)]
    stream: bool,
    #[serde(flatten)]
    #[schema(inline)]
    sampling: SamplingFields,
}

/// A continuation.
#[derive(Serialize, utoipa::ToSchema)]
struct Continued {
    model: String,
    #[serde(flatten)]
    #[schema(value_type = GenerationFields, inline)]
    answer: GenerationAnswer,
}

/// Continues a text.
#[utoipa::path(post, path = "/api/generate", tag = "Attentive", request_body = Generate,
    responses((status = 200, description = "The continuation; with `stream`, server-sent events `prompt`, \
                                            `text`, `result` and `done`",
        body = Continued)))]
pub(super) async fn post_generate(
    State(app): State<SharedApp>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let mut asked: Generate = json(request, &app).await?;
    let generates = |model: &ModelInstance| model.task() == Task::Generate;
    let model = (app.models).choose(asked.model.as_deref(), "generate text", generates)?;
    let beginning = asked.beginning()?;
    let stop = Strings { field: "stop", strings: &asked.stop, most: app.config.limits.stop };
    match &beginning {
        Prefix::Text(text) => app.admit_with(&visit, "prompt", &[text], &[stop])?,
        Prefix::Tokens(tokens) => {
            app.admit_with(&visit, "prompt_tokens", &[tokens.concat()], &[stop])?;
        }
    }
    let options = asked.options(&app)?;
    let (reader, limits, stream) = (Arc::clone(&model), app.config.limits, asked.stream);
    let read = move |_: &StopFlag| {
        let prompt = read(&reader, &beginning, &limits)?;
        let first = stream.then(|| named("prompt", &json!({"text": prompt.text()})));
        Ok((prompt, first))
    };
    let (prompt, first) = app.pool.run(client, read).await?;
    let prompt = Arc::new(prompt);
    let mut answers = Answers::new(&model, Merge::Append);
    let texts = vec![Continuation { prompt: Arc::clone(&prompt), options }];
    answers.send(|service: &Service, reply| service.generate(client, texts, reply))?;
    if stream {
        let written = Written { app: Arc::clone(&app), client, model, prompt, first };
        return Ok(sse::response(app, visit, answers, 1, written));
    }
    let generation = answers.all(1).await?.pop().ok_or_else(lost)?;
    let write = move |_: &StopFlag| Ok(reply(&Continued::new(&model, &prompt, generation)));
    app.pool.run(client, write).await
}

/// Reads the prompt.
///
/// # Errors
/// A [`Problem`] for a text that the model cannot continue, and for too many tokens.
fn read(model: &ModelInstance, beginning: &Prefix, limits: &Limits) -> Result<Prompt, Problem> {
    let prompt = match beginning {
        Prefix::Text(text) => model.pipeline().prompt(text),
        Prefix::Tokens(tokens) => model.pipeline().prompt_tokens(tokens),
    };
    let prompt = prompt.map_err(|error| Problem::invalid(&error))?;
    check_tokens(model.service().tokens(&prompt), limits)?;
    Ok(prompt)
}

impl Continued {
    /// Creates the result. The time grows with the length of the texts.
    fn new(model: &ModelInstance, prompt: &Prompt, generation: Generation) -> Self {
        let answer = GenerationAnswer::new(model.pipeline(), prompt, generation);
        Self { model: model.name().to_owned(), answer }
    }
}

impl Generate {
    /// The prompt of the request, as a text or as tokens.
    fn beginning(&mut self) -> Result<Prefix, Problem> {
        match (self.prompt.take(), self.prompt_tokens.take()) {
            (Some(text), None) => Ok(Prefix::Text(text)),
            (None, Some(tokens)) => Ok(Prefix::Tokens(tokens)),
            (Some(_), Some(_)) => {
                let problem = "give either `prompt` or `prompt_tokens`, not both";
                Err(Problem::field("prompt_tokens", problem))
            }
            (None, None) => Err(Problem::field("prompt", "`prompt` is missing")),
        }
    }

    fn options(&mut self, app: &SharedApp) -> Result<GenerateOptions, Problem> {
        let most = app.config.limits.new_tokens;
        let defaults = SampleOptions::default();
        let new_tokens = self.max_new_tokens.unwrap_or(defaults.max_new_tokens.min(most));
        if new_tokens == 0 {
            return Err(Problem::field("max_new_tokens", "`max_new_tokens` is at least 1"));
        }
        if new_tokens > most {
            let problem = format!(
                "{new_tokens} new tokens requested; the server generates at most {most} for a request"
            );
            return Err(Problem::field("max_new_tokens", problem));
        }
        let sampling = self.sampling.0.apply(defaults.sampling);
        let options = GenerateOptions {
            sample: SampleOptions { sampling, number: 0, max_new_tokens: new_tokens },
            stop: std::mem::take(&mut self.stop).into(),
        };
        options.check().map_err(|error| Problem::invalid(&error))?;
        Ok(options)
    }
}

/// The events of a stream.
struct Written {
    app: SharedApp,
    client: Client,
    model: Arc<ModelInstance>,
    prompt: Arc<Prompt>,
    /// The event with the prompt.
    first: Option<Bytes>,
}

impl EventEncoder<Generation> for Written {
    fn begin(&mut self) -> Vec<Bytes> {
        self.first.take().into_iter().collect()
    }

    fn text(&mut self, _: usize, text: String) -> Vec<Bytes> {
        vec![named("text", &json!({"piece": text}))]
    }

    async fn result(&mut self, _: usize, result: Generation) -> Result<Vec<Bytes>, Problem> {
        let (model, prompt) = (Arc::clone(&self.model), Arc::clone(&self.prompt));
        let write = move |_: &StopFlag| {
            let result = Continued::new(&model, &prompt, result);
            Ok(vec![named("result", &result)])
        };
        self.app.pool.run(self.client, write).await
    }

    fn end(&mut self) -> Vec<Bytes> {
        vec![named("done", &json!({}))]
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        vec![named("error", &error(problem))]
    }
}
