//! `[decode]`: the search.

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The widest beam; wider ones only cost RAM.
pub const MAX_BEAM_WIDTH: usize = 1000;

/// `[decode]`: defaults of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecodeConfig {
    /// Hypotheses kept at each decoding step; 1 for greedy search.
    pub beam_width: usize,
    /// Normalisation of scores by length.
    pub length_penalty: LengthPenalty,
    /// The penalty's exponent α; by default 1, and 0.6 for `gnmt`.
    pub alpha: f64,
    /// A translation has at most `max_new_factor` · source tokens + `max_new_extra` tokens.
    pub max_new_factor: f64,
    /// See `max_new_factor`. Version 0.1.0 called it `max_new_tokens`; that name is still read.
    pub max_new_extra: usize,
    /// When a beam search ends.
    pub stopping: Stopping,
    /// Fewest tokens of a translation, without `</s>`, which is barred before.
    pub min_length: usize,
    /// Length of n-grams that no translation may contain twice; 0 to allow all.
    pub no_repeat_ngram: usize,
    /// Sentences translated together.
    pub batch_size: usize,
}

impl DecodeConfig {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for the first mistake.
    pub fn validate(&self) -> Result<()> {
        super::check::decode(self)
    }
}

/// Normalisation of scores by length: Σ log P divided by
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum LengthPenalty {
    /// ((5 + length) / 6)^α (Wu et al. 2016).
    Gnmt,
    /// length^α: with α = 1, the average log-probability of a token.
    Length,
}

impl LengthPenalty {
    /// The exponent α unless it is set. Those of the two formulas have different scales; 0.6 is the middle of the range that Wu
    /// et al. recommend.
    pub const fn default_alpha(self) -> f64 {
        match self {
            Self::Gnmt => 0.6,
            Self::Length => 1.0,
        }
    }
}

/// When the beam search of a sentence ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// When no unfinished hypothesis can overtake the best finished ones.
    #[default]
    Exact,
    /// When as many hypotheses are finished as the beam is wide, and the likeliest unfinished one, scored at its present length,
    /// is no better than any of them.
    Likely,
    /// When as many hypotheses are finished as the beam is wide.
    First,
}

impl Default for DecodeConfig {
    fn default() -> Self {
        Self {
            beam_width: 5,
            length_penalty: LengthPenalty::Length,
            alpha: LengthPenalty::Length.default_alpha(),
            max_new_factor: 1.5,
            max_new_extra: 10,
            stopping: Stopping::Exact,
            min_length: 0,
            no_repeat_ngram: 0,
            batch_size: 64,
        }
    }
}
