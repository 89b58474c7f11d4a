//! Every knob that a person may set, with its default. One TOML file, read strictly: see [`Config::load`].
//!
//! The resolved configuration, every default written out, is part of the model directory, so nothing is stored twice.

mod check;
mod decode;
mod difference;
mod load;
mod model;
mod schema;
mod strict;
#[cfg(test)]
mod tests;
mod tokenizer;
mod train;

pub use decode::{DecodeConfig, LengthPenalty};
pub use difference::Difference;
pub use model::{
    ActivationKind, DropoutPosition, Family, Init, ModelConfig, NormKind, NormPosition, Positions,
    TieEmbeddings,
};
pub use tokenizer::{Normalization, TokenizerConfig, TokenizerKind, Vocabulary};
pub use train::{
    BestBy, Matmul, OptimizerConfig, OptimizerKind, ScheduleConfig, ScheduleKind, TrainConfig,
};

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A whole configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Seeds everything random: initialisation, shuffling, dropout, built-in corpora.
    pub seed: u64,
    /// Where the sentence pairs come from.
    pub data: DataConfig,
    /// How text becomes ids.
    pub tokenizer: TokenizerConfig,
    /// The network.
    pub model: ModelConfig,
    /// How it is trained.
    pub train: TrainConfig,
    /// How it translates, in validation and afterwards, unless the command line says otherwise.
    pub decode: DecodeConfig,
}

/// `[data]`: the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// The folder that relative paths of the corpora start at; the current directory if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// The pairs to train on.
    pub train: CorpusConfig,
    /// The pairs to validate on; without them nothing is validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<CorpusConfig>,
    /// Longer sentences, in tokens with `</s>`, are dropped from training and counted.
    pub max_len: usize,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            dir: None,
            train: CorpusConfig::default(),
            valid: None,
            max_len: 256,
        }
    }
}

/// One corpus, in exactly one of four forms: `src` + `tgt`, `tsv`, `jsonl`, or `builtin`. Files may be gzipped (`.gz`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusConfig {
    /// Source sentences, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<PathBuf>,
    /// Their translations, aligned line by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt: Option<PathBuf>,
    /// One file of lines `source TAB target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsv: Option<PathBuf>,
    /// One file of JSON objects a line, with string fields `src` and `tgt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonl: Option<PathBuf>,
    /// A generated corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin: Option<BuiltinTask>,
    /// How many pairs to generate, for `builtin` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<usize>,
}

/// The generated corpora.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum BuiltinTask {
    /// English to German by a synchronous grammar.
    Grammar,
    /// A sequence of digits, reversed.
    Reverse,
}
