//! Continuations of a text.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{error, told};
use crate::config::Task;
use crate::decode::{Ending, SampleOptions, Sampling};
use crate::pipeline::service::Service;
use crate::pipeline::{GenerateOptions, Generation, Prefix};
use crate::server::answers::{Answers, Merge, lost};
use crate::server::api::reply;
use crate::server::app::{Shared, Strings};
use crate::server::body::json;
use crate::server::desk::Stop;
use crate::server::models::Model;
use crate::server::problem::Problem;
use crate::server::sse::{self, Telling, named};
use crate::server::visit::Visit;

/// A text to continue.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Generate {
    /// The model; may be left out if only one here generates text.
    model: Option<String>,
    /// The text.
    prompt: Option<String>,
    /// The exact tokens to continue, as the vocabulary spells them, in place of the text.
    prompt_tokens: Option<Vec<String>>,
    /// Divisor of the logits; 0 always takes the likeliest token [default: 0.8].
    temperature: Option<f64>,
    /// Number of likeliest tokens to draw from [default: all].
    top_k: Option<usize>,
    /// Share of the probability of tokens to draw from [default: 1].
    top_p: Option<f64>,
    /// The same seed gives the same text [default: 0].
    seed: Option<u64>,
    /// Most tokens of the continuation [default: 500].
    max_new_tokens: Option<usize>,
    /// Strings before which the continuation ends.
    #[serde(default)]
    stop: Vec<String>,
    /// Whether to send the text as it is written.
    #[serde(default)]
    stream: bool,
}

/// A continuation.
#[derive(Serialize, utoipa::ToSchema)]
struct Continued {
    model: String,
    /// The text that is continued, as the model reads it.
    prompt: String,
    /// The text after the prompt.
    text: String,
    /// Its tokens, as the vocabulary spells them.
    tokens: Vec<String>,
    /// `end_of_text`, `stopped`, `max_new_tokens` or `context_full`.
    #[schema(value_type = String)]
    ending: Ending,
    /// What could not be read.
    warnings: Vec<String>,
}

/// Continues a text.
#[utoipa::path(post, path = "/api/generate", tag = "Attentive", request_body = Generate,
    responses((status = 200, description = "The continuation; with `stream`, server-sent events `prompt`, `text`, `result` and `done`",
        body = Continued)))]
pub(super) async fn post_generate(
    State(app): State<Shared>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let mut asked: Generate = json(request, &app).await?;
    let generates = |model: &Model| model.task() == Task::Generate;
    let model = (app.models).choose(asked.model.as_deref(), "generate text", generates)?;
    let begun = asked.begun()?;
    let stop = Strings {
        field: "stop",
        strings: &asked.stop,
        most: app.config.limits.stop,
    };
    match &begun {
        Prefix::Text(text) => app.admit_with(&visit, "prompt", &[text], &[stop])?,
        Prefix::Tokens(tokens) => {
            app.admit_with(&visit, "prompt_tokens", &[tokens.concat()], &[stop])?;
        }
    }
    let options = asked.options(&app)?;
    let reader = Arc::clone(&model);
    let read = move |_: &Stop| {
        let prompt = match &begun {
            Prefix::Text(text) => reader.pipeline().prompt(text),
            Prefix::Tokens(tokens) => reader.pipeline().prompt_tokens(tokens),
        };
        prompt.map_err(|error| Problem::invalid(&error))
    };
    let prompt = app.desk.ask(client, read).await?;
    let written = Written {
        model: Arc::clone(&model),
        prompt: prompt.text().to_owned(),
        warnings: told(prompt.warnings()),
    };
    let mut answers = Answers::new(&model, Merge::Append);
    answers.send(0, |service: &Service, reply| {
        service.generate(client, Arc::new(prompt), options, reply)
    })?;
    if asked.stream {
        return Ok(sse::response(app, visit, answers, 1, written));
    }
    let generation = answers.all(1).await?.pop().ok_or_else(lost)?;
    Ok(reply(&written.result(generation)))
}

impl Generate {
    /// What is continued.
    fn begun(&mut self) -> Result<Prefix, Problem> {
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

    fn options(&mut self, app: &Shared) -> Result<GenerateOptions, Problem> {
        let most = app.config.limits.new_tokens;
        let defaults = SampleOptions::default();
        let new_tokens = self
            .max_new_tokens
            .unwrap_or(defaults.max_new_tokens.min(most));
        if new_tokens > most {
            let problem = format!("{new_tokens} tokens; the server generates {most} for a request");
            return Err(Problem::field("max_new_tokens", problem));
        }
        let sampling = Sampling {
            temperature: self.temperature.unwrap_or(defaults.sampling.temperature),
            top_k: self.top_k.unwrap_or(defaults.sampling.top_k),
            top_p: self.top_p.unwrap_or(defaults.sampling.top_p),
            seed: self.seed.unwrap_or(defaults.sampling.seed),
        };
        let options = GenerateOptions {
            sample: SampleOptions {
                sampling,
                number: 0,
                max_new_tokens: new_tokens,
            },
            stop: std::mem::take(&mut self.stop).into(),
        };
        options.check().map_err(|error| Problem::invalid(&error))?;
        Ok(options)
    }
}

/// What is known of a continuation before it is written.
struct Written {
    model: Arc<Model>,
    prompt: String,
    warnings: Vec<String>,
}

impl Written {
    fn result(&self, generation: Generation) -> Continued {
        let tokenizer = self.model.pipeline().tokenizers().tgt();
        Continued {
            model: self.model.name().to_owned(),
            prompt: self.prompt.clone(),
            text: generation.text,
            tokens: tokenizer.spelled(&generation.tokens),
            ending: generation.ending,
            warnings: self.warnings.clone(),
        }
    }
}

impl Telling<Generation> for Written {
    fn begin(&mut self) -> Vec<Bytes> {
        vec![named("prompt", &json!({"text": self.prompt}))]
    }

    fn text(&mut self, _: usize, text: String) -> Vec<Bytes> {
        vec![named("text", &json!({"piece": text}))]
    }

    async fn result(&mut self, _: usize, result: Generation) -> Result<Vec<Bytes>, Problem> {
        Ok(vec![named("result", &Written::result(self, result))])
    }

    fn end(&mut self) -> Vec<Bytes> {
        vec![named("done", &json!({}))]
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        vec![named("error", &error(problem))]
    }
}
