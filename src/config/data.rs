//! `[data]`: the corpora.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::corpus::{CorpusSource, ONE_OF};
use crate::error::{Error, Result};

/// `[data]`: the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// The folder to which the paths of corpora are relative; by default the current directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// Training corpus. It is required in a file, but may be missing in a configuration made in a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<CorpusSource>,
    /// Validation corpus; without it, and with `hold_out` = 0, nothing is validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<CorpusSource>,
    /// Fraction at the end of `train` that is held out for validation, instead of `valid`.
    pub hold_out: f64,
    /// Division of text for language models.
    pub units: Units,
    /// Sentences longer than this many tokens, with `</s>`, are dropped from training and counted. Unused by streams.
    pub max_len: usize,
}

impl DataConfig {
    /// The training corpus.
    ///
    /// # Errors
    /// [`Error::Config`] if there is none.
    pub fn training(&self) -> Result<&CorpusSource> {
        self.train.as_ref().ok_or_else(|| Error::Config {
            key: "data.train".into(),
            expected: ONE_OF.into(),
            found: "none".into(),
            hint: None,
        })
    }
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            dir: None,
            train: None,
            valid: None,
            hold_out: 0.0,
            units: Units::Lines,
            max_len: 256,
        }
    }
}

/// Division of text for language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Units {
    /// Every line is a separate text.
    Lines,
    /// The whole file is one text, read in windows of `model.max_len` tokens.
    Stream,
}
