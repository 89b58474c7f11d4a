//! `[data]`: the corpora.

use std::path::{Component, Path, PathBuf};

use attentive_base::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CleaningRule;
use super::corpus::{CorpusSource, ONE_OF, OneCorpus};

/// Name of the folder for training data on disk, unless configured.
const STORES: &str = ".attentive";

/// `[data]`: the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["train"]))]
pub struct DataConfig {
    /// The folder to which the paths of corpora are relative. By default, they are relative to the working
    /// directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["corpora/en-de"]))]
    pub dir: Option<PathBuf>,
    /// The training corpus, or a list of corpora with weights. Every configuration file needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = "train_sets trainpref"))]
    pub train: Option<CorpusSource>,
    /// The validation corpus. Without it, and with `data.hold_out = 0`, nothing is validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OneCorpus>", extend("x-also" = "valid_sets validpref", "x-resume" = "free"))]
    pub valid: Option<CorpusSource>,
    /// The fraction at the end of the training corpus that is held out for validation. Use it in place of
    /// `data.valid`, not together with it; 0 holds nothing out.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub hold_out: f64,
    /// The units into which the text of a language model is divided. Only `decoder_only` models can learn
    /// from a stream.
    pub units: Units,
    /// The longest training sentence in tokens, `</s>` included. Longer sentences are left out of training
    /// and counted in the log. It may be at most `model.max_len`. With `data.units = "stream"` it has no
    /// effect.
    #[schemars(range(min = MIN_LEN), extend("x-also" = "max_source_positions max_target_positions"))]
    pub max_len: usize,
    /// Whether to use the beginning of longer sentences, up to `data.max_len` tokens, in place of leaving
    /// them out. They are counted in the log. A tagger leaves them out in any case.
    #[schemars(extend("x-also" = "max_length_crop truncate_source truncation", "x-needs" = "lines"))]
    pub crop: bool,
    /// The largest ratio between the lengths of the two sides of a pair, in tokens with `</s>`. Pairs above
    /// it are left out of training and counted; 0 keeps all pairs.
    #[schemars(extend("anyOf" = [{ "const": 0 }, { "minimum": 1 }], "x-task" = "translate"))]
    pub max_ratio: f64,
    /// Whether to leave out lines (or pairs) that have occurred before in the training corpus. They are
    /// counted in the log.
    #[schemars(extend("x-needs" = "lines"))]
    pub drop_repeated: bool,
    /// Whether to leave out pairs whose two sides are the same. They are counted in the log.
    #[schemars(extend("x-task" = "translate"))]
    pub drop_copies: bool,
    /// Rules of `attentive clean` by which pairs are left out of training, with their usual limits. They are
    /// counted in the log. `unreadable`, `language`, `duplicate` and `same-target`, and mending, need the command
    /// itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["ratio", "letters", "numbers"]], "x-task" = "translate"))]
    pub filters: Vec<CleaningRule>,
    /// A file of word alignments of the training corpus, which `attentive align` writes: for each line, links
    /// `i-j` of the words of source and target, counted from 0. A blank line has none. With several corpora,
    /// it has the lines of all, one corpus after another. It is for `train.guided_alignment` and
    /// `train.augmentation.inline_tags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "examples" = ["train.align"],
        "x-also" = "guided_alignment_file alignment_path",
        "x-task" = "translate",
        "x-needs" = "use_of_alignments"
    ))]
    pub alignments: Option<PathBuf>,
    /// Where the encoded training data are kept during training. The batches and their order do not depend on
    /// it.
    #[schemars(extend("x-resume" = "free", "x-weights" = "none"))]
    pub store: StoreKind,
    /// The folder for training data on disk. By default, it is `.attentive` beside the first file of
    /// `data.train`; if that file is a pattern such as `corpus/*/part.gz`, it is in the folder where the
    /// pattern begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["/scratch/attentive"], "x-resume" = "free", "x-weights" = "none"))]
    pub store_dir: Option<PathBuf>,
}

/// A token and `</s>`.
pub(super) const MIN_LEN: usize = 2;

/// Where the encoded training data are kept while training. Batches and their order do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// On disk if the files of `data.train` are large compared with the free RAM, otherwise in RAM.
    Auto,
    /// In RAM. The corpus is encoded anew for every run.
    Memory,
    /// On disk. The corpus is encoded once and read during training.
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
        beside
            .ok_or_else(|| Error::config("data.store_dir", "a folder, since the corpus has no files", "none"))
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
        self.train.as_ref().ok_or_else(|| Error::config("data.train", ONE_OF, "none"))
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
            crop: false,
            max_ratio: 0.0,
            drop_repeated: false,
            drop_copies: false,
            filters: Vec::new(),
            alignments: None,
            store: StoreKind::Auto,
            store_dir: None,
        }
    }
}

/// Division of text for language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Units {
    /// Every line is a separate text.
    Lines,
    /// The whole file is one text. It is read in windows of `model.max_len` tokens.
    Stream,
}
