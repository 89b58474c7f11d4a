//! Prepares a run before its first update: run directory, corpora, tokenizers and model.

use std::path::Path;

use super::directory::{self, Found};
use super::material::{Material, material};
use super::memory::Subject;
use super::report::{Event, Observer};
use super::{Existing, Learner, Memory, RunOptions, memory};
use crate::architecture::Architecture;
use crate::checkpoint::{self, Lock, Run, files};
use crate::config::Config;
use crate::device::{self, Device};
use crate::error::{Error, Result};
use crate::model::Model;

/// A prepared run.
#[derive(Debug)]
pub(super) struct Prepared {
    pub config: Config,
    pub run: Run,
    pub material: Material,
    pub learner: Learner,
    pub memory: Memory,
    /// The update of the checkpoint to resume from.
    pub resume_at: Option<u64>,
    /// Keeps other processes from writing to the run directory.
    pub _lock: Lock,
}

/// Reads, learns and checks everything; changes the run directory only once nothing else can fail.
pub(super) fn prepare(
    config: &Config,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Prepared> {
    config.validate()?;
    let dir = options.out.as_path();
    let lock = directory::lock(dir)?;
    let found = directory::inspect(config, dir, options.existing)?;
    if matches!(found, Found::Nothing) && options.existing == Existing::Resume {
        observer.on(&Event::Note(&format!(
            "nothing to resume in `{}`: starting a new run",
            dir.display()
        )));
    }
    let stored = match &found {
        Found::Run(stored) => Some((dir, &**stored)),
        Found::Nothing | Found::Replaceable => None,
    };
    let material = material(config, stored, &options.interrupt, observer)?;
    let run = Run::new(dir);
    let start = stored.map_or(Ok(None), |_| run.start())?;
    if stored.is_some() && start.is_none() && dir.join(files::WEIGHTS).exists() {
        return Err(no_checkpoint(dir));
    }
    if let Some(warning) = start.as_ref().and_then(|start| start.warning.as_deref()) {
        observer.on(&Event::Warning(warning));
    }
    let resume_at = start.map(|start| start.step);
    let device = device::cpu().autodiff();
    let architecture = checkpoint::architecture(config, &material.tokenizers);
    let memory = check_memory(config, &architecture, &material)?;
    let model = match resume_at {
        Some(step) => checkpoint::load_weights(&architecture, run.weights(step)?, &device)?,
        None => fresh_model(config, &architecture, &device),
    };
    directory::claim(
        dir,
        found,
        config,
        &material.tokenizers,
        &material.provenance,
    )?;
    Ok(Prepared {
        config: config.clone(),
        run,
        material,
        learner: Learner::new(model, config, device),
        memory,
        resume_at,
        _lock: lock,
    })
}

/// The error for a trained model from which nothing can be resumed.
fn no_checkpoint(dir: &Path) -> Error {
    Error::Model {
        path: dir.join(files::CHECKPOINTS),
        problem: "the model is trained, but there is no checkpoint to resume from".into(),
        hint: Some(
            "restore the folder, train into another `RunOptions::out`, or replace the model with `Existing::Force`".into(),
        ),
    }
}

/// Predicts the memory use of training, and refuses a run that does not fit.
pub(super) fn check_memory(
    config: &Config,
    architecture: &Architecture,
    material: &Material,
) -> Result<Memory> {
    let subject = Subject {
        config,
        architecture,
        data: material.bytes(),
        threads: rayon::current_num_threads(),
    };
    let feed = &material.feed;
    let memory = Memory::predict(&subject, feed.largest());
    if let Some(limit) = memory::limit(config) {
        let with_budget = |tokens| Memory::predict(&subject, feed.largest_within(tokens));
        let least = feed.least_batch_tokens();
        memory.check(config.train.batch_tokens, limit, least, with_budget)?;
    }
    Ok(memory)
}

/// The model before its first update.
pub(super) fn fresh_model(config: &Config, architecture: &Architecture, device: &Device) -> Model {
    Model::new(architecture, config.model.init, config.seed, device)
}
