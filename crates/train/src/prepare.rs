//! Prepares a run before its first update: run directory, corpora, tokenizers and model.

use std::path::{Path, PathBuf};

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, Lock, Provenance, Run, files};
use attentive_config::{Config, KeyDifference, OptimizerKind};
use attentive_data::BatchSize;
use attentive_device::current;
use attentive_interop::ExportFormat;
use attentive_kernels::threads::Threads;
use attentive_model::engine::Precision;
use attentive_model::model::{Model, Parameter};
use attentive_model::nn::Blueprint;
use attentive_processes::Processes;
use attentive_text::Tokenizers;

use super::corpora::InMemoryCorpora;
use super::directory::{self, DirectoryContents};
use super::duplicates;
use super::exchange::parameters_of_first;
use super::fitting_batch;
use super::frozen::Frozen;
use super::material::{Material, RunContext, material, preparing};
use super::memory::Subject;
use super::pretrained::PretrainedModel;
use super::report::{Event, Observer};
use super::{Existing, Learner, MemoryEstimate, RunOptions, Schedule, memory};

/// A pattern of the names of all embeddings.
const EMBEDDINGS: &str = "*.embedding.weight";

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

/// The run directory, with its contents as found.
struct Opened {
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

impl Opened {
    /// The facts about the run in `dir` that are known before the training data are read.
    fn context<'a>(&'a self, dir: &'a Path) -> RunContext<'a> {
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
    fn resume_at(&self) -> Option<u64> {
        match self.beginning {
            Beginning::Checkpoint(step) => Some(step),
            Beginning::Nothing | Beginning::Model(_) => None,
        }
    }

    /// Makes the directory that of this run.
    fn claim(self, dir: &Path, config: &Config, material: &Material) -> Result<Lock> {
        let (tokenizers, provenance) = (&material.tokenizers, &material.provenance);
        directory::claim(dir, self.contents, config, tokenizers, provenance)?;
        Ok(self.lock)
    }

    /// The weights, unless they are initialized randomly.
    fn weights(
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

/// Reads, learns and checks everything; changes the run directory only once nothing else can fail.
pub(super) fn prepare(
    config: &Config,
    in_memory: InMemoryCorpora,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<PreparedRun> {
    let (dir, processes) = (options.out.as_path(), &options.processes);
    processes.agree("the configuration was checked", check(config, processes))?;
    let of_device = current().hardware().and_then(|hardware| hardware.warning());
    let of_data = duplicates::warnings(&config.data);
    for warning in Schedule::warnings(config).into_iter().chain(of_data).chain(of_device) {
        observer.on(&Event::Warning(&warning));
    }
    let opened = processes.is_first().then(|| open(config, options, observer)).transpose();
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
    let resume_at = opened.as_ref().and_then(Opened::resume_at);
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
        observer.on(&Event::Note(&export_limits(config, &material.tokenizers)));
        if let Some(note) =
            ExportFormat::Hf.obstacle_in_training(config, &material.tokenizers, frozen.names())
        {
            observer.on(&Event::Note(&note));
        }
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

/// Refuses processes whose matrix products differ in their bits.
fn require_same_products(learner: &Learner, processes: &Processes) -> Result<()> {
    let products = learner.products();
    let hardware = current().hardware();
    let device = hardware.map_or("the CPU".into(), |hardware| hardware.name);
    processes.require_same("the device (`train.device`) or its driver", &device)?;
    // Products in f32 have the same bits on all machines.
    let products = match products.matmul {
        Precision::F32 => Precision::F32.to_string(),
        _ => products.to_string(),
    };
    processes
        .require_same("the precision of products (`train.precision`) or the CPU's instructions", &products)
}

/// Describes the formats to which the model can be exported, or the setting that prevents an export, since
/// settings cannot be changed later.
fn export_limits(config: &Config, tokenizers: &Tokenizers) -> String {
    let kinds = ExportFormat::ALL.iter().filter_map(|format| format.kind_of(config, tokenizers).ok());
    let kinds: Vec<String> = kinds.map(|kind| format!("as {kind}")).collect();
    match &kinds[..] {
        [] => {
            let format = ExportFormat::Hf;
            let problem = format.obstacle(config, tokenizers).unwrap_or_default();
            format!("the model cannot be exported for `{}`: {problem}", format.tool())
        }
        [only] => format!("the model can be exported {only}"),
        [first @ .., last] => format!("the model can be exported {} and {last}", first.join(", ")),
    }
}

/// Checks the configuration, and compares it with the other processes'.
fn check(config: &Config, processes: &Processes) -> Result<()> {
    let checked = config.validate().and_then(|()| check_frozen(config));
    if processes.is_alone() {
        return checked;
    }
    let first = config_of_first(&Provenance::this_program(), config, processes);
    checked?;
    let first = first?;
    if let Some(KeyDifference { key, ours, theirs }) = first.difference(config) {
        return Err(Error::Config {
            key,
            expected: format!("{ours}, as in process 0"),
            found: theirs,
            hint: Some("give all processes the same configuration".into()),
        });
    }
    if config.train.optimizer.kind == OptimizerKind::Muon {
        return Err(Error::Config {
            key: "train.optimizer.kind".into(),
            expected: "another optimizer, since there are several processes".into(),
            found: "`muon`".into(),
            hint: Some("Muon needs whole matrices, of which each process updates a part; use `adamw`".into()),
        });
    }
    let (accumulate, n) = (config.train.micro_batches_per_update, processes.count());
    if accumulate < n {
        return Err(Error::Config {
            key: "train.micro_batches_per_update".into(),
            expected: format!("at least {n}, a micro-batch for each process"),
            found: accumulate.to_string(),
            hint: Some(
                "it counts the micro-batches of an update over all processes; a multiple of their number \
                        keeps all of them busy"
                    .into(),
            ),
        });
    }
    Ok(())
}

/// Checks the patterns of `model.freeze`. Names of parameters do not depend on the sizes of vocabularies.
fn check_frozen(config: &Config) -> Result<()> {
    Frozen::of(config, &config.model.architecture(1, 1)).map(drop)
}

/// The configuration of the first process, which must run the same `program`.
fn config_of_first(program: &str, config: &Config, processes: &Processes) -> Result<Config> {
    let said = serde_json::to_vec(&(program, config)).unwrap_or_default();
    let said = processes.gather("the configuration was checked", &said);
    match serde_json::from_slice::<(String, Config)>(&said[0]) {
        Ok((first, config)) if first == program => Ok(config),
        _ => Err(Error::usage(
            format!("this is {program}, process 0 is another version"),
            "install the same version on all machines",
        )),
    }
}

/// Opens the run directory.
fn open(config: &Config, options: &RunOptions, observer: &mut dyn Observer) -> Result<Opened> {
    let dir = options.out.as_path();
    let lock = directory::lock(dir)?;
    let contents = directory::inspect(config, dir, options.existing)?;
    if matches!(contents, DirectoryContents::Nothing) && options.existing == Existing::Resume {
        observer.on(&Event::Note(&format!("nothing to resume in `{}`: starting a new run", dir.display())));
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
    Ok(Opened { contents, lock, beginning })
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
    let mut config = subject.config.clone();
    config.model.freeze.push(EMBEDDINGS.into());
    let frozen = match &config.model.from {
        Some(_) => Frozen::of(&config, subject.architecture).ok(),
        None => None,
    };
    let saved = frozen.map_or(0.0, |frozen| {
        memory.peak() - MemoryEstimate::predict(&Subject { frozen: &frozen, ..*subject }, sizes).peak()
    });
    let hint = if saved > LARGE * memory.peak() {
        format!("{hint}; `model.freeze = {:?}` saves about {:.0} MB", config.model.freeze, saved / memory::MB)
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

#[cfg(test)]
mod tests {
    use attentive_processes::in_threads;

    use super::*;

    #[test]
    fn another_version_of_the_program_is_refused() {
        let results = in_threads(3, |processes| {
            let program = ["attentive 0.2.0", "attentive 0.2.0", "attentive 0.3.0"][processes.number()];
            let first = config_of_first(program, &Config::default(), &processes);
            let agreed = processes.agree("the configuration was checked", first.map(|_| ()));
            agreed.unwrap_err().to_string()
        });
        for problem in results {
            assert!(problem.starts_with("process 2 ("), "{problem}");
            let expected = "this is attentive 0.3.0, process 0 is another version";
            assert!(problem.ends_with(expected), "{problem}");
        }
    }
}
