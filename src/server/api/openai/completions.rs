//! Continuations of texts.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::stream::Chunks;
use super::unix;
use crate::config::Task;
use crate::decode::{Ending, SampleOptions, Sampling};
use crate::pipeline::service::{Client, Service};
use crate::pipeline::{GenerateOptions, Generation, Prompt};
use crate::server::answers::{Answers, Merge};
use crate::server::api::{OneOrMany, reply};
use crate::server::app::{Shared, Strings};
use crate::server::body::json;
use crate::server::desk::Stop;
use crate::server::models::Model;
use crate::server::problem::Problem;
use crate::server::sse;
use crate::server::visit::Visit;

/// The most strings before which a continuation ends.
pub(super) const MOST_STOPS: usize = 4;

/// Texts to continue.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Complete {
    /// The model; may be left out if only one here generates text.
    model: Option<String>,
    /// The text, or texts.
    #[serde(default)]
    prompt: Option<OneOrMany>,
    /// Most tokens of a continuation [default: 16].
    max_tokens: Option<usize>,
    /// Divisor of the logits; 0 always takes the likeliest token [default: 1].
    temperature: Option<f64>,
    /// Share of the probability of tokens to draw from [default: 1].
    top_p: Option<f64>,
    /// The same seed gives the same texts [default: a random one].
    seed: Option<i64>,
    /// Continuations of each text [default: 1].
    n: Option<usize>,
    /// Up to four strings before which a continuation ends.
    stop: Option<OneOrMany>,
    /// Whether the text comes before its continuation.
    echo: Option<bool>,
    /// Whether to send the text as it is written.
    stream: Option<bool>,
    /// Options of a stream.
    stream_options: Option<StreamOptions>,
    /// Ignored.
    #[allow(dead_code, reason = "clients send it")]
    user: Option<String>,
    /// Only 1.
    #[schema(value_type = Option<f64>)]
    best_of: Option<Value>,
    /// Only 0.
    #[schema(value_type = Option<f64>)]
    frequency_penalty: Option<Value>,
    /// Only 0.
    #[schema(value_type = Option<f64>)]
    presence_penalty: Option<Value>,
    /// Only an empty object.
    #[schema(value_type = Option<Object>)]
    logit_bias: Option<Value>,
    /// Only `null`.
    #[schema(value_type = Option<f64>)]
    logprobs: Option<Value>,
    /// Only an empty text.
    #[schema(value_type = Option<String>)]
    suffix: Option<Value>,
}

/// Options of a stream.
#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamOptions {
    /// Whether the last event counts tokens.
    pub(super) include_usage: Option<bool>,
    /// Ignored.
    #[allow(dead_code, reason = "clients send it")]
    include_obfuscation: Option<bool>,
}

/// What belongs to all parts of a response.
#[derive(Clone)]
pub(super) struct Head {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
}

impl Head {
    fn new(model: &Model) -> Self {
        Self::of(model, "cmpl", "text_completion")
    }

    /// The head of responses that are called `object`, whose identifiers begin with `prefix`.
    pub(super) fn of(model: &Model, prefix: &str, object: &'static str) -> Self {
        Self {
            id: format!("{prefix}-{:016x}", random()),
            object,
            created: unix(SystemTime::now()),
            model: model.name().to_owned(),
        }
    }

    /// An object with these `choices`.
    pub(super) fn object(&self, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": self.object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

/// A text to continue, and what has been read of it.
pub(super) struct Begun {
    prompt: Arc<Prompt>,
    pub(super) tokens: usize,
}

/// The numbers of tokens in a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) prompt: usize,
    pub(super) completion: usize,
}

impl Usage {
    pub(super) fn json(self) -> Value {
        let Self { prompt, completion } = self;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        })
    }
}

/// Continues texts.
#[utoipa::path(post, path = "/v1/completions", tag = "OpenAI", request_body = Complete,
    responses((status = 200, description = "`choices`, or with `stream` server-sent events")))]
pub(super) async fn complete(
    State(app): State<Shared>,
    request: Request,
) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let mut asked: Complete = json(request, &app).await?;
    asked.check()?;
    let generates = |model: &Model| model.task() == Task::Generate;
    let model = (app.models).choose(asked.model.as_deref(), "generate text", generates)?;
    let (texts, _) = match asked.prompt.take() {
        Some(prompt) => prompt.into_texts(),
        None => (vec![String::new()], false),
    };
    let stop = asked.stop.take().map(|stop| stop.into_texts().0);
    let stop = stop.unwrap_or_default();
    if stop.len() > MOST_STOPS {
        let problem = format!("`stop` has at most {MOST_STOPS} strings");
        return Err(Problem::field("stop", problem));
    }
    let strings = Strings {
        field: "stop",
        strings: &stop,
        most: MOST_STOPS,
    };
    app.admit_with(&visit, "prompt", &texts, &[strings])?;
    let copies = asked.n.unwrap_or(1);
    let options = asked.options(&app, texts.len(), stop)?;
    let reader = Arc::clone(&model);
    let read = move |stop: &Stop| read(&reader, &texts, stop);
    let begun = app.desk.ask(client, read).await?;
    let usage = Usage {
        prompt: begun.iter().map(|one| one.tokens).sum(),
        completion: 0,
    };
    let echoed = |one: &Begun| match asked.echo {
        Some(true) => one.prompt.text().to_owned(),
        _ => String::new(),
    };
    let copied = begun.iter().flat_map(|one| vec![echoed(one); copies]);
    let beginnings: Vec<String> = copied.collect();
    let answers = send(&model, client, &begun, &options, copies)?;
    let head = Head::new(&model);
    let jobs = beginnings.len();
    if asked.stream == Some(true) {
        let with_usage = asked
            .stream_options
            .and_then(|options| options.include_usage);
        let chunks = Chunks::new(head, beginnings, usage, with_usage == Some(true));
        return Ok(sse::response(app, visit, answers, jobs, chunks));
    }
    let results = answers.all(jobs).await?;
    let write = move |_: &Stop| Ok(reply(&whole(&head, beginnings, &results, usage)));
    app.desk.ask(client, write).await
}

impl Complete {
    /// Refuses what models here cannot do.
    fn check(&self) -> Result<(), Problem> {
        let other = |value: &Option<Value>, default: f64| {
            value
                .as_ref()
                .is_some_and(|value| value.as_f64() != Some(default))
        };
        let full = |value: &Option<Value>| {
            value
                .as_ref()
                .is_some_and(|value| *value != json!({}) && *value != json!(""))
        };
        let unsupported = [
            ("best_of", other(&self.best_of, 1.0)),
            ("frequency_penalty", other(&self.frequency_penalty, 0.0)),
            ("presence_penalty", other(&self.presence_penalty, 0.0)),
            ("logit_bias", full(&self.logit_bias)),
            ("logprobs", self.logprobs.is_some()),
            ("suffix", full(&self.suffix)),
        ];
        if let Some((field, _)) = unsupported.iter().find(|(_, is_used)| *is_used) {
            return Err(Problem::field(field, format!("`{field}` is not supported")));
        }
        if self.stream_options.is_some() && self.stream != Some(true) {
            let problem = "`stream_options` needs `stream`";
            return Err(Problem::field("stream_options", problem));
        }
        Ok(())
    }

    /// How each of `texts` texts is continued, apart from the number of the sample.
    fn options(
        &self,
        app: &Shared,
        texts: usize,
        stop: Vec<String>,
    ) -> Result<GenerateOptions, Problem> {
        let wish = Wish {
            copies: self.n,
            new_tokens: self.max_tokens.unwrap_or(16),
            temperature: self.temperature,
            top_p: self.top_p,
            seed: self.seed,
        };
        wish.options(app, texts, stop)
    }
}

/// How texts are to be continued.
pub(super) struct Wish {
    pub(super) copies: Option<usize>,
    pub(super) new_tokens: usize,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) seed: Option<i64>,
}

impl Wish {
    /// How each of `texts` texts is continued, apart from the number of the sample.
    ///
    /// # Errors
    /// A [`Problem`] for values that make no sense or are more than the server allows.
    pub(super) fn options(
        &self,
        app: &Shared,
        texts: usize,
        stop: Vec<String>,
    ) -> Result<GenerateOptions, Problem> {
        let limits = app.config.limits;
        let copies = self.copies.unwrap_or(1);
        if !(1..=limits.alternatives).contains(&copies) {
            let problem = format!("`n` is between 1 and {}", limits.alternatives);
            return Err(Problem::field("n", problem));
        }
        let new_tokens = self.new_tokens;
        let all = new_tokens.saturating_mul(copies).saturating_mul(texts);
        if all > limits.new_tokens {
            let most = limits.new_tokens;
            let problem = format!("{all} tokens in all; the server generates {most} for a request");
            return Err(Problem::field("max_tokens", problem));
        }
        let options = GenerateOptions {
            sample: SampleOptions {
                sampling: self.sampling(),
                number: 0,
                max_new_tokens: new_tokens,
            },
            stop: stop.into(),
        };
        options.check().map_err(|error| Problem::invalid(&error))?;
        Ok(options)
    }

    /// How tokens are drawn.
    pub(super) fn sampling(&self) -> Sampling {
        Sampling {
            temperature: self.temperature.unwrap_or(1.0),
            top_p: self.top_p.unwrap_or(1.0),
            seed: self.seed.map_or_else(random, i64::cast_unsigned),
            ..Sampling::default()
        }
    }
}

/// Reads the texts.
pub(super) fn read(model: &Model, texts: &[String], stop: &Stop) -> Result<Vec<Begun>, Problem> {
    let pipeline = model.pipeline();
    let read = |text: &String| {
        Ok(Begun {
            prompt: Arc::new(pipeline.prompt(text)?),
            tokens: pipeline.tokenizers().tgt().encode(text)?.len(),
        })
    };
    let invalid = |error: crate::Error| Problem {
        field: Some("prompt".to_owned()),
        ..Problem::invalid(&error)
    };
    let texts = texts.iter().map(|text| {
        stop.check()?;
        read(text).map_err(invalid)
    });
    texts.collect()
}

/// Asks `model` for `copies` continuations of each text; they are numbered one after another.
pub(super) fn send(
    model: &Arc<Model>,
    client: Client,
    begun: &[Begun],
    options: &GenerateOptions,
    copies: usize,
) -> Result<Answers<Generation>, Problem> {
    let mut answers = Answers::new(model, Merge::Append);
    for (number, one) in begun.iter().enumerate() {
        for copy in 0..copies {
            let mut options = options.clone();
            options.sample.number = copy as u64;
            let prompt = Arc::clone(&one.prompt);
            answers.send(number * copies + copy, |service: &Service, reply| {
                service.generate(client, prompt, options, reply)
            })?;
        }
    }
    Ok(answers)
}

/// The response to a request without a stream.
fn whole(head: &Head, beginnings: Vec<String>, results: &[Generation], usage: Usage) -> Value {
    let numbered = beginnings.into_iter().zip(results).enumerate();
    let choices = numbered.map(|(index, (beginning, generation))| {
        choice(
            index,
            &(beginning + &generation.text),
            Some(generation.ending),
        )
    });
    let mut answer = head.object(choices.collect());
    let completion = results.iter().map(|one| one.tokens.len()).sum();
    answer["usage"] = Usage {
        completion,
        ..usage
    }
    .json();
    answer
}

/// A continuation, or a piece of one, whose `ending` is not known.
pub(super) fn choice(index: usize, text: &str, ending: Option<Ending>) -> Value {
    let reason = ending.map(reason);
    json!({"text": text, "index": index, "logprobs": null, "finish_reason": reason})
}

/// Why a text ends, as OpenAI says it.
pub(super) fn reason(ending: Ending) -> &'static str {
    match ending {
        Ending::EndOfText | Ending::Stopped => "stop",
        Ending::MaxNewTokens | Ending::ContextFull => "length",
    }
}

/// A random number, from the keys that the standard library draws for hash maps.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
