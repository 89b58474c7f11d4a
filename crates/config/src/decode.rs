//! `[decode]`: the search.

use attentive_base::error::Result;
use attentive_kernels::gemm::Float;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The widest beam; wider ones only cost RAM.
pub const MAX_BEAM_WIDTH: usize = 1000;

/// `[decode]`: defaults of the search. The search at validation is always greedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecodeConfig {
    /// The number of hypotheses that beam search keeps at each step; 1 for greedy search. Wider beams are
    /// slower. It has no effect on validation, whose search is always greedy.
    #[schemars(range(min = 1, max = MAX_BEAM_WIDTH))]
    #[schemars(extend(
        "x-also" = "beam beam_size beams num_beams n_beams validate_beam valid_beam_size",
        "x-weights" = "none"
    ))]
    pub beam_width: usize,
    /// The exponent of the length penalty, as in transformers and CTranslate2; 0 for none. Larger values
    /// prefer longer translations.
    #[schemars(range(min = 0), extend("x-also" = "alpha normalize lenpen beam_alpha", "x-weights" = "none"))]
    pub length_penalty: f64,
    /// The formula of the length penalty, by which the sum of the log-probabilities of the tokens is divided.
    #[schemars(extend("x-weights" = "none"))]
    pub length_penalty_formula: LengthPenaltyFormula,
    /// What is subtracted from the log-probability of a translation for each of its tokens, before the length
    /// penalty divides it. A negative number prefers longer translations.
    #[schemars(extend("x-also" = "word_reward length_reward", "x-weights" = "none"))]
    pub word_penalty: f64,
    /// The factor in the length limit: a translation has at most `max_new_factor` × source tokens +
    /// `max_new_extra` tokens.
    #[schemars(range(min = 0))]
    pub max_new_factor: f64,
    /// The constant in the length limit, in tokens; see `decode.max_new_factor`. If it is 0, the limit is
    /// rounded up, as in Marian, and otherwise down. Both may not be 0.
    #[schemars(range(min = 0))]
    pub max_new_extra: usize,
    /// When the beam search of a sentence ends.
    #[schemars(extend("x-weights" = "none"))]
    pub early_stopping: EarlyStopping,
    /// The smallest number of tokens in a translation. `</s>`, which does not count, is not generated before.
    pub min_length: usize,
    /// The length of n-grams that may not occur twice in a translation; 0 to allow all.
    pub no_repeat_ngram: usize,
    /// The number of sentences that are translated together, by all threads; 0 for the number that is usually
    /// fastest: 16 for each thread, 256 on a GPU. The translations do not depend on it; larger batches need
    /// more RAM.
    #[schemars(extend("x-weights" = "none"))]
    pub batch_size: usize,
    /// The number type in which keys and values of attention are kept while a text is decoded. It has no
    /// effect on additive attention, nor on recurrent layers. On a GPU it is `f32`, whatever is configured.
    pub cache_precision: Float,
}

impl DecodeConfig {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// [`attentive_base::Error::Config`] for the first mistake.
    pub fn validate(&self) -> Result<()> {
        super::check::decode(self)
    }
}

/// Formula of the length penalty, by which the sum of the tokens' log-probabilities is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum LengthPenaltyFormula {
    /// ((5 + length) / 6)^penalty (Wu et al. 2016).
    Gnmt,
    /// length^penalty: with a penalty of 1, the average log-probability of a token.
    Length,
}

impl LengthPenaltyFormula {
    /// The exponent unless it is set. Those of the two formulas have different scales; 0.6 is the middle of
    /// the range that Wu et al. recommend.
    pub const fn default_exponent(self) -> f64 {
        match self {
            Self::Gnmt => 0.6,
            Self::Length => 1.0,
        }
    }
}

/// When the beam search of a sentence ends. The values are those of `early_stopping` in transformers:
/// `"never"`, `False` and `True`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum EarlyStopping {
    /// The search ends when no unfinished hypothesis can overtake the best finished ones.
    #[default]
    Never,
    /// The search ends when as many hypotheses are finished as the beam is wide, and the best unfinished one,
    /// scored at its present length, is no better than any of them.
    Heuristic,
    /// The search ends when as many hypotheses are finished as the beam is wide.
    Always,
}

impl Default for DecodeConfig {
    fn default() -> Self {
        Self {
            beam_width: 5,
            length_penalty: LengthPenaltyFormula::Length.default_exponent(),
            length_penalty_formula: LengthPenaltyFormula::Length,
            word_penalty: 0.0,
            max_new_factor: 1.5,
            max_new_extra: 10,
            early_stopping: EarlyStopping::Never,
            min_length: 0,
            no_repeat_ngram: 0,
            batch_size: 0,
            cache_precision: Float::F32,
        }
    }
}
