//! Small untrained models for tests: a configuration for [each variant](variants) of a model, and
//! [models](Sample) that read and write a few words.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod sample;
mod variants;

use attentive_config::{ModelConfig, Task};
use attentive_decode::Logits;
use attentive_model::model::Model;

pub use sample::{Sample, TAGS, TEXT, WORDS};
pub use variants::{base, variant, variants};

/// The size of the vocabularies of [`model`].
pub const VOCAB: usize = 13;

/// A model of this configuration with vocabularies of [`VOCAB`] tokens.
pub fn model(config: &ModelConfig) -> Model {
    Model::new(&config.architecture(VOCAB, VOCAB), config.init, 3)
}

/// The rows of `logits`.
pub fn rows(logits: impl Into<Logits>) -> Vec<Vec<f32>> {
    logits.into().rows().map(<[f32]>::to_vec).collect()
}

/// True if models of this configuration write tokens, one after another.
pub fn decodes(config: &ModelConfig) -> bool {
    matches!(config.family.task(), Task::Translate | Task::Generate)
}
