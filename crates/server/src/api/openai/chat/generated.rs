//! Conversations with language models.

use std::sync::Arc;

use attentive_pipeline::Generation;
use attentive_pipeline::service::Client;
use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Value, json};

use super::super::completions::{read, reason, send, warnings};
use super::super::metadata::{ResponseMetadata, Usage};
use super::{Role, Turn, Wanted, choice, piece};
use crate::api::openai::failed;
use crate::api::{reply, warned};
use crate::http::sse::{self, EventEncoder};
use crate::http::visit::Visit;
use crate::problem::Problem;
use crate::state::app::SharedApp;
use crate::state::models::ModelInstance;
use crate::work::thread_pool::StopFlag;

/// The beginning of the user's next turn, where the model must stop.
const NEXT_TURN: &str = "\nUser:";

/// Returns the answer of a language model.
pub(super) async fn answer(
    app: SharedApp,
    visit: Visit,
    client: Client,
    model: Arc<ModelInstance>,
    turns: Vec<Turn>,
    wanted: Wanted,
) -> Result<Response, Problem> {
    let copies = wanted.options.copies.unwrap_or(1);
    let mut stop = wanted.stop;
    stop.push(NEXT_TURN.to_owned());
    let options = wanted.options.generate_options(&app, 1, stop)?;
    let reader = Arc::clone(&model);
    let limits = app.config.limits;
    let read = move |stop: &StopFlag| read(&reader, &[prompt(&turns)], &limits, stop);
    let prompts = app.pool.run(client, read).await?;
    let warnings = warnings(&prompts);
    let usage = Usage { prompt: prompts.iter().map(|one| one.tokens).sum(), completion: 0 };
    let answers = send(&model, client, &prompts, &options, copies)?;
    if wanted.stream {
        let turns = Pieces {
            metadata: ResponseMetadata::of(&model, "chatcmpl", "chat.completion.chunk"),
            begun: vec![false; copies],
            usage: wanted.with_usage.then_some(usage),
        };
        return Ok(warned(sse::response(app, visit, answers, copies, turns), &warnings));
    }
    let results = answers.all(copies).await?;
    let metadata = ResponseMetadata::of(&model, "chatcmpl", "chat.completion");
    let write = move |_: &StopFlag| {
        let choices = results.iter().enumerate();
        let choices = choices.map(|(index, one)| choice(index, one.text.trim_start(), reason(one.ending)));
        Ok(warned(reply(&metadata.answer(choices.collect(), usage.with(&results))), &warnings))
    };
    app.pool.run(client, write).await
}

/// The conversation as a text for the model to continue: the system message, a blank line, and then a line
/// for each turn.
fn prompt(turns: &[Turn]) -> String {
    let mut prompt = String::new();
    for Turn { role, text } in turns {
        match role {
            Role::System | Role::Developer => prompt.push_str(&format!("{text}\n\n")),
            Role::User => prompt.push_str(&format!("User: {text}\n")),
            Role::Assistant => prompt.push_str(&format!("Assistant: {text}\n")),
        }
    }
    prompt + "Assistant:"
}

/// The events of a stream.
struct Pieces {
    metadata: ResponseMetadata,
    /// For each answer: true once it has begun; its first blank is dropped.
    begun: Vec<bool>,
    /// The token counts, if they are requested.
    usage: Option<Usage>,
}

impl Pieces {
    fn event(&self, piece: Value) -> Bytes {
        self.metadata.chunk(piece, self.usage.is_some())
    }
}

impl EventEncoder<Generation> for Pieces {
    fn begin(&mut self) -> Vec<Bytes> {
        let first = |index| piece(index, json!({"role": "assistant", "content": ""}), None);
        let indices = 0..self.begun.len();
        indices.map(|index| self.event(first(index))).collect()
    }

    fn text(&mut self, number: usize, text: String) -> Vec<Bytes> {
        let text = if self.begun[number] { &text } else { text.trim_start() };
        if text.is_empty() {
            return Vec::new();
        }
        self.begun[number] = true;
        vec![self.event(piece(number, json!({"content": text}), None))]
    }

    async fn result(&mut self, number: usize, result: Generation) -> Result<Vec<Bytes>, Problem> {
        if let Some(usage) = &mut self.usage {
            usage.completion += result.tokens.len();
        }
        let last = piece(number, json!({}), Some(reason(result.ending)));
        Ok(vec![self.event(last)])
    }

    fn end(&mut self) -> Vec<Bytes> {
        self.metadata.end(self.usage)
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        failed(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_a_text_to_continue() {
        let turn = |role, text: &str| Turn { role, text: text.into() };
        let turns = [
            turn(Role::System, "Be kind."),
            turn(Role::User, "Hello"),
            turn(Role::Assistant, "Hi!"),
            turn(Role::User, "Who are you?"),
        ];
        let expected = "Be kind.\n\nUser: Hello\nAssistant: Hi!\nUser: Who are you?\nAssistant:";
        assert_eq!(prompt(&turns), expected);
    }
}
