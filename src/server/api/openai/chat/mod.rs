//! Conversations: language models continue them, and translation models translate the last message.

mod generated;
mod translated;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::completions::{MOST_STOPS, StreamOptions, Wish};
use crate::config::Task;
use crate::server::api::OneOrMany;
use crate::server::app::{Shared, Strings};
use crate::server::body::json;
use crate::server::models::Model;
use crate::server::problem::Problem;
use crate::server::visit::Visit;

/// A conversation to go on with.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Chat {
    /// The model; may be left out if only one here generates text or translates.
    model: Option<String>,
    /// What was said so far.
    messages: Vec<Message>,
    /// Most tokens of the answer, or of each sentence of a translation [default: 256, or the model's limit].
    max_completion_tokens: Option<usize>,
    /// The same.
    max_tokens: Option<usize>,
    /// Divisor of the logits; 0 always takes the likeliest token [default: 1; translations are not drawn at random].
    temperature: Option<f64>,
    /// Share of the probability of tokens to draw from [default: 1].
    top_p: Option<f64>,
    /// The same seed gives the same answers [default: a random one].
    seed: Option<i64>,
    /// Answers [default: 1].
    n: Option<usize>,
    /// Up to four strings before which an answer ends; not for translations.
    stop: Option<OneOrMany>,
    /// Whether to send the answer as it is written.
    stream: Option<bool>,
    /// Options of a stream.
    stream_options: Option<StreamOptions>,
    /// Ignored.
    #[allow(dead_code, reason = "clients send it")]
    user: Option<String>,
    /// Only 0.
    #[schema(value_type = Option<f64>)]
    frequency_penalty: Option<Value>,
    /// Only 0.
    #[schema(value_type = Option<f64>)]
    presence_penalty: Option<Value>,
    /// Only an empty object.
    #[schema(value_type = Option<Object>)]
    logit_bias: Option<Value>,
    /// Only false.
    #[schema(value_type = Option<bool>)]
    logprobs: Option<Value>,
    /// Only text.
    #[schema(value_type = Option<Object>)]
    response_format: Option<Value>,
    /// Only an empty list.
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Value>,
}

/// Something that was said.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Message {
    role: Role,
    content: Content,
    /// Ignored.
    #[allow(dead_code, reason = "clients send it")]
    name: Option<String>,
    /// Only `null`, as in answers, which clients send back as they are.
    #[allow(dead_code, reason = "it says nothing")]
    #[schema(value_type = Option<String>)]
    refusal: Option<()>,
}

/// Who said something.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
}

/// A text, or a list of its parts.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(
    untagged,
    expecting = "expected a string or a list of parts of type `text`"
)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a text.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Part {
    Text { text: String },
}

/// A message as text.
struct Turn {
    role: Role,
    text: String,
}

impl From<Message> for Turn {
    fn from(message: Message) -> Self {
        let text = match message.content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let texts = parts.into_iter().map(|Part::Text { text }| text);
                texts.collect()
            }
        };
        Self {
            role: message.role,
            text,
        }
    }
}

/// What is wanted of an answer.
struct Wanted {
    wish: Wish,
    /// Most tokens, if the request says so.
    new_tokens: Option<usize>,
    stop: Vec<String>,
    stream: bool,
    /// Whether a stream ends with the numbers of tokens.
    with_usage: bool,
}

/// Goes on with a conversation.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "OpenAI", request_body = Chat,
    responses((status = 200, description = "`choices`, or with `stream` server-sent events")))]
pub(super) async fn chat(State(app): State<Shared>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: Chat = json(request, &app).await?;
    asked.check()?;
    let (model, turns, wanted) = asked.into_parts();
    let texts: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
    let strings = Strings {
        field: "stop",
        strings: &wanted.stop,
        most: MOST_STOPS,
    };
    app.admit_with(&visit, "messages", &texts, &[strings])?;
    let direction = translated::direction(&turns);
    let directed = match (&model, &direction) {
        (None, Some((source, target))) => app.models.translating(source, target),
        _ => None,
    };
    let answers = |model: &Model| matches!(model.task(), Task::Generate | Task::Translate);
    let model = match directed {
        Some(model) => model,
        None => app
            .models
            .choose(model.as_deref(), "answer messages", answers)?,
    };
    match model.task() {
        Task::Translate => translated::answer(app, visit, client, model, turns, wanted).await,
        _ => generated::answer(app, visit, client, model, &turns, wanted).await,
    }
}

impl Chat {
    /// Refuses what models here cannot do.
    fn check(&self) -> Result<(), Problem> {
        let other = |value: &Option<Value>, plain: &[Value]| {
            let value = value.as_ref();
            value.is_some_and(|value| !plain.contains(value))
        };
        let zero = [json!(0), json!(0.0)];
        let unsupported = [
            ("frequency_penalty", other(&self.frequency_penalty, &zero)),
            ("presence_penalty", other(&self.presence_penalty, &zero)),
            ("logit_bias", other(&self.logit_bias, &[json!({})])),
            ("logprobs", other(&self.logprobs, &[json!(false)])),
            (
                "response_format",
                other(&self.response_format, &[json!({"type": "text"})]),
            ),
            ("tools", other(&self.tools, &[json!([])])),
        ];
        if let Some((field, _)) = unsupported.iter().find(|(_, is_used)| *is_used) {
            return Err(Problem::field(field, format!("`{field}` is not supported")));
        }
        if self.stream_options.is_some() && self.stream != Some(true) {
            let problem = "`stream_options` needs `stream`";
            return Err(Problem::field("stream_options", problem));
        }
        if self.messages.is_empty() {
            return Err(Problem::field("messages", "there are no messages"));
        }
        Ok(())
    }

    fn into_parts(self) -> (Option<String>, Vec<Turn>, Wanted) {
        let new_tokens = self.max_completion_tokens.or(self.max_tokens);
        let usage = self
            .stream_options
            .and_then(|options| options.include_usage);
        let wanted = Wanted {
            wish: Wish {
                copies: self.n,
                new_tokens: new_tokens.unwrap_or(256),
                temperature: self.temperature,
                top_p: self.top_p,
                seed: self.seed,
            },
            new_tokens,
            stop: self
                .stop
                .map(|stop| stop.into_texts().0)
                .unwrap_or_default(),
            stream: self.stream == Some(true),
            with_usage: usage == Some(true),
        };
        let turns = self.messages.into_iter().map(Turn::from).collect();
        (self.model, turns, wanted)
    }
}

/// A whole answer.
fn choice(index: usize, text: &str, reason: &str) -> Value {
    json!({
        "index": index,
        "message": {"role": "assistant", "content": text, "refusal": null},
        "logprobs": null,
        "finish_reason": reason,
    })
}

/// A piece of an answer, of which `delta` is new.
fn piece(index: usize, delta: Value, reason: Option<&str>) -> Value {
    json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": reason})
}
