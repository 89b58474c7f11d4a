//! Options of a search.

use attentive_base::error::{Error, Result};
use attentive_config::{DecodeConfig, LengthPenaltyFormula};
use serde::{Serialize, Serializer};

use super::Strategy;

/// How outputs are chosen, scored and limited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchOptions {
    /// The choice of the outputs.
    #[serde(flatten)]
    pub strategy: Strategy,
    /// Normalization of scores by length.
    pub length_penalty_formula: LengthPenaltyFormula,
    /// The penalty's exponent α.
    pub length_penalty: f64,
    /// What each token subtracts from the log-probability before the length penalty.
    #[serde(skip_serializing_if = "is_off")]
    pub word_penalty: f64,
    /// Part of the length limit; see [`SearchOptions::limit`].
    pub max_new_factor: f64,
    /// Part of the length limit; see [`SearchOptions::limit`].
    pub max_new_extra: usize,
    /// Maximum number of tokens of a hypothesis, including `</s>`, for any source; `usize::MAX` for no such
    /// limit, which is written as `null`.
    #[serde(serialize_with = "unless_unlimited")]
    pub max_new_tokens: usize,
    /// Minimum number of tokens of a hypothesis, without `</s>`, which is not allowed earlier. Tokens that
    /// the model forces and the length limit take precedence.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_length: usize,
    /// Length of n-grams that no hypothesis may contain twice; 0 to allow all. Prefixes and tokens that the
    /// model forces are exempt.
    #[serde(skip_serializing_if = "is_zero")]
    pub no_repeat_ngram: usize,
    /// Weight β of the coverage penalty (Wu et al. 2016, equation 14), which is added to the score of a
    /// hypothesis: β Σ_i log(min(Σ_j p_ij, 1)) over source positions i and target positions j, `</s>`
    /// included, where p is the cross-attention, averaged over the heads of the top layer.
    #[serde(skip_serializing_if = "is_off")]
    pub coverage_penalty: f64,
    /// True if sentences may come with a prefix or constraints. All sentences are then searched in the same
    /// way, so that the result of a sentence does not depend on the prefix or constraints of another.
    #[serde(skip)]
    pub guided: bool,
}

/// What is added to the length in the formula of Wu et al.
const GNMT_OFFSET: f64 = 5.0;

// The signature is the one that serde requires.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_off(weight: &f64) -> bool {
    *weight == 0.0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn unless_unlimited<S: Serializer>(limit: &usize, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    Some(*limit).filter(|limit| *limit < usize::MAX).serialize(serializer)
}

impl From<&DecodeConfig> for SearchOptions {
    /// Returns the configured search for the best hypothesis.
    fn from(config: &DecodeConfig) -> Self {
        Self {
            strategy: Strategy::beam(config.beam_width, 1, config.early_stopping),
            length_penalty_formula: config.length_penalty_formula,
            length_penalty: config.length_penalty,
            word_penalty: config.word_penalty,
            max_new_factor: config.max_new_factor,
            max_new_extra: config.max_new_extra,
            max_new_tokens: usize::MAX,
            min_length: config.min_length,
            no_repeat_ngram: config.no_repeat_ngram,
            coverage_penalty: 0.0,
            guided: false,
        }
    }
}

impl SearchOptions {
    /// Refuses invalid options.
    ///
    /// # Errors
    /// Any error of [`Strategy::check`]; [`Error::Config`] for a negative coverage penalty; [`Error::Usage`]
    /// for a penalty or factor that is NaN or infinite.
    pub fn check(&self) -> Result<()> {
        self.strategy.check()?;
        if !(self.coverage_penalty >= 0.0 && self.coverage_penalty.is_finite()) {
            return Err(Error::config(
                "coverage_penalty",
                "0 or more; 0.2 is usual",
                self.coverage_penalty.to_string(),
            ));
        }
        for (name, value) in [
            ("length_penalty", self.length_penalty),
            ("word_penalty", self.word_penalty),
            ("max_new_factor", self.max_new_factor),
        ] {
            if !value.is_finite() {
                return Err(Error::usage(format!("`decode.{name}` is {value}"), "give a finite number"));
            }
        }
        Ok(())
    }

    /// Returns these options without scores that only a reader of the outputs needs.
    #[must_use]
    pub fn unscored(self) -> Self {
        Self { strategy: self.strategy.unscored(), ..self }
    }

    /// Returns these options for all candidates; see [`Strategy::all_candidates`].
    #[must_use]
    pub fn all_candidates(self) -> Self {
        Self { strategy: self.strategy.all_candidates(), ..self }
    }

    /// True if only the likeliest token matters, but not its probability.
    pub(super) fn is_plainly_greedy(&self) -> bool {
        self.strategy == Strategy::Greedy { scored: false }
            && self.coverage_penalty == 0.0
            && !self.queries_each_row()
    }

    /// Number of likeliest tokens to consider for each hypothesis: `</s>` is at most one of them, so at least
    /// as many others remain as the beam is wide.
    pub(super) fn n_candidates(&self) -> usize {
        self.strategy.rows() + 1
    }

    /// True if the search needs more than the likeliest tokens of each row, or others for each row.
    pub(super) fn queries_each_row(&self) -> bool {
        let bars = self.no_repeat_ngram > 0 || self.min_length > 0;
        self.guided || self.strategy.samples() || bars
    }

    /// Returns the maximum number of tokens of a hypothesis, including `</s>`: `max_new_factor` · `src_len` +
    /// `max_new_extra`, but at most `max_new_tokens` and `max_len`. A fraction of a token counts as one if
    /// `max_new_extra` is 0, as in Marian, and as none otherwise.
    pub fn limit(&self, src_len: usize, max_len: usize) -> usize {
        let scaled = match self.max_new_extra {
            // In single precision, as there.
            0 => (self.max_new_factor as f32 * src_len as f32).ceil() as usize,
            _ => (self.max_new_factor * src_len as f64) as usize,
        };
        let limit = scaled.saturating_add(self.max_new_extra);
        limit.min(self.max_new_tokens).min(max_len)
    }

    /// Returns the score of a hypothesis of `length` tokens, including `</s>`: `log_prob` after the word
    /// penalty and the length penalty.
    pub fn score(&self, log_prob: f64, length: usize) -> f64 {
        self.score_at(log_prob, length.max(1) as f64)
    }

    fn score_at(&self, log_prob: f64, length: f64) -> f64 {
        let base = match self.length_penalty_formula {
            LengthPenaltyFormula::Gnmt => (GNMT_OFFSET + length) / 6.0,
            LengthPenaltyFormula::Length => length,
        };
        (log_prob - self.word_penalty * length) / base.powf(self.length_penalty)
    }

    /// Returns a bound of [`SearchOptions::score`] over all lengths from `shortest` to `longest`.
    pub(super) fn best_score(&self, log_prob: f64, shortest: usize, longest: usize) -> f64 {
        let ends = self.score(log_prob, shortest).max(self.score(log_prob, longest));
        if self.word_penalty == 0.0 {
            return ends;
        }
        // The root of the derivative by the length.
        let offset = match self.length_penalty_formula {
            LengthPenaltyFormula::Gnmt => GNMT_OFFSET,
            LengthPenaltyFormula::Length => 0.0,
        };
        let (alpha, word) = (self.length_penalty, self.word_penalty);
        let turn = (alpha * log_prob + word * offset) / (word * (alpha - 1.0));
        let [from, to] = [shortest, longest].map(|length| length.max(1) as f64);
        if turn > from && turn < to { ends.max(self.score_at(log_prob, turn)) } else { ends }
    }

    /// Returns the coverage penalty of a hypothesis whose source positions received these sums of attention:
    /// 0 or less. Sums that underflow count as the smallest positive number.
    pub fn coverage(&self, sums: &[f32]) -> f64 {
        if self.coverage_penalty == 0.0 {
            return 0.0;
        }
        let seen = sums.iter().map(|sum| sum.clamp(f32::MIN_POSITIVE, 1.0));
        self.coverage_penalty * seen.map(|sum| f64::from(sum).ln()).sum::<f64>()
    }
}
