//! Training: from a configuration to a model directory, resumable to the bit.
//!
//! [`train`] prepares (reads corpora, learns tokenizers or takes back a run's), then loops over updates, validating,
//! saving and telling an [`Observer`] as it goes.

mod corpora;
mod directory;
mod history;
mod learner;
mod memory;
mod metrics_log;
mod optimizer;
mod prepare;
mod profile;
pub mod report;
mod schedule;
mod scheduled_sampling;
mod trainer;
mod update;
mod validate;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use corpora::validation_corpus;
pub use history::{History, Metric, Training};
pub use learner::Learner;
pub use memory::{Memory, Subject};
pub use optimizer::{Optimizer, UpdateScale};
pub use profile::{Profile, profile};
pub use report::{Event, Observer, Silent};
pub use schedule::{Plateau, Schedule};
pub use update::{Part, Unwatched, Update, Watch};

use crate::config::Config;
use crate::error::Result;
use crate::interrupt::Interrupt;

/// Where a run goes and how it treats what is there.
#[derive(Debug)]
pub struct RunOptions {
    /// The run directory, which becomes the model directory.
    pub out: PathBuf,
    /// What to do if it exists.
    pub existing: Existing,
    /// Asks the run to stop, for example on SIGINT.
    pub interrupt: Interrupt,
}

/// What to do with a run directory that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to touch it.
    Refuse,
    /// Go on from its last checkpoint; a directory that does not exist is begun.
    Resume,
    /// Delete it and begin anew.
    Force,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Updates done in all.
    pub step: u64,
    /// Passes over the corpus begun, counted from 0.
    pub epoch: u64,
    /// The best validation, if there was one.
    pub best: Option<BestReport>,
    /// Why it ended.
    pub stopped: StopReason,
    /// Wall time of this call, in seconds.
    pub seconds: f64,
    /// The model directory.
    pub path: PathBuf,
}

/// The best validation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestReport {
    /// The update after which it ran.
    pub step: u64,
    /// Its label-smoothed loss per token.
    pub loss: f64,
    /// Its BLEU, if sentences were translated.
    pub bleu: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// `train.max_steps` updates are done.
    MaxSteps,
    /// `train.max_epochs` passes are done.
    MaxEpochs,
    /// `train.patience` validations brought nothing better.
    Patience,
}

/// Trains as `config` says.
///
/// # Errors
/// Anything wrong with configuration, data or the run directory; a loss that is not finite; a request to stop
/// ([`crate::Error::Interrupted`], after a checkpoint was saved).
pub fn train(
    config: &Config,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let prepared = prepare::prepare(config, options, observer)?;
    trainer::Trainer::new(prepared, &options.interrupt, observer)?.run()
}
