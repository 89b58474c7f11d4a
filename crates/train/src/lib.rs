//! Training: from a configuration to a model directory, with exact resume.
//!
//! [`train`] prepares the run (it reads corpora, and learns tokenizers or loads those of a stored run), then
//! runs updates, validates, saves checkpoints and reports to an [`Observer`].

mod agreement;
mod best;
mod corpora;
pub mod device;
mod directory;
mod disk;
mod duplicates;
mod exchange;
mod fitting_batch;
mod frozen;
mod gradient_groups;
mod lazy_table;
mod learner;
mod material;
mod memory;
mod metrics_log;
mod objective;
mod opened_run;
mod optimizer;
mod partial_sums;
mod prepare;
mod pretrained;
mod profile;
pub mod report;
mod schedule;
mod scheduled_sampling;
mod tensorboard;
mod trainer;
mod update;
mod update_totals;
mod validate;
mod validation_script;

use std::path::PathBuf;

use serde::Serialize;

pub use best::BestReport;
pub use corpora::{InMemoryCorpora, validation_corpus};
pub use device::on_device;
pub use learner::Learner;
pub use memory::MemoryEstimate;
pub use optimizer::{Optimizer, UpdateScale};
pub use profile::{TrainingProfile, profile};
pub use report::{Event, Observer, Silent};
pub use schedule::{Plateau, Schedule};
pub use update::{FinishedUpdates, NoUpdateObserver, Started, Update, UpdateObserver, UpdatePhase};

use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_config::Config;
use attentive_data::{Store, StoreKey};
use attentive_processes::Processes;

/// Options of a run: where it is stored, and how an existing directory is treated.
#[derive(Debug)]
pub struct RunOptions {
    /// The run directory, which becomes the model directory.
    pub out: PathBuf,
    /// The policy if the run directory already exists.
    pub existing: Existing,
    /// Requests a stop, for example on SIGINT.
    pub interrupt: Interrupt,
    /// The processes that share the work. All have the same configuration and data; the first one writes the
    /// run.
    pub processes: Processes,
}

/// The policy for an existing run directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to touch it.
    Refuse,
    /// Resume from the last checkpoint; if the directory does not exist, start a new run.
    Resume,
    /// Delete it and start over.
    Force,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The total number of updates.
    pub step: u64,
    /// The current pass over the corpus, counted from 0.
    pub epoch: u64,
    /// The best validation, if any.
    pub best: Option<BestReport>,
    /// The reason why the run stopped.
    pub stopped: StopReason,
    /// The update after which this call resumed the run; `None` for a new run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<u64>,
    /// Wall time of this call, in seconds.
    pub seconds: f64,
    /// The communication between several processes; `None` for one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeReport>,
    /// The model directory.
    pub path: PathBuf,
}

/// The communication of one of several processes with the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExchangeReport {
    pub processes: usize,
    /// The time that this process spent in exchanges, in seconds, including waits for slower processes.
    pub seconds: f64,
    /// The number of bytes that this process sent.
    pub bytes_sent: u64,
}

/// The reason why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// `train.max_steps` updates are done.
    MaxSteps,
    /// `train.max_epochs` passes are done.
    MaxEpochs,
    /// No improvement in `train.patience` validations.
    Patience,
}

/// Trains a model according to `config`.
///
/// # Errors
/// Invalid configuration or data, or an unusable run directory; a GPU that does not exist or fails; a NaN or
/// infinite loss; a request to stop ([`attentive_base::Error::Interrupted`], after a checkpoint was saved).
pub fn train(config: &Config, options: &RunOptions, observer: &mut dyn Observer) -> Result<Summary> {
    train_on(config, InMemoryCorpora::default(), options, observer)
}

/// Trains a model according to `config`, whose corpora in RAM are `in_memory`.
///
/// # Errors
/// The errors of [`train`]; [`attentive_base::Error::Data`] if the number of given lines differs from the
/// configuration.
pub fn train_on(
    config: &Config,
    in_memory: InMemoryCorpora,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    on_device(config.train.device, &options.processes, || {
        let prepared = prepare::prepare(config, in_memory, options, observer)?;
        trainer::Trainer::new(prepared, &options.interrupt, observer)?.run()
    })
}

/// Encodes the training corpus of `config` on disk for runs with `data.store = "disk"`, unless it is there
/// already.
///
/// # Errors
/// Invalid configuration or data; a corpus that cannot be kept on disk; a request to stop.
pub fn encode_corpus(config: &Config, interrupt: &Interrupt, observer: &mut dyn Observer) -> Result<Store> {
    config.validate()?;
    material::preparing(interrupt, || material::encode_corpus(config, observer))
}

/// Returns the key by which [`encode_corpus`] finds the encoded training corpus of `config` on disk; it
/// depends on everything from which the corpus is made.
///
/// # Errors
/// Corpus files, or a model in `model.from`, that cannot be read.
pub fn store_key(config: &Config) -> Result<StoreKey> {
    material::store_key(config)
}
