//! `[data]`: the corpora.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::corpus::{CorpusSource, ONE_OF};
use crate::error::{Error, Result};

/// Name of the folder for training data on disk, unless configured.
const STORES: &str = ".attentive";

/// `[data]`: the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// The folder to which the paths of corpora are relative; by default the current directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// Training corpus, or several with weights. It is required in a file, but may be missing in a configuration made in a program.
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
    /// Pairs of which one side has more than this many times the tokens of the other, `</s>` included, are dropped from training
    /// and counted; 0 keeps all.
    pub max_ratio: f64,
    /// Whether lines that have occurred before are dropped from training and counted.
    pub drop_repeated: bool,
    /// Whether pairs whose sides are the same are dropped from training and counted.
    pub drop_copies: bool,
    /// Where the encoded training data are kept while training.
    pub store: StoreKind,
    /// The folder for training data on disk; by default `.attentive` beside the first file of `train`, or in the folder where its
    /// pattern begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_dir: Option<PathBuf>,
}

/// Where the encoded training data are kept while training. Batches and their order do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// On disk if the files of `train` are large compared with the free memory, and in memory otherwise.
    Auto,
    /// In memory, encoded anew for every run.
    Memory,
    /// On disk, encoded once and read while training.
    Disk,
}

impl DataConfig {
    /// The folder for training data on disk.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no training corpus in files, and no `store_dir`.
    pub fn stores(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.store_dir {
            return Ok(self.path(dir));
        }
        let first = self.training()?.files().into_iter().next();
        let folder = |file: &Path| -> PathBuf {
            let is_name = |part: &Component<'_>| {
                let part = part.as_os_str().to_string_lossy();
                !part.contains(['*', '?', '['])
            };
            let folder = file.parent().unwrap_or(Path::new(""));
            folder.components().take_while(is_name).collect()
        };
        let beside = first.map(|file| self.path(&folder(file)).join(STORES));
        beside.ok_or_else(|| Error::Config {
            key: "data.store_dir".into(),
            expected: "a folder, since the corpus has no files".into(),
            found: "none".into(),
            hint: None,
        })
    }

    /// `path`, relative to the folder of the corpora.
    pub fn path(&self, path: &Path) -> PathBuf {
        match &self.dir {
            Some(dir) => dir.join(path),
            None => path.to_path_buf(),
        }
    }

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
            max_ratio: 0.0,
            drop_repeated: false,
            drop_copies: false,
            store: StoreKind::Auto,
            store_dir: None,
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
