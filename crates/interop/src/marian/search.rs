//! Generation settings of a model: `decoder.yml`.

use std::path::Path;

use attentive_base::error::Result;
use attentive_config::{DecodeConfig, LengthPenaltyFormula};
use serde_json::{Value, json};

use super::read_yaml;
use crate::keys::UnreadKeys;

/// Options that do not affect the translation of a sentence.
const IGNORED: &[&str] = &[
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
    "word-scores",
    "workspace",
];

/// The generation settings, and the files that they name.
#[derive(Clone, Debug)]
pub(super) struct MarianSearchSettings {
    /// The paths of files.
    pub(super) models: Vec<String>,
    pub(super) vocabs: Vec<String>,
    pub(super) shortlist: Option<String>,
    /// The limits that `decoder.yml` sets for the candidates in the shortlist.
    pub(super) limits: Vec<String>,
    pub(super) max_len: Option<usize>,
    pub(super) allow_unk: bool,
    pub(super) allow_special: bool,
    beam_width: usize,
    length_penalty: f64,
    word_penalty: f64,
    pub(super) max_factor: f64,
    /// The factors of the log-probabilities of the models of an ensemble; 1 for all of them if there are
    /// none.
    pub(super) weights: Vec<f64>,
    /// True if Marian writes lists of the best translations.
    pub(super) n_best: bool,
    /// True if Marian writes word alignments.
    pub(super) alignment: bool,
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
            word_penalty: 0.0,
            max_factor: 3.0,
            weights: Vec::new(),
            n_best: false,
            alignment: false,
        }
    }
}

impl MarianSearchSettings {
    /// Returns Firefox's generation settings.
    pub(super) fn of_firefox() -> Self {
        Self { beam_width: 1, length_penalty: 1.0, max_factor: 2.0, alignment: true, ..Self::default() }
    }

    /// Reads the file `path`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut keys = UnreadKeys::of(path, read_yaml(path)?);
        keys.ignore(IGNORED);
        for (key, without_effect) in [
            ("force-decode", json!(false)),
            ("no-spm-decode", json!(false)),
            ("no-spm-encode", json!(false)),
            ("output-approx-knn", json!([])),
            ("output-sampling", json!([])),
            ("right-left", json!(false)),
        ] {
            keys.only(key, without_effect)?;
        }
        let mut names = |key: &str| -> Result<Vec<String>> {
            let paths = match keys.optional::<Value>(key)? {
                Some(Value::String(path)) => vec![path],
                Some(value) => serde_json::from_value(value.clone()).map_err(|_| keys.refuse(key, &value))?,
                None => Vec::new(),
            };
            Ok(paths)
        };
        let (models, vocabs) = (names("models")?, names("vocabs")?);
        let (shortlist, limits) = shortlist(&mut keys)?;
        let usual = Self::default();
        let search = Self {
            models,
            vocabs,
            shortlist,
            limits,
            max_len: keys.optional("max-length")?,
            allow_unk: keys.or("allow-unk", false)?,
            allow_special: keys.or("allow-special", false)?,
            beam_width: keys.or("beam-size", usual.beam_width)?,
            length_penalty: keys.or("normalize", usual.length_penalty)?,
            word_penalty: keys.or("word-penalty", usual.word_penalty)?,
            n_best: keys.or("n-best", usual.n_best)?,
            weights: keys.or("weights", usual.weights)?,
            alignment: keys
                .optional::<Value>("alignment")?
                .is_some_and(|kind| kind != false && !kind.is_null()),
            max_factor: keys.or("max-length-factor", usual.max_factor)?,
        };
        if search.max_factor <= 0.0 || search.max_factor.is_nan() {
            return Err(keys.refuse("max-length-factor", &json!(search.max_factor)));
        }
        keys.finish()?;
        Ok(search)
    }

    /// Converts the generation settings.
    pub(super) fn decode(&self) -> DecodeConfig {
        DecodeConfig {
            beam_width: self.beam_width,
            length_penalty_formula: LengthPenaltyFormula::Length,
            length_penalty: self.length_penalty,
            word_penalty: self.word_penalty,
            max_new_factor: self.max_factor,
            max_new_extra: 0,
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
