//! The run directory before the first update, with the origin of the weights.

use std::path::Path;

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, Lock, Run, files};
use attentive_config::Config;
use attentive_model::model::Parameter;

use super::directory::{self, DirectoryContents};
use super::material::{Material, RunContext};
use super::pretrained::PretrainedModel;
use super::report::{Event, Observer};
use super::{Existing, RunOptions, Schedule};

/// The run directory, with its contents as found.
pub(super) struct OpenedRun {
    contents: DirectoryContents,
    lock: Lock,
    beginning: Beginning,
}

/// The origin of the weights.
enum Beginning {
    /// They are initialized randomly.
    Nothing,
    /// They are taken from the model in `model.from`.
    Model(Box<PretrainedModel>),
    /// They are taken from the checkpoint at this update.
    Checkpoint(u64),
}

impl OpenedRun {
    /// Opens the run directory.
    pub(super) fn open(config: &Config, options: &RunOptions, observer: &mut dyn Observer) -> Result<Self> {
        let dir = options.out.as_path();
        let lock = directory::lock(dir)?;
        let contents = directory::inspect(config, dir, options.existing)?;
        if matches!(contents, DirectoryContents::Nothing) && options.existing == Existing::Resume {
            observer
                .on(&Event::Note(&format!("nothing to resume in `{}`: starting a new run", dir.display())));
        }
        let resume_at = match contents {
            DirectoryContents::Run(ref stored) => {
                let step = last_checkpoint(dir, observer)?;
                Schedule::check_resumed(&stored.config, config, step.unwrap_or_default())?;
                step
            }
            DirectoryContents::Nothing | DirectoryContents::Replaceable => None,
        };
        let beginning = match (resume_at, &config.model.from) {
            (Some(step), _) => Beginning::Checkpoint(step),
            (None, Some(from)) => Beginning::Model(Box::new(PretrainedModel::open(from, config)?)),
            (None, None) => Beginning::Nothing,
        };
        Ok(Self { contents, lock, beginning })
    }

    /// The facts about the run in `dir` that are known before the training data are read.
    pub(super) fn context<'a>(&'a self, dir: &'a Path) -> RunContext<'a> {
        let run = match &self.contents {
            DirectoryContents::Run(stored) => Some((dir, &**stored)),
            DirectoryContents::Nothing | DirectoryContents::Replaceable => None,
        };
        RunContext {
            run,
            pretrained: match &self.beginning {
                Beginning::Model(pretrained) => Some(pretrained),
                Beginning::Nothing | Beginning::Checkpoint(_) => None,
            },
        }
    }

    /// The update of the checkpoint to resume from.
    pub(super) fn resume_at(&self) -> Option<u64> {
        match self.beginning {
            Beginning::Checkpoint(step) => Some(step),
            Beginning::Nothing | Beginning::Model(_) => None,
        }
    }

    /// Makes the directory that of this run.
    pub(super) fn claim(self, dir: &Path, config: &Config, material: &Material) -> Result<Lock> {
        let (tokenizers, provenance) = (&material.tokenizers, &material.provenance);
        directory::claim(dir, self.contents, config, tokenizers, provenance)?;
        Ok(self.lock)
    }

    /// The weights, unless they are initialized randomly.
    pub(super) fn weights(
        &self,
        config: &Config,
        dir: &Path,
        architecture: &Architecture,
        observer: &mut dyn Observer,
    ) -> Result<Option<Vec<Parameter>>> {
        match &self.beginning {
            Beginning::Nothing => Ok(None),
            Beginning::Model(pretrained) => {
                first_weights(config, pretrained, architecture, observer).map(Some)
            }
            Beginning::Checkpoint(step) => {
                let weights = Run::new(dir).weights(*step)?;
                let shapes = checkpoint::shapes(architecture);
                weights.parameters(&shapes).map(Some)
            }
        }
    }
}

/// The update of the checkpoint to resume from, if there is one.
fn last_checkpoint(dir: &Path, observer: &mut dyn Observer) -> Result<Option<u64>> {
    let Some(point) = Run::new(dir).resume_point()? else {
        return if dir.join(files::WEIGHTS).exists() { Err(no_checkpoint(dir)) } else { Ok(None) };
    };
    if let Some(warning) = &point.warning {
        observer.on(&Event::Warning(warning));
    }
    Ok(Some(point.step))
}

/// The weights of `pretrained`. Reports those that are newly initialized.
pub(super) fn first_weights(
    config: &Config,
    pretrained: &PretrainedModel,
    architecture: &Architecture,
    observer: &mut dyn Observer,
) -> Result<Vec<Parameter>> {
    let (weights, new) = pretrained.weights(config, architecture)?;
    if !new.is_empty() {
        observer.on(&Event::Note(&format!(
            "initialized at random, since the base model has no weights of this name and shape: {}",
            new.join(", ")
        )));
    }
    Ok(weights)
}

/// The error for a trained model without a checkpoint to resume from.
fn no_checkpoint(dir: &Path) -> Error {
    Error::Model {
        path: dir.join(files::CHECKPOINTS),
        problem: "the model is trained, but there is no checkpoint to resume from".into(),
        hint: Some(
            "restore the folder, train into another `RunOptions::out`, or replace the model with \
             `Existing::Force`"
                .into(),
        ),
    }
}
