//! User settings with their defaults: one TOML file, read strictly. See [`Config::load`].
//!
//! The resolved configuration, with every default written out, is part of the model directory.

mod architecture;
mod check;
mod corpus;
mod data;
mod decode;
mod dependent;
mod difference;
mod load;
mod model;
mod older;
mod renamed;
mod rotary;
mod schema;
mod source;
mod strict;
#[cfg(test)]
mod tests;
mod tokenizer;
mod train;
mod usual;

pub use crate::architecture::{
    ActivationKind, AttentionKind, CellKind, DropoutPosition, Init, LabelLayer, NormKind,
    NormPosition, Pooling, Positions, Task, TieEmbeddings,
};
pub use corpus::{BuiltinTask, CorpusSource, WeightedSource};
pub use data::{DataConfig, StoreKind, Units};
pub use decode::{DecodeConfig, EarlyStopping, LengthPenaltyFormula, MAX_BEAM_WIDTH};
pub use difference::Difference;
pub use load::{Draft, Known};
pub use model::{Family, MixingKind, ModelConfig, RecurrentConfig, StackKind};
pub use renamed::Renamed;
pub use rotary::{RotaryScalingConfig, RotaryScalingKind};
pub use tokenizer::{
    NamesOfSides, Normalization, SpecialNames, TokenizerConfig, TokenizerKind, Vocabulary,
};
pub use train::{
    BestBy, ExchangePrecision, OptimizerConfig, OptimizerKind, SamplingConfig, SamplingKind,
    ScheduleConfig, ScheduleKind, TrainConfig, TrainPrecision,
};

use serde::{Deserialize, Serialize};

/// A whole configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Seeds everything random: initialization, shuffling, dropout, built-in corpora.
    pub seed: u64,
    /// The corpora.
    pub data: DataConfig,
    /// Tokenization.
    pub tokenizer: TokenizerConfig,
    /// The network.
    pub model: ModelConfig,
    /// Training.
    pub train: TrainConfig,
    /// Search, in validation and, by default, afterwards.
    pub decode: DecodeConfig,
}
