//! Prepares a run before its first update: run directory, corpora, tokenizers and model.

use std::path::Path;

use burn::module::Module;

use super::corpora::{self, TRAINING, VALIDATION, watch};
use super::directory::{self, Found, StoredRun};
use super::memory::Subject;
use super::report::{Event, Observer, Preparing, StartReport};
use super::validate::ValidationSet;
use super::{Existing, Learner, Memory, RunOptions, memory};
use crate::architecture::Architecture;
use crate::checkpoint::{self, DataFile, Lock, Provenance, Run, files};
use crate::config::{Config, CorpusSource, Task};
use crate::data::{self, Batcher, Budget, Corpus, Example, Feed, Masking, Stream};
use crate::device::{self, Device};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::text::{self, Masks, Tokenizers};

/// Tokenizers and encoded data.
#[derive(Debug)]
pub(super) struct Material {
    pub tokenizers: Tokenizers,
    pub feed: Feed,
    /// Sentence pairs, texts or windows to train on.
    pub n_examples: usize,
    pub validation: Option<ValidationSet>,
    pub provenance: Provenance,
}

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

impl Material {
    /// The size of the encoded corpora in bytes.
    fn bytes(&self) -> usize {
        let validation = self.validation.as_ref().map_or(0, ValidationSet::bytes);
        self.feed.bytes() + validation
    }

    /// The report at the start of the run, after update `step`.
    pub(super) fn start_report(
        &self,
        config: &Config,
        learner: &Learner,
        memory: Memory,
        step: u64,
    ) -> StartReport {
        let accumulate = config.train.accumulate.max(1) as u64;
        StartReport {
            step,
            max_steps: config.train.max_steps,
            n_parameters: learner.model().num_params(),
            n_examples: self.n_examples,
            src_vocab: self.tokenizers.src().vocab_size(),
            tgt_vocab: self.tokenizers.tgt().vocab_size(),
            steps_per_epoch: (self.feed.batches_per_epoch() as u64).div_ceil(accumulate),
            memory: memory.most() as u64,
            products: learner.products(),
        }
    }
}

/// The model before its first update.
pub(super) fn fresh_model(config: &Config, architecture: &Architecture, device: &Device) -> Model {
    Model::new(architecture, config.model.init, config.seed, device)
}

/// Reads the corpora, and learns tokenizers or takes those of the stored run, given with its directory.
pub(super) fn material(
    config: &Config,
    stored: Option<(&Path, &StoredRun)>,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Material> {
    let mut train = corpora::training(config, observer)?;
    let valid = corpora::validation(config, &mut train, observer)?;
    stop_if_asked(interrupt)?;
    let provenance = provenance(config, &train, valid.as_ref());
    let tokenizers = match stored {
        Some((dir, run)) => {
            check_same_data(dir, &run.provenance, &provenance)?;
            run.tokenizers.clone()
        }
        None => {
            observer.on(&Event::Preparing(Preparing::Vocabulary));
            learn(config, &train)?.for_model(&config.model)?
        }
    };
    stop_if_asked(interrupt)?;
    let (feed, n_examples) = feed(config, &tokenizers, &train, observer)?;
    // The raw text is as large as all data derived from it, so it is freed early.
    drop(train);
    let validation = valid
        .map(|valid| validation_set(config, &tokenizers, valid, observer))
        .transpose()?;
    stop_if_asked(interrupt)?;
    Ok(Material {
        tokenizers,
        feed,
        n_examples,
        validation,
        provenance,
    })
}

/// Stops on request. Reading and learning can take a while, and nothing is lost by stopping here.
fn stop_if_asked(interrupt: &Interrupt) -> Result<()> {
    match interrupt.requested() {
        Some(signal) => Err(Error::Interrupted {
            signal,
            saved: "training had not started".into(),
        }),
        None => Ok(()),
    }
}

fn learn(config: &Config, train: &Corpus) -> Result<Tokenizers> {
    let (src, tgt) = (train.src_texts(), train.tgt_texts());
    let tokenizer = &config.tokenizer;
    match config.model.family.task() {
        Task::Translate | Task::Generate => text::learn(tokenizer, Masks::Without, &src, &tgt),
        Task::Fill => text::learn(tokenizer, Masks::With, &src, &tgt),
        Task::Tag | Task::Classify => text::learn_tagged(tokenizer, &src, &tgt),
    }
}

/// Batches of `train`, and the number of its examples.
fn feed(
    config: &Config,
    tokenizers: &Tokenizers,
    train: &Corpus,
    observer: &mut dyn Observer,
) -> Result<(Feed, usize)> {
    let (window, tokens) = (config.model.max_len, config.train.batch_tokens);
    if let Some(text) = train.stream() {
        let ids = tokenizers.tgt().encode(text)?;
        let stream = Stream::new(ids, window, tokens / window, config.seed)?;
        let n_windows = stream.n_windows();
        return Ok((Feed::Stream(stream), n_windows));
    }
    let task = config.model.family.task();
    let max_len = config.data.max_len.min(window);
    let (examples, encoded) = data::encode(
        train,
        task,
        tokenizers,
        max_len,
        &mut watch(TRAINING, observer),
    )?;
    if encoded.dropped() > 0 {
        observer.on(&Event::Note(&format!("{TRAINING}: {encoded}")));
    }
    let (n_examples, budget) = (examples.len(), Budget::new(tokens));
    let special = tokenizers.sides();
    let masking = Masking::new(tokenizers.tgt(), config.seed);
    let batcher = Batcher::new(examples, budget, config.seed, special, masking)?;
    Ok((Feed::Lines(batcher), n_examples))
}

fn validation_set(
    config: &Config,
    tokenizers: &Tokenizers,
    valid: Corpus,
    observer: &mut dyn Observer,
) -> Result<ValidationSet> {
    let task = config.model.family.task();
    let (window, tokens) = (config.model.max_len, config.train.batch_tokens);
    if let Some(text) = valid.stream() {
        let ids = tokenizers.tgt().encode(text)?;
        return Ok(ValidationSet {
            batches: data::fixed_windows(&ids, window, tokens / window)?,
            src: Vec::new(),
            tgt: Vec::new(),
        });
    }
    let (examples, encoded) = data::encode(
        &valid,
        task,
        tokenizers,
        window,
        &mut watch(VALIDATION, observer),
    )?;
    if encoded.dropped() > 0 {
        observer.on(&Event::Note(&format!("{VALIDATION}: {encoded}")));
    }
    let special = tokenizers.sides();
    let masking = Masking::fixed(tokenizers.tgt());
    // A validation pair longer than any training pair gets a batch of its own.
    let len = |example: &Example| example.src_len().max(example.tgt_len());
    let longest = examples.iter().map(len).max().unwrap_or(0);
    let budget = Budget::new(tokens.max(longest));
    let batches = data::fixed_batches(examples, budget, special, masking)?;
    let shown = match task {
        Task::Translate => config.train.validate_sentences,
        Task::Tag | Task::Classify | Task::Generate | Task::Fill => 0,
    };
    let shown = valid.translations().take(shown);
    let (src, tgt) = shown.map(|(src, tgt)| (src.into(), tgt.into())).unzip();
    Ok(ValidationSet { batches, src, tgt })
}

fn provenance(config: &Config, train: &Corpus, valid: Option<&Corpus>) -> Provenance {
    let files_of = |role: &str, corpus: &Corpus, source: &CorpusSource| -> Vec<DataFile> {
        let builtin = match source {
            CorpusSource::Builtin { task, .. } => Some(DataFile {
                role: role.into(),
                path: format!("builtin:{task:?}").to_lowercase(),
                sha256: String::new(),
                bytes: 0,
            }),
            _ => None,
        };
        let read = corpus.sources().iter().map(|file| DataFile {
            role: role.into(),
            path: file.path.display().to_string(),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
        });
        builtin.into_iter().chain(read).collect()
    };
    let corpora = [
        ("train", Some(train), &config.data.train),
        ("valid", valid, &config.data.valid),
    ];
    let data = corpora
        .into_iter()
        .filter_map(|(role, corpus, source)| Some(files_of(role, corpus?, source.as_ref()?)))
        .flatten()
        .collect();
    Provenance {
        program: Provenance::this_program(),
        seed: config.seed,
        data,
        ..Provenance::default()
    }
}

/// Requires that a resumed run reads the same data as before.
fn check_same_data(dir: &Path, before: &Provenance, now: &Provenance) -> Result<()> {
    let trained_on = |provenance: &Provenance| -> Vec<(String, String)> {
        let train = provenance.data.iter().filter(|file| file.role == "train");
        train
            .map(|file| (file.sha256.clone(), file.path.clone()))
            .collect()
    };
    let (before, now) = (trained_on(before), trained_on(now));
    match before
        .iter()
        .zip(&now)
        .find(|(before, now)| before.0 != now.0)
    {
        Some((_, (_, path))) => Err(Error::Data {
            problem: format!(
                "`{path}` has changed since the run in `{}` started",
                dir.display()
            ),
            hint: Some(
                "restore the file, or start a new run with another `RunOptions::out`".into(),
            ),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
