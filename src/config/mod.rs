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

pub use decode::{DecodeConfig, LengthPenalty, MAX_BEAM_WIDTH};
pub use difference::Difference;
pub use model::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Family, Init, ModelConfig, NormKind,
    NormPosition, Positions, RecurrentConfig, Task, TieEmbeddings,
};
pub use tokenizer::{Normalization, TokenizerConfig, TokenizerKind, Vocabulary};
pub use train::{
    BestBy, Matmul, OptimizerConfig, OptimizerKind, SamplingConfig, SamplingKind, ScheduleConfig,
    ScheduleKind, TrainConfig,
};

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A whole configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Seeds everything random: initialisation, shuffling, dropout, built-in corpora.
    pub seed: u64,
    /// What is learned from.
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
    /// What to train on.
    pub train: CorpusConfig,
    /// What to validate on; without it, and with `hold_out` = 0, nothing is validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<CorpusConfig>,
    /// The share at the end of `train` that is validated on instead of a corpus of its own.
    pub hold_out: f64,
    /// How a text is cut for language models.
    pub units: Units,
    /// Longer sentences, in tokens with `</s>`, are dropped from training and counted; a stream has none.
    pub max_len: usize,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            dir: None,
            train: CorpusConfig::default(),
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

/// One corpus, in exactly one of five forms: `src` + `tgt`, `tsv`, `jsonl`, `text`, or `builtin`. Files may be gzipped
/// (`.gz`).
///
/// Families that translate learn from pairs of sentences, taggers from tokens and their tags, and language models from
/// `text`; a generated corpus serves them all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusConfig {
    /// Source sentences, one a line; for taggers, tokens between blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<PathBuf>,
    /// Their translations, or the tokens' tags, aligned line by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt: Option<PathBuf>,
    /// One file of lines `source TAB target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsv: Option<PathBuf>,
    /// One file of JSON objects a line: with strings `src` and `tgt`; for taggers with lists `tokens` and `tags`, or
    /// `vectors` and `tags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonl: Option<PathBuf>,
    /// Text for language models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<PathBuf>,
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
