//! User settings with their defaults: one TOML file, read strictly. See [`Config::load`].
//!
//! The resolved configuration, with every default written out, is part of the model directory.

mod architecture;
mod check;
mod cleaning_limits;
mod cleaning_rule;
mod corpus;
mod data;
mod decode;
mod dependent;
mod device;
mod difference;
mod family;
mod format;
mod load;
mod model;
mod optimizer;
mod origin;
mod preset;
mod range;
mod reference;
mod resumed;
mod schedule;
mod schema;
mod sections;
mod show;
mod source;
mod start;
mod strict;
mod table;
#[cfg(test)]
mod tests;
mod tokenizer;
mod toml_source;
mod train;
mod users;
mod usual;

pub use attentive_architecture::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Init, InputFeeding, LabelLayer, NormKind,
    NormPosition, Pooling, Positions, RotaryScaling, RotaryScalingKind, Task, TieEmbeddings,
};
pub use attentive_kernels::gemm::Float;
pub use cleaning_limits::CleaningLimits;
pub use cleaning_rule::CleaningRule;
pub use corpus::{BuiltinTask, Column, CorpusFile, CorpusFormat, CorpusSource, LanguagePair, WeightedSource};
pub use data::{DataConfig, StoreKind, Units};
pub use decode::{DecodeConfig, EarlyStopping, LengthPenaltyFormula, MAX_BEAM_WIDTH};
pub use device::{GpuChoice, TrainDevice};
pub use difference::KeyDifference;
pub use family::{
    DecoderConfig, EncoderConfig, Family, FamilyConfig, MixingKind, OutputConfig, StackKind, Translator,
};
pub use format::FORMAT;
pub use load::{ConfigDraft, KnownConfigs};
pub use model::{ModelConfig, RecurrentConfig};
pub use optimizer::{OptimizerConfig, OptimizerKind};
pub use origin::{Origins, ValueOrigin};
pub use preset::Preset;
pub use reference::reference;
pub use schedule::{ScheduleConfig, ScheduleKind};
pub use start::{StarterCorpus, fitted};
pub use tokenizer::{NamesOfSides, Normalization, SpecialNames, TokenizerConfig, TokenizerKind, Vocabulary};
pub use train::{
    AugmentationConfig, BestBy, SamplingConfig, SamplingKind, StopOn, TrainConfig, TrainPrecision,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration file of a model that Attentive trains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["data"]))]
pub struct Config {
    /// The seed of everything random: initial weights, the order of batches, dropout, built-in corpora. The
    /// same seed gives the same model.
    pub seed: u64,
    /// The training and validation corpora.
    pub data: DataConfig,
    /// The division of text into tokens. The vocabulary is learned from the training corpus, unless
    /// `tokenizer.from` names one.
    pub tokenizer: TokenizerConfig,
    /// The network. Keys that the chosen architecture does not use are refused, unless they have their
    /// default value.
    #[serde(with = "sections")]
    #[schemars(with = "ModelConfig")]
    pub model: ModelConfig,
    /// Batches, loss, validation, checkpoints and limits of training.
    pub train: TrainConfig,
    /// The search for translations, by default, in all commands that use the model. The search at validation
    /// is always greedy.
    #[schemars(extend("x-resume" = "free"))]
    pub decode: DecodeConfig,
}
