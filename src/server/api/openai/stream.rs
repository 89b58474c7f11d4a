//! Continuations as they are written.

use axum::body::Bytes;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::completions::{Head, Usage, choice};
use crate::pipeline::Generation;
use crate::server::problem::Problem;
use crate::server::sse::{Telling, unnamed};

/// The events of a stream.
pub(super) struct Chunks {
    head: Head,
    /// What comes before each continuation.
    beginnings: Vec<String>,
    usage: Usage,
    with_usage: bool,
}

impl Chunks {
    pub(super) fn new(head: Head, beginnings: Vec<String>, usage: Usage, with_usage: bool) -> Self {
        Self {
            head,
            beginnings,
            usage,
            with_usage,
        }
    }

    fn chunk(&self, choice: Value) -> Bytes {
        let mut chunk = self.head.object(json!([choice]));
        if self.with_usage {
            chunk["usage"] = Value::Null;
        }
        unnamed(&chunk)
    }
}

impl Telling<Generation> for Chunks {
    fn begin(&mut self) -> Vec<Bytes> {
        let beginnings = self.beginnings.iter().enumerate();
        let given = beginnings.filter(|(_, text)| !text.is_empty());
        given
            .map(|(index, text)| self.chunk(choice(index, text, None)))
            .collect()
    }

    fn text(&mut self, number: usize, text: String) -> Vec<Bytes> {
        vec![self.chunk(choice(number, &text, None))]
    }

    async fn result(&mut self, number: usize, result: Generation) -> Result<Vec<Bytes>, Problem> {
        self.usage.completion += result.tokens.len();
        Ok(vec![self.chunk(choice(number, "", Some(result.ending)))])
    }

    fn end(&mut self) -> Vec<Bytes> {
        let mut events = Vec::new();
        if self.with_usage {
            let mut chunk = self.head.object(json!([]));
            chunk["usage"] = self.usage.json();
            events.push(unnamed(&chunk));
        }
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
        events
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        vec![unnamed(&super::error(
            problem,
            StatusCode::INTERNAL_SERVER_ERROR,
        ))]
    }
}
