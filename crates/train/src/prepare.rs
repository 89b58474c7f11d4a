//! Prepares a run before its first update: run directory, corpora, tokenizers and model.

use std::path::PathBuf;

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, Lock};
use attentive_config::Config;
use attentive_data::BatchSize;
use attentive_device::current;
use attentive_interop::ExportFormat;
use attentive_kernels::threads::Threads;
use attentive_model::model::{Model, Parameter};
use attentive_model::nn::Blueprint;
use attentive_processes::Processes;
use attentive_text::Tokenizers;

use super::agreement::{check_config, require_same_products};
use super::corpora::InMemoryCorpora;
use super::duplicates;
use super::exchange::parameters_of_first;
use super::fitting_batch;
use super::frozen::Frozen;
use super::material::{Material, material, preparing};
use super::memory::Subject;
use super::opened_run::OpenedRun;
use super::report::{Event, Observer};
use super::{Learner, MemoryEstimate, RunOptions, Schedule, memory};

/// A pattern of the names of all embeddings.
const EMBEDDINGS: &str = "*.embedding.weight";

/// A pattern of the names of tables of positions, which some models must keep for an export.
const POSITIONS: &str = "*.positions.*";

/// A prepared run.
#[derive(Debug)]
pub(super) struct PreparedRun {
    pub config: Config,
    pub processes: Processes,
    /// The run directory.
    pub dir: PathBuf,
    pub material: Material,
    pub learner: Learner,
    pub frozen: Frozen,
    pub memory: MemoryEstimate,
    /// The update of the checkpoint to resume from.
    pub resume_at: Option<u64>,
    /// Keeps other runs from writing to the run directory. The first process holds it.
    pub _lock: Option<Lock>,
}

/// Reads, learns and checks everything; changes the run directory only once nothing else can fail.
pub(super) fn prepare(
    config: &Config,
    in_memory: InMemoryCorpora,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<PreparedRun> {
    let (dir, processes) = (options.out.as_path(), &options.processes);
    processes.agree("the configuration was checked", check_config(config, processes))?;
    let of_device = current().hardware().and_then(|hardware| hardware.warning());
    let of_data = duplicates::warnings(&config.data);
    for warning in Schedule::warnings(config).into_iter().chain(of_data).chain(of_device) {
        observer.on(&Event::Warning(&warning));
    }
    let opened = processes.is_first().then(|| OpenedRun::open(config, options, observer)).transpose();
    let opened = processes.agree("the run directory was opened", opened)?;
    let context = opened.as_ref().map(|opened| opened.context(dir)).unwrap_or_default();
    let mut material =
        preparing(&options.interrupt, || material(config, context, in_memory, processes, observer))?;
    let architecture = checkpoint::architecture(config, &material.tokenizers);
    let frozen = Frozen::of(config, &architecture);
    let frozen = processes.agree("frozen parameters were named", frozen)?;
    let begins = opened.as_ref().is_none_or(|opened| opened.resume_at().is_none());
    let memory = check_memory(config, &architecture, &frozen, &mut material, (processes, begins), observer);
    let (memory, batch_tokens) = processes.agree("memory was predicted", memory)?;
    let config = &with_batches(config, batch_tokens);
    let resume_at = opened.as_ref().and_then(OpenedRun::resume_at);
    let resume_at = processes.value_of_first("the checkpoint was read", || Ok(resume_at))?;
    let weights =
        opened.as_ref().map_or(Ok(None), |opened| opened.weights(config, dir, &architecture, observer));
    let weights = processes.agree("the weights were read", weights)?;
    let model = if resume_at.is_some() || config.model.from.is_some() {
        model_of_first(processes, weights, &architecture)
    } else {
        fresh_model(config, &architecture)
    };
    note_frozen(&frozen, &architecture, observer);
    if resume_at.is_none() {
        let limits = export_limits(config, &material.tokenizers);
        limits.iter().for_each(|note| observer.on(&Event::Note(note)));
    }
    frozen.apply(&model);
    keep_start_at_zero(config, &material.tokenizers, &model)?;
    let learner = Learner::among(processes.clone(), model, config);
    require_same_products(&learner, processes)?;
    let lock = opened.map(|opened| opened.claim(dir, config, &material));
    let lock = processes.agree("the run directory was claimed", lock.transpose())?;
    Ok(PreparedRun {
        config: config.clone(),
        processes: processes.clone(),
        dir: dir.to_path_buf(),
        learner,
        frozen,
        material,
        memory,
        resume_at,
        _lock: lock,
    })
}

/// Keeps the embedding of the token that the decoder reads first at zero, if it is configured.
pub(super) fn keep_start_at_zero(config: &Config, tokenizers: &Tokenizers, model: &Model) -> Result<()> {
    if config.model.family.decoder().is_some_and(|keys| keys.zero_start_embedding) {
        model.keep_start_at_zero(tokenizers.contract(&config.model)?.start);
    }
    Ok(())
}

/// The model with the `weights` that the first process has.
fn model_of_first(
    processes: &Processes,
    weights: Option<Vec<Parameter>>,
    architecture: &Architecture,
) -> Model {
    let shapes = checkpoint::shapes(architecture);
    let weights = parameters_of_first(processes, weights, shapes);
    checkpoint::build(architecture, weights)
}

fn note_frozen(frozen: &Frozen, architecture: &Architecture, observer: &mut dyn Observer) {
    let (n_frozen, n) = (frozen.n_weights(), Blueprint::new(architecture).n_weights());
    if n_frozen > 0 {
        let note = format!("{n_frozen} of {n} weights are frozen");
        observer.on(&Event::Note(&note));
    }
}

/// Describes the formats to which the model can be exported, or the setting that prevents an export, since
/// settings cannot be changed later.
fn export_limits(config: &Config, tokenizers: &Tokenizers) -> Vec<String> {
    let in_training = |format: &ExportFormat| format.obstacle_in_training(config, tokenizers);
    let obstacles: Vec<String> = ExportFormat::ALL.iter().filter_map(in_training).collect();
    let formats = ExportFormat::ALL.iter().filter(|format| in_training(format).is_none());
    let kinds = formats.filter_map(|format| format.kind_of(config, tokenizers).ok());
    let kinds: Vec<String> = kinds.map(|kind| format!("as {kind}")).collect();
    let note = match &kinds[..] {
        [] if !obstacles.is_empty() => return obstacles,
        [] => {
            let format = ExportFormat::Hf;
            let problem = format.obstacle(config, tokenizers).unwrap_or_default();
            format!("the model cannot be exported for `{}`: {problem}", format.tool())
        }
        [only] => format!("the model can be exported {only}"),
        [first @ .., last] => format!("the model can be exported {} and {last}", first.join(", ")),
    };
    std::iter::once(note).chain(obstacles).collect()
}

/// Predicts the memory use of training, and refuses a run that does not fit, which may begin or be resumed.
/// Returns the size of batches, too, which is found if the configuration leaves it open.
pub(super) fn check_memory(
    config: &Config,
    architecture: &Architecture,
    frozen: &Frozen,
    material: &mut Material,
    (processes, begins): (&Processes, bool),
    observer: &mut dyn Observer,
) -> Result<(MemoryEstimate, usize)> {
    let subject = Subject {
        config,
        architecture,
        frozen,
        data: material.bytes(),
        resident: memory::resident(),
        threads: Threads::current().count(),
        processes: processes.count(),
        gpu: current().hardware().map(|hardware| hardware.memory),
    };
    let batch_tokens = fitting_batch::find(&subject, material, processes, observer)?;
    let feed = &material.feed;
    let memory = MemoryEstimate::predict(&subject, &feed.sizes());
    if let Some(limit) = memory::limit(config, processes.on_this_machine()) {
        let with_budget = |tokens| MemoryEstimate::predict(&subject, &feed.sizes_within(tokens));
        let checked = memory.check(batch_tokens, limit, feed.least_batch_tokens(), with_budget);
        checked.map_err(|error| {
            // What is frozen cannot change when a run is resumed.
            if begins { with_frozen_embeddings(error, &subject, memory, &feed.sizes()) } else { error }
        })?;
    }
    Ok((memory, batch_tokens))
}

/// The `error` of a run that starts from a model and does not fit, with a hint to freeze its embeddings if
/// they are a large part of what is needed.
fn with_frozen_embeddings(
    error: Error,
    subject: &Subject<'_>,
    memory: MemoryEstimate,
    sizes: &[BatchSize],
) -> Error {
    /// The least share of the RAM that is worth a hint.
    const LARGE: f64 = 0.1;
    let Error::Config { key, expected, found, hint: Some(hint) } = error else {
        return error;
    };
    let with = |patterns: &[&str]| {
        let mut config = subject.config.clone();
        config.model.freeze.extend(patterns.iter().map(|&pattern| pattern.to_owned()));
        let frozen = config.model.from.is_some().then(|| Frozen::of(&config, subject.architecture).ok());
        frozen.flatten().map(|frozen| (config.model.freeze, frozen))
    };
    let (freeze, frozen) = with(&[EMBEDDINGS, POSITIONS]).or_else(|| with(&[EMBEDDINGS])).unzip();
    let saved = frozen.map_or(0.0, |frozen| {
        memory.peak() - MemoryEstimate::predict(&Subject { frozen: &frozen, ..*subject }, sizes).peak()
    });
    let hint = if saved > LARGE * memory.peak() {
        let freeze = freeze.unwrap_or_default();
        format!("{hint}; `model.freeze = {freeze:?}` saves about {:.0} MB", saved / memory::MB)
    } else {
        hint
    };
    Error::Config { key, expected, found, hint: Some(hint) }
}

/// `config` with batches of this size.
pub(super) fn with_batches(config: &Config, batch_tokens: usize) -> Config {
    let mut config = config.clone();
    config.train.batch_tokens = batch_tokens;
    config
}

/// The model before its first update.
pub(super) fn fresh_model(config: &Config, architecture: &Architecture) -> Model {
    Model::new(architecture, config.model.init, config.seed)
}
