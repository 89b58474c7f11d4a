//! The fields that all answers share.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::SystemTime;

use attentive_pipeline::Generation;
use axum::body::Bytes;
use serde_json::{Value, json};

use super::unix;
use crate::http::sse::unnamed;
use crate::state::models::ModelInstance;

/// The fields that all parts of a response share.
#[derive(Clone)]
pub(super) struct ResponseMetadata {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
}

impl ResponseMetadata {
    /// The metadata of responses of the type `object`, whose identifiers begin with `prefix`.
    pub(super) fn of(model: &ModelInstance, prefix: &str, object: &'static str) -> Self {
        Self {
            id: format!("{prefix}-{:016x}", random()),
            object,
            created: unix(SystemTime::now()),
            model: model.name().to_owned(),
        }
    }

    /// An object with these `choices`.
    fn object(&self, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": self.object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }

    /// A whole answer.
    pub(super) fn answer(&self, choices: Value, usage: Usage) -> Value {
        let mut answer = self.object(choices);
        answer["usage"] = usage.json();
        answer
    }

    /// A part of a stream. If the end of the stream reports token counts, the `usage` of the other parts is
    /// null.
    pub(super) fn chunk(&self, choice: Value, with_usage: bool) -> Bytes {
        let mut chunk = self.object(json!([choice]));
        if with_usage {
            chunk["usage"] = Value::Null;
        }
        unnamed(&chunk)
    }

    /// The end of a stream, with token counts if they are requested.
    pub(super) fn end(&self, usage: Option<Usage>) -> Vec<Bytes> {
        let counted = usage.map(|usage| unnamed(&self.answer(json!([]), usage)));
        let done = Bytes::from_static(b"data: [DONE]\n\n");
        counted.into_iter().chain([done]).collect()
    }
}

/// The numbers of tokens in a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) prompt: usize,
    pub(super) completion: usize,
}

impl Usage {
    /// These counts, with the tokens of `results`.
    pub(super) fn with(self, results: &[Generation]) -> Self {
        Self { completion: results.iter().map(|one| one.tokens.len()).sum(), ..self }
    }

    fn json(self) -> Value {
        let Self { prompt, completion } = self;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        })
    }
}

/// A random number, from the keys that the standard library draws for hash maps.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
