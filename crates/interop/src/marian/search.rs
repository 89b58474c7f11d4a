//! Generation settings of a model: `decoder.yml`.

use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use attentive_config::{DecodeConfig, LengthPenaltyFormula};
use serde_json::{Value, json};

use super::read_yaml;
use crate::keys::UnreadKeys;

/// Options that do not affect the translation of a sentence.
const IGNORED: &[&str] = &[
    "alignment",
    "authors",
    "build-info",
    "check-nan",
    "cite",
    "cpu-threads",
    "devices",
    "fp16",
    "gemm-precision",
    "gemm-type",
    "ignore-model-config",
    "input",
    "interpolate-env-vars",
    "log",
    "log-level",
    "log-time-zone",
    "max-length-break",
    "max-length-crop",
    "maxi-batch",
    "maxi-batch-sort",
    "mini-batch",
    "mini-batch-words",
    "model-mmap",
    "num-devices",
    "optimize",
    "output",
    "port",
    "precision",
    "quantize-range",
    "quiet",
    "quiet-translation",
    "relative-paths",
    "seed",
    "skip-cost",
    "stat-freq",
    "tsv",
    "tsv-fields",
    "version",
    "weights",
    "word-scores",
    "workspace",
];

/// The generation settings, and the files that they name.
#[derive(Debug)]
pub(super) struct MarianSearchSettings {
    models: Vec<String>,
    /// The names of files, without directories.
    pub(super) vocabs: Vec<String>,
    pub(super) shortlist: Option<String>,
    /// The limits that `decoder.yml` sets for the candidates in the shortlist.
    pub(super) limits: Vec<String>,
    pub(super) max_len: Option<usize>,
    pub(super) allow_unk: bool,
    pub(super) allow_special: bool,
    beam_width: usize,
    length_penalty: f64,
    pub(super) max_factor: f64,
}

impl Default for MarianSearchSettings {
    /// Returns Marian's defaults.
    fn default() -> Self {
        Self {
            models: Vec::new(),
            vocabs: Vec::new(),
            shortlist: None,
            limits: Vec::new(),
            max_len: None,
            allow_unk: false,
            allow_special: false,
            beam_width: 12,
            length_penalty: 0.0,
            max_factor: 3.0,
        }
    }
}

impl MarianSearchSettings {
    /// Returns Firefox's generation settings.
    pub(super) fn of_firefox() -> Self {
        Self { beam_width: 1, length_penalty: 1.0, max_factor: 2.0, ..Self::default() }
    }

    /// Reads the file `path`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut keys = UnreadKeys::of(path, read_yaml(path)?);
        keys.ignore(IGNORED);
        for (key, without_effect) in [
            ("force-decode", json!(false)),
            ("n-best", json!(false)),
            ("no-spm-decode", json!(false)),
            ("no-spm-encode", json!(false)),
            ("output-approx-knn", json!([])),
            ("output-sampling", json!([])),
            ("right-left", json!(false)),
        ] {
            keys.only(key, without_effect)?;
        }
        let penalty: f64 = keys.or("word-penalty", 0.0)?;
        if penalty != 0.0 {
            return Err(keys.refuse("word-penalty", &json!(penalty)));
        }
        let mut names = |key: &str| -> Result<Vec<String>> {
            let paths = match keys.optional::<Value>(key)? {
                Some(Value::String(path)) => vec![path],
                Some(value) => serde_json::from_value(value.clone()).map_err(|_| keys.refuse(key, &value))?,
                None => Vec::new(),
            };
            Ok(paths.into_iter().map(file_name).collect())
        };
        let (models, vocabs) = (names("models")?, names("vocabs")?);
        let (shortlist, limits) = shortlist(&mut keys)?;
        let usual = Self::default();
        let search = Self {
            models,
            vocabs,
            shortlist: shortlist.map(file_name),
            limits,
            max_len: keys.optional("max-length")?,
            allow_unk: keys.or("allow-unk", false)?,
            allow_special: keys.or("allow-special", false)?,
            beam_width: keys.or("beam-size", usual.beam_width)?,
            length_penalty: keys.or("normalize", usual.length_penalty)?,
            max_factor: keys.or("max-length-factor", usual.max_factor)?,
        };
        keys.finish()?;
        Ok(search)
    }

    /// Returns the name of the model, if there is exactly one.
    pub(super) fn only_model(&self) -> Option<String> {
        match &self.models[..] {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    /// Converts the generation settings.
    pub(super) fn decode(&self) -> DecodeConfig {
        DecodeConfig {
            beam_width: self.beam_width,
            length_penalty_formula: LengthPenaltyFormula::Length,
            length_penalty: self.length_penalty,
            max_new_factor: self.max_factor,
            max_new_extra: 1,
            ..DecodeConfig::default()
        }
    }
}

/// Reads the path of the shortlist, and the words that follow it.
fn shortlist(keys: &mut UnreadKeys) -> Result<(Option<String>, Vec<String>)> {
    let words = keys.or("shortlist", Vec::<Value>::new())?.into_iter();
    let mut words = words.map(|word| match word {
        Value::String(word) => word,
        other => other.to_string(),
    });
    Ok((words.next(), words.collect()))
}

/// Returns the name of a file in a path of any operating system.
fn file_name(path: String) -> String {
    let name = PathBuf::from(path.replace('\\', "/"));
    name.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
