//! Inference: text in, text out. One file per task.
//!
//! The result for a line depends only on that line, not on its neighbors or on batching. Every line gets a result; if
//! the line could not be read literally, the result carries [`Warning`]s.

mod align;
pub(crate) mod batches;
mod classify;
mod embed;
mod ensemble;
mod fill;
mod generate;
mod inspect;
mod request;
mod rescore;
mod share;
mod source;
mod stop;
mod tag;
#[cfg(test)]
pub(crate) mod tests;
mod translate;
mod warning;

pub use align::Alignment;
pub use classify::{Classified, LabelScore};
pub use embed::Embedded;
pub use fill::{Filled, Guess};
pub use generate::{GenerateOptions, Generation, Prompt};
pub use inspect::{Inspection, Predicted, Written};
pub use request::Request;
pub use rescore::Rescored;
pub use tag::Tagged;
pub use translate::{Candidate, TranslateOptions, Translation};
pub use warning::Warning;

use std::path::Path;
use std::sync::OnceLock;

use crate::architecture::TokenContract;
use crate::checkpoint;
use crate::config::{Config, Task};
use crate::device;
use crate::engine::{Dense, Engine, Precision};
use crate::error::{Error, Result};
use crate::model::{Model, parameters};
use crate::text::Tokenizers;

/// A model with everything needed to process text.
#[derive(Debug)]
pub struct Pipeline {
    config: Config,
    tokenizers: Tokenizers,
    model: Model,
    precision: Precision,
    engine: OnceLock<Engine>,
    /// The other models of an ensemble.
    partners: Vec<Pipeline>,
}

impl Pipeline {
    /// Loads a model directory for the CPU.
    ///
    /// # Errors
    /// Those of [`checkpoint::load`].
    pub fn load(dir: impl AsRef<Path>) -> Result<Self> {
        let loaded = checkpoint::load(dir.as_ref(), &device::cpu())?;
        Ok(Self::from_parts(
            loaded.config,
            loaded.tokenizers,
            loaded.model,
        ))
    }

    /// A pipeline of matching parts: the tokenizers of [`Tokenizers::for_model`] and a model outside autodiff.
    pub fn from_parts(config: Config, tokenizers: Tokenizers, model: Model) -> Self {
        Self {
            config,
            tokenizers,
            model,
            precision: Precision::F32,
            engine: OnceLock::new(),
            partners: Vec::new(),
        }
    }

    /// The same with decoding in `precision`.
    pub fn with_precision(self, precision: Precision) -> Self {
        Self {
            precision,
            engine: OnceLock::new(),
            ..self
        }
    }

    /// The configuration, including the default search options.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The tokenizers.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model as search reads it.
    ///
    /// # Panics
    /// If the model does not decode.
    pub(crate) fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| {
            let weights = &mut Dense::new(self.precision, parameters(&self.model));
            Engine::new(self.model.architecture(), weights)
        })
    }

    /// The model's special tokens, for search.
    ///
    /// # Errors
    /// Those of [`Tokenizers::for_model`]; a loaded model never causes them.
    pub(crate) fn contract(&self) -> Result<TokenContract> {
        self.tokenizers.contract(&self.config.model)
    }

    /// Refuses a model made for another task.
    ///
    /// # Errors
    /// [`Error::Usage`] with the command to use instead.
    pub fn require(&self, task: Task) -> Result<()> {
        let found = self.config.model.family.task();
        if found == task {
            return Ok(());
        }
        let command = match found {
            Task::Translate => "translate",
            Task::Generate => "generate",
            Task::Fill => "fill",
            Task::Tag => "tag",
            Task::Classify => "classify",
        };
        Err(Error::usage(
            format!("this model cannot do that: it {}", found.verb()),
            format!("use it with `attentive {command}`"),
        ))
    }
}
