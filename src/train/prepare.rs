//! What has to stand before the first update: run directory, corpora, tokenizers, model.

use std::collections::HashSet;
use std::path::Path;

use burn::module::Module;

use super::directory::{self, Found, StoredRun};
use super::memory::Subject;
use super::report::{Event, Observer, StartReport};
use super::validate::ValidationSet;
use super::{Existing, Learner, Memory, RunOptions, memory};
use crate::checkpoint::{self, DataFile, Provenance, Run, files};
use crate::config::{Config, CorpusConfig};
use crate::data::{self, Batcher, Budget, Corpus};
use crate::device::{self, Device};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Transformer;
use crate::text::{self, Tokenizers};

/// The built-in validation pairs come from another part of the generator's sequence than the training pairs.
const VALIDATION_SEED: u64 = 0x5eed_0f7a_11da_7e00;

/// What the data give.
#[derive(Debug)]
pub(super) struct Material {
    pub tokenizers: Tokenizers,
    pub batcher: Batcher,
    pub n_pairs: usize,
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
}

/// Reads, learns and checks; the run directory is touched only when nothing else can fail.
pub(super) fn prepare(
    config: &Config,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Prepared> {
    config.validate()?;
    let dir = options.out.as_path();
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
    let resume_at = stored.map_or(Ok(None), |_| run.last())?;
    let device = device::cpu().autodiff();
    let model = match resume_at {
        Some(step) => checkpoint::load_weights(
            config,
            &material.tokenizers,
            &run.folder(step).join(files::WEIGHTS),
            &device,
        )?,
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
    })
}

/// Predicts the memory that training will take, and refuses what does not fit.
pub(super) fn check_memory(
    config: &Config,
    model: &Transformer,
    material: &Material,
) -> Result<Memory> {
    let subject = Subject {
        config,
        n_parameters: model.num_params(),
        vocab: material.tokenizers.tgt().vocab_size(),
        data: material.bytes(),
        threads: rayon::current_num_threads(),
    };
    let batcher = &material.batcher;
    let memory = Memory::predict(&subject, batcher.largest());
    if let Some(limit) = memory::limit(config) {
        let with_budget = |tokens| {
            let batch = batcher.largest_within(Budget::new(tokens));
            Memory::predict(&subject, batch)
        };
        let least = batcher.least_batch_tokens();
        memory.check(config.train.batch_tokens, limit, least, with_budget)?;
    }
    Ok(memory)
}

impl Material {
    /// What the encoded corpora take.
    fn bytes(&self) -> usize {
        let validation = self.validation.as_ref().map_or(0, ValidationSet::bytes);
        self.batcher.bytes() + validation
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
            n_pairs: self.n_pairs,
            src_vocab: self.tokenizers.src().vocab_size(),
            tgt_vocab: self.tokenizers.tgt().vocab_size(),
            steps_per_epoch: (self.batcher.batches_per_epoch() as u64).div_ceil(accumulate),
            memory: memory.most() as u64,
            products: learner.products(),
        }
    }
}

/// The model before its first update.
pub(super) fn fresh_model(
    config: &Config,
    tokenizers: &Tokenizers,
    device: &Device,
) -> Transformer {
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    Transformer::new(&config.model, src, tgt, config.seed, device)
}

/// Reads the corpora, and learns tokenizers or takes those of a stored run in the directory named with it.
pub(super) fn material(
    config: &Config,
    stored: Option<(&Path, &StoredRun)>,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Material> {
    let train = data::read(&config.data.train, config.data.dir.as_deref(), config.seed)?;
    note(observer, "training data", &train);
    let valid = read_validation(config, &train, observer)?;
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
    let special = tokenizers.tgt().special();
    let (pairs, encoded) = data::encode(
        &train,
        &tokenizers,
        config.data.max_len.min(config.model.max_len),
    )?;
    // The text is as large as all that is made of it.
    drop(train);
    if encoded.dropped_long > 0 {
        observer.on(&Event::Note(&format!("training data: {encoded}")));
    }
    let n_pairs = pairs.len();
    let budget = Budget::new(config.train.batch_tokens);
    let batcher = Batcher::new(pairs, budget, config.seed, special)?;
    let validation = valid
        .map(|valid| validation_set(config, &tokenizers, valid, observer))
        .transpose()?;
    stop_if_asked(interrupt)?;
    Ok(Material {
        tokenizers,
        batcher,
        n_pairs,
        validation,
        provenance,
    })
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
    text::learn(
        &config.tokenizer,
        &side(|pair| &pair.src),
        &side(|pair| &pair.tgt),
    )
}

fn read_validation(
    config: &Config,
    train: &Corpus,
    observer: &mut dyn Observer,
) -> Result<Option<Corpus>> {
    let Some(corpus) = &config.data.valid else {
        return Ok(None);
    };
    let mut valid = data::read(
        corpus,
        config.data.dir.as_deref(),
        config.seed ^ VALIDATION_SEED,
    )?;
    if corpus.builtin.is_some() {
        let seen: HashSet<&str> = train.pairs.iter().map(|pair| pair.src.as_str()).collect();
        valid.pairs.retain(|pair| !seen.contains(pair.src.as_str()));
    }
    note(observer, "validation data", &valid);
    Ok(Some(valid))
}

fn validation_set(
    config: &Config,
    tokenizers: &Tokenizers,
    valid: Corpus,
    observer: &mut dyn Observer,
) -> Result<ValidationSet> {
    let (pairs, encoded) = data::encode(&valid, tokenizers, config.model.max_len)?;
    if encoded.dropped_long > 0 {
        observer.on(&Event::Note(&format!("validation data: {encoded}")));
    }
    // A validation pair may be longer than any training pair: it then has a batch of its own.
    let longest = pairs
        .iter()
        .map(|pair| pair.src_len().max(pair.tgt_len()))
        .max();
    let budget = Budget::new(config.train.batch_tokens.max(longest.unwrap_or(0)));
    let batches = data::fixed_batches(pairs, budget, tokenizers.tgt().special())?;
    let shown = valid
        .pairs
        .into_iter()
        .take(config.train.validate_sentences);
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
