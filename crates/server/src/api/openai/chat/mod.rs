//! Conversations: language models continue them, and translation models translate the last message.

mod generated;
mod translated;

use attentive_config::Task;
use axum::extract::{Request, State};
use axum::response::Response;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::neutral;
use super::options::{self, CompletionOptions};
use super::request::request;
use crate::api::{OneOrMany, one_or_many};
use crate::http::body::json;
use crate::http::objects::only_as_object;
use crate::http::visit::Visit;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;

request! {
    /// A conversation to continue.
    struct Chat {
        /// The model; may be left out if only one here generates text or translates.
        model: Option<String>,
        /// The conversation so far.
        messages: Vec<Message>,
        /// Maximum number of tokens of the answer, or of each sentence of a translation [default: 256, or the
        /// model's limit].
        max_completion_tokens: Option<usize>,
        /// The older name of `max_completion_tokens`.
        max_tokens: Option<usize>,
        /// Up to four strings before which an answer ends; not for translations.
        stop: Option<OneOrMany>,
        /// Only `false`.
        #[serde(default, deserialize_with = "neutral::no")]
        #[schema(value_type = Option<bool>)]
        logprobs: (),
        /// Only 0.
        #[serde(default, deserialize_with = "neutral::zero")]
        #[schema(value_type = Option<f64>)]
        top_logprobs: (),
        /// Only text.
        #[serde(default, deserialize_with = "neutral::text_format")]
        #[schema(value_type = Option<Object>)]
        response_format: (),
        /// Only text.
        #[serde(default, deserialize_with = "neutral::text_alone")]
        #[schema(value_type = Option<Vec<String>>)]
        modalities: (),
        /// Only an empty list.
        #[serde(default, deserialize_with = "neutral::empty_list")]
        #[schema(value_type = Option<Vec<Object>>)]
        tools: (),
        /// Only `none` or `auto`.
        #[serde(default, deserialize_with = "neutral::no_call")]
        #[schema(value_type = Option<String>)]
        tool_choice: (),
        /// Ignored: there are no tools.
        #[serde(default, deserialize_with = "neutral::anything")]
        #[schema(value_type = Option<bool>)]
        parallel_tool_calls: (),
        /// Only an empty list.
        #[serde(default, deserialize_with = "neutral::empty_list")]
        #[schema(value_type = Option<Vec<Object>>)]
        functions: (),
        /// Only `none` or `auto`.
        #[serde(default, deserialize_with = "neutral::no_call")]
        #[schema(value_type = Option<String>)]
        function_call: (),
        /// Only `none`.
        #[serde(default, deserialize_with = "neutral::no_reasoning")]
        #[schema(value_type = Option<String>)]
        reasoning_effort: (),
        /// Only `medium`.
        #[serde(default, deserialize_with = "neutral::usual_length")]
        #[schema(value_type = Option<String>)]
        verbosity: (),
        /// Only `null`.
        #[serde(default, deserialize_with = "neutral::null")]
        #[schema(value_type = Option<Object>)]
        prediction: (),
        /// Only `null`.
        #[serde(default, deserialize_with = "neutral::null")]
        #[schema(value_type = Option<Object>)]
        audio: (),
        /// Only `null`.
        #[serde(default, deserialize_with = "neutral::null")]
        #[schema(value_type = Option<Object>)]
        web_search_options: (),
    }
}

/// A message of the conversation.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(remote = "Self")]
#[serde(deny_unknown_fields)]
struct Message {
    role: Role,
    content: Content,
    /// Ignored.
    #[serde(default, deserialize_with = "neutral::anything")]
    #[schema(value_type = Option<String>)]
    name: (),
    /// Only `null`, as in answers, which clients send back unchanged.
    #[serde(default, deserialize_with = "neutral::null")]
    #[schema(value_type = Option<String>)]
    refusal: (),
    /// The same.
    #[serde(default, deserialize_with = "neutral::null")]
    #[schema(value_type = Option<Object>)]
    audio: (),
    /// The same.
    #[serde(default, deserialize_with = "neutral::null")]
    #[schema(value_type = Option<Object>)]
    function_call: (),
    /// Only an empty list.
    #[serde(default, deserialize_with = "neutral::empty_list")]
    #[schema(value_type = Option<Vec<Object>>)]
    tool_calls: (),
    /// Only an empty list.
    #[serde(default, deserialize_with = "neutral::empty_list")]
    #[schema(value_type = Option<Vec<Object>>)]
    annotations: (),
}

only_as_object!(Message);

/// The author of a message.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
}

/// A text, or a list of its parts.
#[derive(utoipa::ToSchema)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "a string or a list of parts of type `text`";
        one_or_many(from, expected, Self::Text, Self::Parts)
    }
}

/// A part of a message.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
struct Part {
    #[serde(rename = "type")]
    kind: Kind,
    text: String,
}

only_as_object!(Part);

/// The type of a part.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
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
                let texts = parts.into_iter().map(|part| part.text);
                texts.collect()
            }
        };
        Self { role: message.role, text }
    }
}

/// The options of an answer.
struct Wanted {
    options: CompletionOptions,
    /// The maximum number of tokens, if the request sets it.
    new_tokens: Option<usize>,
    stop: Vec<String>,
    stream: bool,
    /// True if a stream ends with token counts.
    with_usage: bool,
}

/// Continues a conversation.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "OpenAI", request_body = Chat,
    responses((status = 200, description = "`choices`, or with `stream` server-sent events")))]
pub(super) async fn chat(State(app): State<SharedApp>, request: Request) -> Result<Response, Problem> {
    let visit = Visit::of(&request)?;
    let client = app.client(request.headers(), None, &visit)?;
    let asked: Chat = json(request, &app).await?;
    let (model, turns, wanted) = asked.into_parts()?;
    let texts: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
    let stops = options::stops(&wanted.stop, &app.config.limits);
    app.admit_with(&visit, "messages", &texts, &[stops])?;
    let direction = translated::direction(&turns);
    let directed = match (&model, &direction) {
        (None, Some((source, target))) => app.models.translating(source, target),
        _ => None,
    };
    let answers = |model: &ModelInstance| matches!(model.task(), Task::Generate | Task::Translate);
    let model = match directed {
        Some(model) => model,
        None => app.models.choose(model.as_deref(), "answer messages", answers)?,
    };
    match model.task() {
        Task::Translate => translated::answer(app, visit, client, model, turns, wanted).await,
        _ => generated::answer(app, visit, client, model, turns, wanted).await,
    }
}

impl Chat {
    /// The model, the conversation, and the options.
    ///
    /// # Errors
    /// A [`Problem`] for an empty conversation, and for stream options without a stream.
    fn into_parts(self) -> Result<(Option<String>, Vec<Turn>, Wanted), Problem> {
        if self.messages.is_empty() {
            return Err(Problem::field("messages", "there are no messages"));
        }
        let (tokens_field, new_tokens) = match self.max_completion_tokens {
            None => ("max_tokens", self.max_tokens),
            given => ("max_completion_tokens", given),
        };
        let wanted = Wanted {
            options: self.completion_options(tokens_field, new_tokens.unwrap_or(256)),
            new_tokens,
            stop: self.stop.map(|stop| stop.into_texts().0).unwrap_or_default(),
            stream: self.stream == Some(true),
            with_usage: options::with_usage(self.stream, self.stream_options)?,
        };
        let turns = self.messages.into_iter().map(Turn::from).collect();
        Ok((self.model, turns, wanted))
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

/// A piece of an answer with the new text `delta`.
fn piece(index: usize, delta: Value, reason: Option<&str>) -> Value {
    json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": reason})
}
