//! What has to stand before the first update: run directory, corpora, tokenizers, model.

use std::collections::HashSet;
use std::path::Path;

use burn::module::Module;

use super::directory::{self, Found, StoredRun};
use super::memory::Subject;
use super::report::{Event, Observer, Silent, StartReport};
use super::validate::ValidationSet;
use super::{Existing, Learner, Memory, RunOptions, memory};
use crate::checkpoint::{self, DataFile, Lock, Provenance, Run};
use crate::config::{Config, CorpusConfig, Task};
use crate::data::{self, Batcher, Budget, Corpus, Example, Feed, Form, Masking, Stream};
use crate::device::{self, Device};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::text::{self, Masks, Tokenizers};

/// The built-in validation pairs come from another part of the generator's sequence than the training pairs.
const VALIDATION_SEED: u64 = 0x5eed_0f7a_11da_7e00;

/// What the data give.
#[derive(Debug)]
pub(super) struct Material {
    pub tokenizers: Tokenizers,
    pub feed: Feed,
    /// Sentence pairs, texts or windows to train on.
    pub n_examples: usize,
    pub validation: Option<ValidationSet>,
    pub provenance: Provenance,
}

/// Everything that a run needs.
#[derive(Debug)]
pub(super) struct Prepared {
    pub config: Config,
    pub run: Run,
    pub material: Material,
    pub learner: Learner,
    pub memory: Memory,
    /// The update of the checkpoint to go on from.
    pub resume_at: Option<u64>,
    /// Keeps other processes from writing to the run directory.
    pub _lock: Lock,
}

/// Reads, learns and checks; the run directory is touched only when nothing else can fail.
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
            "nothing to resume in `{}`: beginning a new run",
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
    if let Some(warning) = start.as_ref().and_then(|start| start.warning.as_deref()) {
        observer.on(&Event::Warning(warning));
    }
    let resume_at = start.map(|start| start.step);
    let device = device::cpu().autodiff();
    let model = match resume_at {
        Some(step) => {
            checkpoint::load_weights(config, &material.tokenizers, &run.weights(step)?, &device)?
        }
        None => fresh_model(config, &material.tokenizers, &device),
    };
    let memory = check_memory(config, &model, &material)?;
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

/// Predicts the memory that training will take, and refuses what does not fit.
pub(super) fn check_memory(config: &Config, model: &Model, material: &Material) -> Result<Memory> {
    let subject = Subject {
        config,
        n_parameters: model.num_params(),
        vocab: material.tokenizers.tgt().vocab_size(),
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
    /// What the encoded corpora take.
    fn bytes(&self) -> usize {
        let validation = self.validation.as_ref().map_or(0, ValidationSet::bytes);
        self.feed.bytes() + validation
    }

    /// The run as it starts after update `step`.
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
pub(super) fn fresh_model(config: &Config, tokenizers: &Tokenizers, device: &Device) -> Model {
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    Model::new(&config.model, src, tgt, config.seed, device)
}

/// Reads the corpora, and learns tokenizers or takes those of a stored run in the directory named with it.
pub(super) fn material(
    config: &Config,
    stored: Option<(&Path, &StoredRun)>,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Material> {
    let form = Form::of(config);
    let mut train = data::read(
        &config.data.train,
        form,
        config.data.dir.as_deref(),
        config.seed,
    )?;
    note(observer, "training data", &train);
    let valid = read_validation(config, form, &mut train, observer)?;
    stop_if_asked(interrupt)?;
    let provenance = provenance(config, &train, valid.as_ref());
    let tokenizers = match stored {
        Some((dir, run)) => {
            check_same_data(dir, &run.provenance, &provenance)?;
            run.tokenizers.clone()
        }
        None => learn(config, &train)?,
    };
    stop_if_asked(interrupt)?;
    let (feed, n_examples) = feed(config, form, &tokenizers, &train, observer)?;
    // The text is as large as all that is made of it.
    drop(train);
    let validation = valid
        .map(|valid| validation_set(config, form, &tokenizers, valid, observer))
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

/// The corpus that `config` validates on, if there is one.
///
/// # Errors
/// As for [`data::read`] and [`Corpus::hold_out`].
pub fn validation_corpus(config: &Config) -> Result<Option<Corpus>> {
    let form = Form::of(config);
    let dir = config.data.dir.as_deref();
    let mut train = data::read(&config.data.train, form, dir, config.seed)?;
    read_validation(config, form, &mut train, &mut Silent)
}

/// Reading and learning can take a while; up to here nothing is lost by stopping.
fn stop_if_asked(interrupt: &Interrupt) -> Result<()> {
    match interrupt.requested() {
        Some(signal) => Err(Error::Interrupted {
            signal,
            saved: "training had not begun".into(),
        }),
        None => Ok(()),
    }
}

fn learn(config: &Config, train: &Corpus) -> Result<Tokenizers> {
    let side = |pick| -> Vec<&str> { train.pairs.iter().map::<&str, fn(_) -> _>(pick).collect() };
    let src = match Form::of(config).has_source() {
        true => side(|pair| &pair.src),
        false => Vec::new(),
    };
    let (tokenizer, tgt) = (&config.tokenizer, side(|pair| &pair.tgt));
    match config.model.family.task() {
        Task::Translate | Task::Generate => text::learn(tokenizer, Masks::Without, &src, &tgt),
        Task::Fill => text::learn(tokenizer, Masks::With, &src, &tgt),
        Task::Tag => text::learn_tagged(tokenizer, &src, &tgt),
    }
}

/// Batches of `train`, and of how many examples.
fn feed(
    config: &Config,
    form: Form,
    tokenizers: &Tokenizers,
    train: &Corpus,
    observer: &mut dyn Observer,
) -> Result<(Feed, usize)> {
    let (window, tokens) = (config.model.max_len, config.train.batch_tokens);
    if let (Form::Stream, [whole]) = (form, train.pairs.as_slice()) {
        let ids = tokenizers.tgt().encode(&whole.tgt)?;
        let stream = Stream::new(ids, window, tokens / window, config.seed)?;
        let n_windows = stream.n_windows();
        return Ok((Feed::Stream(stream), n_windows));
    }
    let task = config.model.family.task();
    let max_len = config.data.max_len.min(window);
    let (examples, encoded) = data::encode(train, form, task, tokenizers, max_len)?;
    if encoded.dropped() > 0 {
        observer.on(&Event::Note(&format!("training data: {encoded}")));
    }
    let (n_examples, budget) = (examples.len(), Budget::new(tokens));
    let special = tokenizers.tgt().special();
    let masking = Masking::new(tokenizers.tgt(), config.seed);
    let batcher = Batcher::new(examples, budget, config.seed, special, masking)?;
    Ok((Feed::Lines(batcher), n_examples))
}

fn read_validation(
    config: &Config,
    form: Form,
    train: &mut Corpus,
    observer: &mut dyn Observer,
) -> Result<Option<Corpus>> {
    if config.data.hold_out > 0.0 {
        return train.hold_out(config.data.hold_out, form).map(Some);
    }
    let Some(corpus) = &config.data.valid else {
        return Ok(None);
    };
    let mut valid = data::read(
        corpus,
        form,
        config.data.dir.as_deref(),
        config.seed ^ VALIDATION_SEED,
    )?;
    if corpus.builtin.is_some() {
        let side = |pair: &data::Pair| match form.has_source() {
            true => pair.src.clone(),
            false => pair.tgt.clone(),
        };
        let seen: HashSet<String> = train.pairs.iter().map(side).collect();
        valid.pairs.retain(|pair| !seen.contains(&side(pair)));
    }
    note(observer, "validation data", &valid);
    Ok(Some(valid))
}

fn validation_set(
    config: &Config,
    form: Form,
    tokenizers: &Tokenizers,
    valid: Corpus,
    observer: &mut dyn Observer,
) -> Result<ValidationSet> {
    let task = config.model.family.task();
    let (window, tokens) = (config.model.max_len, config.train.batch_tokens);
    if let (Form::Stream, [whole]) = (form, valid.pairs.as_slice()) {
        let ids = tokenizers.tgt().encode(&whole.tgt)?;
        return Ok(ValidationSet {
            batches: data::fixed_windows(&ids, window, tokens / window)?,
            src: Vec::new(),
            tgt: Vec::new(),
        });
    }
    let (examples, encoded) = data::encode(&valid, form, task, tokenizers, window)?;
    if encoded.dropped() > 0 {
        observer.on(&Event::Note(&format!("validation data: {encoded}")));
    }
    let special = tokenizers.tgt().special();
    let masking = Masking::fixed(tokenizers.tgt());
    // A validation pair may be longer than any training pair: it then has a batch of its own.
    let len = |example: &Example| example.src_len().max(example.tgt_len());
    let longest = examples.iter().map(len).max().unwrap_or(0);
    let budget = Budget::new(tokens.max(longest));
    let batches = data::fixed_batches(examples, budget, special, masking)?;
    let shown = match task {
        Task::Translate => config.train.validate_sentences,
        Task::Tag | Task::Generate | Task::Fill => 0,
    };
    let shown = valid.pairs.into_iter().take(shown);
    let (src, tgt) = shown.map(|pair| (pair.src, pair.tgt)).unzip();
    Ok(ValidationSet { batches, src, tgt })
}

fn note(observer: &mut dyn Observer, what: &str, corpus: &Corpus) {
    observer.on(&Event::Note(&format!("{what}: {}", corpus.stats)));
}

fn provenance(config: &Config, train: &Corpus, valid: Option<&Corpus>) -> Provenance {
    let files_of = |role: &str, corpus: &Corpus, origin: &CorpusConfig| -> Vec<DataFile> {
        let builtin = origin.builtin.map(|task| DataFile {
            role: role.into(),
            path: format!("builtin:{task:?}").to_lowercase(),
            sha256: String::new(),
            bytes: 0,
        });
        let read = corpus.sources.iter().map(|file| DataFile {
            role: role.into(),
            path: file.path.display().to_string(),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
        });
        builtin.into_iter().chain(read).collect()
    };
    let mut data = files_of("train", train, &config.data.train);
    if let (Some(corpus), Some(origin)) = (valid, &config.data.valid) {
        data.extend(files_of("valid", corpus, origin));
    }
    Provenance {
        program: Provenance::this_program(),
        seed: config.seed,
        data,
        ..Provenance::default()
    }
}

/// A resumed run must read what it read before.
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
                "`{path}` has changed since the run in `{}` began",
                dir.display()
            ),
            hint: Some("restore the file, or begin another run with `--out`".into()),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
