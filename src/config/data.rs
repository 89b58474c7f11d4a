//! `[data]`: the corpora.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::corpus::{CorpusSource, ONE_OF};
use crate::error::{Error, Result};

/// `[data]`: the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// The folder that relative paths of the corpora start at; the current directory if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// What to train on. A configuration that was read has it; one made in a program may lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<CorpusSource>,
    /// What to validate on; without it, and with `hold_out` = 0, nothing is validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<CorpusSource>,
    /// The share at the end of `train` that is validated on instead of a corpus of its own.
    pub hold_out: f64,
    /// How a text is cut for language models.
    pub units: Units,
    /// Longer sentences, in tokens with `</s>`, are dropped from training and counted; a stream has none.
    pub max_len: usize,
}

impl DataConfig {
    /// What to train on.
    ///
    /// # Errors
    /// [`Error::Config`] if there is nothing.
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

/// How a text is cut for language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Units {
    /// Every line is a text of its own.
    Lines,
    /// The whole file is one text, learned in windows of `model.max_len` tokens.
    Stream,
}
