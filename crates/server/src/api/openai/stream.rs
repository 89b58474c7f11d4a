//! Streams of continuations.

use attentive_pipeline::Generation;
use axum::body::Bytes;
use serde_json::Value;

use super::completions::choice;
use super::failed;
use super::metadata::{ResponseMetadata, Usage};
use crate::http::sse::EventEncoder;
use crate::problem::Problem;

/// The events of a stream.
pub(super) struct Chunks {
    metadata: ResponseMetadata,
    /// The events before the continuations.
    first: Vec<Bytes>,
    usage: Usage,
    with_usage: bool,
}

impl Chunks {
    pub(super) fn new(metadata: ResponseMetadata, first: Vec<Bytes>, usage: Usage, with_usage: bool) -> Self {
        Self { metadata, first, usage, with_usage }
    }

    fn chunk(&self, choice: Value) -> Bytes {
        self.metadata.chunk(choice, self.with_usage)
    }
}

impl EventEncoder<Generation> for Chunks {
    fn begin(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.first)
    }

    fn text(&mut self, number: usize, text: String) -> Vec<Bytes> {
        vec![self.chunk(choice(number, &text, None))]
    }

    async fn result(&mut self, number: usize, result: Generation) -> Result<Vec<Bytes>, Problem> {
        self.usage.completion += result.tokens.len();
        Ok(vec![self.chunk(choice(number, "", Some(result.ending)))])
    }

    fn end(&mut self) -> Vec<Bytes> {
        self.metadata.end(self.with_usage.then_some(self.usage))
    }

    fn problem(&mut self, problem: &Problem) -> Vec<Bytes> {
        failed(problem)
    }
}
