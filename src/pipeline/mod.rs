//! A model in use: text in, text out. One file for each thing that families do.
//!
//! What comes out for a line depends on that line alone, not on its neighbours or on how lines fall into batches. Every
//! line gets an answer; where it could not be read as it stands, the answer carries [`Warning`]s.

pub(crate) mod batches;
mod classify;
mod embed;
mod fill;
mod generate;
mod inspect;
mod source;
mod stop;
mod tag;
#[cfg(test)]
pub(crate) mod tests;
mod translate;
mod warning;

pub use classify::{Classified, LabelScore};
pub use embed::Embedded;
pub use fill::{Filled, Guess};
pub use generate::{GenerateOptions, Generation, Prompt};
pub use inspect::{Inspection, Predicted, Written};
pub use tag::Tagged;
pub use translate::{Candidate, TranslateOptions, Translation};
pub use warning::Warning;

use std::path::Path;

use crate::architecture::TokenContract;
use crate::checkpoint;
use crate::config::{Config, Task};
use crate::device;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::text::Tokenizers;

/// A model with all that it needs to work on text.
#[derive(Debug)]
pub struct Pipeline {
    config: Config,
    tokenizers: Tokenizers,
    model: Model,
}

impl Pipeline {
    /// Loads a model directory, for the CPU.
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

    /// A pipeline of parts that fit each other, with a model outside autodiff.
    pub fn from_parts(config: Config, tokenizers: Tokenizers, model: Model) -> Self {
        Self {
            config,
            tokenizers,
            model,
        }
    }

    /// How the model is built, and how it searches unless told otherwise.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Text to ids and back.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// The network.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model's special tokens, as a search needs them.
    ///
    /// # Errors
    /// Those of [`Tokenizers::for_model`], which a loaded model has passed.
    pub(crate) fn contract(&self) -> Result<TokenContract> {
        self.tokenizers.contract(&self.config.model)
    }

    /// Refuses a model that was made for something else.
    ///
    /// # Errors
    /// [`Error::Usage`] with the command that the model is for.
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
            format!("this model is not made for that: it {}", found.verb()),
            format!("use it with `attentive {command}`"),
        ))
    }
}
