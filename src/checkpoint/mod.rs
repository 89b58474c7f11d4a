//! The model directory: everything that a model needs in one place, whole at any instant.
//!
//! ```text
//! NAME/
//!   config.toml          the resolved configuration
//!   tokenizer.json       or tokenizer.src.json and tokenizer.tgt.json
//!   model.safetensors    weights, named by their field paths
//!   provenance.json      data with hashes, seed, updates, scores, program version
//!   metrics.jsonl        what training saw
//!   checkpoints/         the run's own: see `Run`
//! ```

pub mod atomic;
mod average;
mod names;
mod provenance;
mod run;
pub mod weights;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, TensorData};

pub use average::average;
pub use provenance::{DataFile, Provenance, RecordedScore};
pub use run::{Products, Run, Snapshot, TrainingState};

use crate::architecture::Architecture;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::model::{Model, Parameter};
use crate::text::Tokenizers;

/// The file names of a model directory.
pub mod files {
    /// The resolved configuration.
    pub const CONFIG: &str = "config.toml";
    /// The weights.
    pub const WEIGHTS: &str = "model.safetensors";
    /// Where the model comes from.
    pub const PROVENANCE: &str = "provenance.json";
    /// What training saw.
    pub const METRICS: &str = "metrics.jsonl";
    /// The run's checkpoints.
    pub const CHECKPOINTS: &str = "checkpoints";

    /// True if a file or folder called `name` belongs to a model or run.
    pub fn include(name: &str) -> bool {
        [CONFIG, WEIGHTS, PROVENANCE, METRICS, CHECKPOINTS].contains(&name)
            || name.starts_with("tokenizer.")
    }
}

/// A model directory in memory.
#[derive(Debug)]
pub struct LoadedModel {
    /// How the model is built and was trained.
    pub config: Config,
    /// Text to ids and back.
    pub tokenizers: Tokenizers,
    /// The network with its weights.
    pub model: Model,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Loads the model directory `dir` to `device`.
///
/// # Errors
/// A directory or file that is missing, damaged, or does not fit the others; the error names it and what is wrong.
pub fn load(dir: &Path, device: &Device) -> Result<LoadedModel> {
    let (config, tokenizers) = load_recipe(dir)?;
    let provenance = read_json(&dir.join(files::PROVENANCE))?;
    let model = load_weights(&config, &tokenizers, &dir.join(files::WEIGHTS), device)?;
    Ok(LoadedModel {
        config,
        tokenizers,
        model,
        provenance,
    })
}

/// A model directory without its weights.
#[derive(Debug)]
pub struct Description {
    /// How the model is built and was trained.
    pub config: Config,
    /// Text to ids and back.
    pub tokenizers: Tokenizers,
    /// The model without its weights.
    pub architecture: Architecture,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Reads the model directory `dir` without its weights, whose names and shapes are compared with the architecture.
///
/// # Errors
/// Those of [`load`].
pub fn describe(dir: &Path) -> Result<Description> {
    let (config, tokenizers) = load_recipe(dir)?;
    let provenance = read_json(&dir.join(files::PROVENANCE))?;
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    let architecture = config.model.architecture(src, tgt);
    weights::check(&dir.join(files::WEIGHTS), &shapes(&architecture))?;
    Ok(Description {
        config,
        tokenizers,
        architecture,
        provenance,
    })
}

/// Everything but the weights.
pub fn load_recipe(dir: &Path) -> Result<(Config, Tokenizers)> {
    let entries = fs::metadata(dir).map_err(Error::io("open model directory", dir))?;
    if !entries.is_dir() {
        return Err(Error::Model {
            path: dir.to_path_buf(),
            problem: "expected a model directory, found a file".into(),
            hint: Some("give the directory that `attentive train` wrote, not a file in it".into()),
        });
    }
    let path = dir.join(files::CONFIG);
    if !path.exists() {
        return Err(Error::Model {
            path: dir.to_path_buf(),
            problem: format!("not a model directory: it has no `{}`", files::CONFIG),
            hint: Some("give the directory that `attentive train` wrote".into()),
        });
    }
    Ok((Config::load_stored(&path)?, Tokenizers::load(dir)?))
}

/// A model built from `config` with the weights of the safetensors file `path`.
pub fn load_weights(
    config: &Config,
    tokenizers: &Tokenizers,
    path: &Path,
    device: &Device,
) -> Result<Model> {
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    let architecture = config.model.architecture(src, tgt);
    let stored = weights::read(path, &shapes(&architecture))?;
    let mut stored: HashMap<String, Parameter> = stored
        .into_iter()
        .map(|parameter| (parameter.name.clone(), parameter))
        .collect();
    Ok(Model::with_values(&architecture, device, &mut |name| {
        let found = stored.remove(name).expect("every parameter was read");
        TensorData::new(found.values, found.shape)
    }))
}

/// Names and shapes of the parameters of `architecture`.
pub(crate) fn shapes(architecture: &Architecture) -> Vec<(String, Vec<usize>)> {
    let parameters = architecture.parameters().into_iter();
    parameters
        .map(|parameter| (parameter.name, parameter.shape))
        .collect()
}

/// Reads a JSON file of ours.
pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&text).map_err(|error| Error::Model {
        path: path.to_path_buf(),
        problem: format!("damaged: {error}"),
        hint: Some("the file is truncated or was edited: copy it again".into()),
    })
}

/// The bytes of a JSON file of ours.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| Error::Data {
        problem: format!("cannot be written as JSON: {error}"),
        hint: None,
    })?;
    text.push(b'\n');
    Ok(text)
}

/// Writes configuration and tokenizers: what stays the same for the whole run.
pub(crate) fn write_recipe(dir: &Path, config: &Config, tokenizers: &Tokenizers) -> Result<()> {
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    for (name, content) in tokenizers.files() {
        atomic::write_file(&dir.join(name), &content)?;
    }
    atomic::write_file(&dir.join(files::CONFIG), config.to_toml().as_bytes())
}

/// The path of a checkpoint's weights, given a run directory and the update.
pub(crate) fn step_folder(dir: &Path, step: u64) -> PathBuf {
    dir.join(files::CHECKPOINTS).join(format!("step-{step:08}"))
}
