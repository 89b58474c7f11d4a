//! The model directory: all files of a model, consistent at any instant.
//!
//! ```text
//! NAME/
//!   config.toml          the resolved configuration
//!   tokenizer.json       or tokenizer.src.json and tokenizer.tgt.json
//!   model.safetensors    weights, named by their field paths
//!   frozen.safetensors   the weights that training left unchanged, if there are any: see `StoredWeights`
//!   packed.safetensors   instead of model.safetensors in a quantized model: see `QuantizedWeights`
//!   shortlist.safetensors  if it translates with a shortlist: see `Shortlist`
//!   provenance.json      data with hashes, seed, updates, scores, program version
//!   metrics.jsonl        log of training
//!   tensorboard/         the same log for TensorBoard, if configured
//!   checkpoints/         checkpoints of the run: see `Run`
//!   .lock                while a process writes here: see `Lock`
//! ```

pub mod atomic;
mod average;
mod checksummed_tensors;
mod choice;
mod copy;
pub mod files;
mod fingerprint;
mod history;
mod lock;
mod mapped_weights;
mod provenance;
mod quantized_weights;
mod recovery;
mod run;
mod safetensors_file;
mod shortlist;
mod stored_numbers;
mod stored_weights;
pub mod sums;
mod unread_weights;
mod versioned_weights;
pub mod weights;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use average::{AverageSelection, Mean, average};
pub use checksummed_tensors::TensorFile;
pub use choice::{Checkpoints, Choice};
pub use copy::copy;
pub use fingerprint::fingerprint;
pub use history::{History, Metric, TrainingCost};
pub use lock::{LOCK, Lock};
pub use mapped_weights::MappedWeights;
pub use provenance::{DataFile, Imported, ParentModel, Provenance, RecordedScore};
pub use quantized_weights::{PackedFile, QuantizedWeights, RoundedWeights, encode as encode_packed};
pub use recovery::ResumePoint;
pub use run::{MatmulBackend, Run, Snapshot, TrainingState};
pub use safetensors_file::SafetensorsFile;
pub use shortlist::write as write_shortlist;
pub use stored_numbers::StoredNumbers;
pub use stored_weights::StoredWeights;
pub use unread_weights::{DenseFiles, UnreadWeights};
pub use versioned_weights::finish_replacing;

use attentive_architecture::Architecture;
use attentive_base::beside::both;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::Config;
use attentive_model::engine::Precision;
use attentive_model::model::{Model, Parameter};
use attentive_model::nn::Blueprint;
use attentive_model::shortlist::Shortlist;
use attentive_text::{Tokenizers, UnnamedTokenizers};

/// The contents of a model directory, whose weights are a `W`.
#[derive(Debug)]
pub struct LoadedModel<W = LoadedWeights> {
    /// The configuration.
    pub config: Config,
    pub tokenizers: Tokenizers,
    /// The model without its weights.
    pub architecture: Architecture,
    pub weights: W,
    /// The shortlist, if there is one.
    pub shortlist: Option<Arc<Shortlist>>,
    /// The origin of the model.
    pub provenance: Provenance,
}

/// The weights of a model directory.
#[derive(Debug)]
pub enum LoadedWeights {
    /// In `f32`, as training wrote them.
    Dense(Vec<Parameter>),
    /// Quantized.
    Packed(QuantizedWeights),
}

/// Loads the model directory `dir`, or the checkpoint in the folder `dir` of a run.
///
/// # Errors
/// Fails if a directory or file is missing, damaged or inconsistent with the others; the error names it and
/// the problem.
pub fn load(dir: &Path) -> Result<LoadedModel> {
    load_as(dir, |_, weights| weights.read())
}

/// Like [`load`], with what `read` makes of the weights of the architecture. It is called again if another
/// process replaces the files meanwhile.
///
/// # Errors
/// The errors of [`load`] and of `read`.
pub fn load_as<W>(
    dir: &Path,
    read: impl Fn(&Architecture, UnreadWeights) -> Result<W>,
) -> Result<LoadedModel<W>> {
    require_model(dir)?;
    let (provenance, loaded) = match packed_file(dir) {
        Some(path) => {
            let recipe = Recipe::load(dir)?;
            let provenance = read_json(&dir.join(files::PROVENANCE))?;
            let packed = QuantizedWeights::open(&path, &recipe.architecture)?;
            let weights = read(&recipe.architecture, UnreadWeights::Packed(packed))?;
            (provenance, (recipe, weights))
        }
        None => versioned_weights::read(dir, |mut stored| {
            // Meanwhile, the configuration and the tokenizers are read.
            stored.begin_checksum()?;
            let recipe = Recipe::load(dir)?;
            let files = DenseFiles::new(stored, &shapes(&recipe.architecture))?;
            let weights = read(&recipe.architecture, UnreadWeights::Dense(files))?;
            Ok((recipe, weights))
        })
        // Whoever writes a configuration wants to know what is wrong with it first.
        .map_err(|error| read_recipe(dir).err().unwrap_or(error))?,
    };
    let (recipe, weights) = loaded;
    let tokenizers = recipe.tokenizers;
    let vocabs = [tokenizers.src(), tokenizers.tgt()].map(|tokenizer| tokenizer.vocab_size());
    let shortlist = shortlist::read(&Config::home(dir).join(files::SHORTLIST), vocabs)?;
    Ok(LoadedModel {
        shortlist: shortlist.map(Arc::new),
        config: recipe.config,
        tokenizers,
        architecture: recipe.architecture,
        weights,
        provenance,
    })
}

/// The configuration and the tokenizers of a model, and the architecture that follows from them.
struct Recipe {
    config: Config,
    tokenizers: Tokenizers,
    architecture: Architecture,
}

impl Recipe {
    /// Reads the recipe of a directory that [`require_model`] has passed.
    fn load(dir: &Path) -> Result<Self> {
        let (config, tokenizers) = read_recipe(dir)?;
        Ok(Self { architecture: architecture(&config, &tokenizers), config, tokenizers })
    }
}

/// Returns true if `dir` is the directory of a quantized model.
pub fn is_quantized(dir: &Path) -> bool {
    packed_file(dir).is_some()
}

/// The path of the quantized weights in `dir`, if it is the directory of a quantized model.
fn packed_file(dir: &Path) -> Option<PathBuf> {
    let mut names = [files::PACKED, files::REPORT].into_iter();
    let is_quantized = names.any(|name| dir.join(name).exists());
    is_quantized.then(|| dir.join(files::PACKED))
}

/// Refuses the directory of a quantized model, which has no checkpoints.
///
/// # Errors
/// [`Error::Usage`]
pub fn require_trained(dir: &Path) -> Result<()> {
    match packed_file(dir) {
        None => Ok(()),
        Some(_) => Err(Error::usage(
            format!("`{}` is a quantized model, not a run", dir.display()),
            "use the run that it was made from",
        )),
    }
}

/// A model directory without its weights.
#[derive(Debug)]
pub struct Description {
    /// The configuration.
    pub config: Config,
    pub tokenizers: Tokenizers,
    /// The model without its weights.
    pub architecture: Architecture,
    /// The number type in which the weights compute unless another one is chosen.
    pub precision: Precision,
    /// True if the weights are stored as engines read them.
    pub is_quantized: bool,
    /// The origin of the model.
    pub provenance: Provenance,
}

impl Description {
    /// The number type in which a model that is not quantized is stored. Runs are stored in `f32`, also those
    /// that started from others.
    pub fn numbers(&self) -> StoredNumbers {
        if self.provenance.imported.is_some() { self.provenance.numbers } else { StoredNumbers::F32 }
    }
}

/// Reads the model directory `dir`, or the checkpoint in the folder `dir`, without its weights. Their names
/// and shapes are checked against the architecture, but not their checksum.
///
/// # Errors
/// Any error of [`load`].
pub fn describe(dir: &Path) -> Result<Description> {
    let (config, tokenizers) = load_recipe(dir)?;
    let architecture = architecture(&config, &tokenizers);
    let (provenance, precision) = match packed_file(dir) {
        Some(path) => {
            let provenance = read_json(&dir.join(files::PROVENANCE))?;
            (provenance, QuantizedWeights::open(&path, &architecture)?.precision())
        }
        None => {
            let expected = shapes(&architecture);
            let (provenance, ()) = versioned_weights::read(dir, |stored| stored.check(&expected))?;
            (provenance, Precision::F32)
        }
    };
    let is_quantized = is_quantized(dir);
    Ok(Description { config, tokenizers, architecture, precision, is_quantized, provenance })
}

/// Loads the configuration and tokenizers, and compares them with the checksums in the provenance, if it has
/// them. For a checkpoint, they are read from the directory of its run.
pub fn load_recipe(dir: &Path) -> Result<(Config, Tokenizers)> {
    require_model(dir)?;
    read_recipe(dir)
}

/// [`load_recipe`] of a directory that [`require_model`] has passed.
fn read_recipe(dir: &Path) -> Result<(Config, Tokenizers)> {
    let home = Config::home(dir);
    let config = || Config::load_stored(&home.join(files::CONFIG));
    let (config, tokenizers) = both(config, || UnnamedTokenizers::load(&home));
    let config = config?;
    let tokenizers = tokenizers?.named(config.special_names())?;
    let tokenizers = tokenizers.for_model(&config.model)?;
    sums::check(&home)?;
    Ok((config, tokenizers))
}

/// Refuses anything but a model directory or the folder of a checkpoint.
fn require_model(dir: &Path) -> Result<()> {
    require_regular_files(dir)?;
    let home = Config::home(dir);
    if home != dir {
        require_regular_files(&home)?;
    }
    if home.join(files::CONFIG).exists() {
        Ok(())
    } else {
        Err(Error::Model {
            path: dir.to_path_buf(),
            problem: format!("not a model directory: it has no `{}`", files::CONFIG),
            hint: Some(
                "give a directory that `attentive train`, `average`, `quantize` or `import` wrote; \
                 `attentive import` converts models of other tools"
                    .into(),
            ),
        })
    }
}

/// Refuses anything but a directory in which the files of a model are regular files.
fn require_regular_files(dir: &Path) -> Result<()> {
    let entries = fs::metadata(dir).map_err(Error::io("open model directory", dir))?;
    if !entries.is_dir() {
        return Err(Error::Model {
            path: dir.to_path_buf(),
            problem: "expected a model directory, found a file".into(),
            hint: Some(
                "give the model directory or the folder of a checkpoint (`checkpoints/step-N`), not a file \
                        in it"
                    .into(),
            ),
        });
    }
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))?.flatten() {
        let path = entry.path();
        if files::include(&entry.file_name().to_string_lossy()) && path.exists() {
            regular_file::require(&path).map_err(Error::io("read", &path))?;
        }
    }
    Ok(())
}

/// Returns the architecture of the model.
pub fn architecture(config: &Config, tokenizers: &Tokenizers) -> Architecture {
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    config.model.architecture(src, tgt)
}

/// Builds a model of `architecture` with the weights `parameters`, which must be complete.
pub fn build(architecture: &Architecture, parameters: Vec<Parameter>) -> Model {
    Model::from_parameters(architecture, parameters, |_, values| values.into())
}

/// The names and shapes of the parameters of `architecture`.
pub fn shapes(architecture: &Architecture) -> Vec<(String, Vec<usize>)> {
    let parameters = Blueprint::new(architecture).into_parameters().into_iter();
    parameters.map(|parameter| (parameter.name, parameter.shape)).collect()
}

/// Reads a JSON file of a model directory.
pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let hint = "the file is truncated or was edited: restore it from a copy";
    read_json_if_there(path, hint)?.ok_or_else(|| missing(path))
}

/// Reads a JSON file; `None` if there is none. `hint` says what to do about a damaged one.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; [`Error::Model`] if it is damaged.
pub fn read_json_if_there<T: serde::de::DeserializeOwned>(path: &Path, hint: &str) -> Result<Option<T>> {
    let text = match regular_file::read_whole(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(Error::io("read", path))?,
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| Error::Model {
        path: path.to_path_buf(),
        problem: format!("damaged: {error}"),
        hint: Some(hint.into()),
    })
}

/// Reads from which teacher, texts and filters the model in `model` was made; `None` if by no distillation.
///
/// # Errors
/// Those of [`read_json_if_there`].
pub fn read_distillation(model: &Path) -> Result<Option<serde_json::Value>> {
    let hint = "restore it, or remove it: it only describes the model's origin";
    read_json_if_there(&Config::home(model).join(files::DISTILLATION), hint)
}

/// The error for a missing file of a model directory.
pub(crate) fn missing(path: &Path) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem: "no such file: the model directory is incomplete".into(),
        hint: Some(
            "copy the whole model directory again; if a training run has not finished writing it, resume the \
             run"
                .into(),
        ),
    }
}

/// Serializes a JSON file of a model directory.
pub fn to_json<T: serde::Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| Error::Data {
        problem: format!("cannot be written as JSON: {error}"),
        hint: None,
    })?;
    text.push(b'\n');
    Ok(text)
}

/// The names and contents of the configuration and tokenizer files, which stay the same for the whole run;
/// the configuration comes last.
fn recipe_files(config: &Config, tokenizers: &Tokenizers) -> Vec<(&'static str, Vec<u8>)> {
    let config = (files::CONFIG, config.to_toml().into_bytes());
    tokenizers.files().into_iter().chain([config]).collect()
}

/// Writes the configuration and tokenizers. The configuration comes last: if it exists, so do the others.
pub fn write_recipe(dir: &Path, config: &Config, tokenizers: &Tokenizers) -> Result<()> {
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    recipe_files(config, tokenizers)
        .iter()
        .try_for_each(|(name, content)| atomic::write_file(&dir.join(name), content))
}

/// Writes the new model directory `dir`, which must not exist: configuration, tokenizers, the files `others`,
/// and then the provenance, with the checksums of the configuration and tokenizers. The directory appears
/// with all files or not at all.
pub fn write_model(
    dir: &Path,
    config: &Config,
    tokenizers: &Tokenizers,
    others: &[(&str, &atomic::ContentWriter<'_>)],
    provenance: &dyn Fn() -> Provenance,
) -> Result<()> {
    let write_provenance = |path: &Path| {
        let mut provenance = provenance();
        provenance.sha256.extend(sums::of(config, tokenizers));
        let json = to_json(&provenance).map_err(io::Error::other)?;
        fs::write(path, json)
    };
    let provenance: (&str, &atomic::ContentWriter<'_>) = (files::PROVENANCE, &write_provenance);
    let recipe = recipe_files(config, tokenizers);
    let recipe: Vec<(&str, Box<atomic::ContentWriter<'_>>)> = (recipe.iter())
        .map(|(name, content)| {
            let write = move |path: &Path| fs::write(path, content);
            (*name, Box::new(write) as Box<atomic::ContentWriter<'_>>)
        })
        .collect();
    let recipe = recipe.iter().map(|(name, write)| (*name, &**write));
    let files: Vec<(&str, &atomic::ContentWriter<'_>)> =
        recipe.chain(others.iter().copied()).chain([provenance]).collect();
    write_folder(dir, &files)
}

/// Refuses an output directory that already exists.
///
/// # Errors
/// [`Error::Usage`] if there is anything at `out`.
pub fn refuse_existing(out: &Path) -> Result<()> {
    match out.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => Err(Error::usage(
            format!("`{}` already exists", out.display()),
            "choose another directory, or remove this one",
        )),
    }
}

/// Writes the new directory `dir`, which must not exist, with these files. It appears with all of them or not
/// at all.
pub fn write_folder(dir: &Path, files: &[(&str, &atomic::ContentWriter<'_>)]) -> Result<()> {
    let temporary = atomic::temporary(dir);
    let _lock = Lock::by_file(&temporary.with_added_extension("lock"), dir)?;
    atomic::write_folder(dir, files)
}

/// The folder of the checkpoint at update `step` in the run directory `dir`.
pub(crate) fn step_folder(dir: &Path, step: u64) -> PathBuf {
    dir.join(files::CHECKPOINTS).join(format!("step-{step:08}"))
}
