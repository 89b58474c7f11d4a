//! Options of a search.

use attentive_base::error::{Error, Result};
use attentive_config::{DecodeConfig, EarlyStopping, LengthPenaltyFormula, MAX_BEAM_WIDTH};
use serde::{Serialize, Serializer};

use super::Sampling;

/// Options of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchOptions {
    /// Hypotheses kept at each decoding step; 1 for greedy search.
    pub beam_width: usize,
    /// Normalization of scores by length.
    pub length_penalty_formula: LengthPenaltyFormula,
    /// The penalty's exponent α.
    pub length_penalty: f64,
    /// Part of the length limit; see [`SearchOptions::limit`].
    pub max_new_factor: f64,
    /// Part of the length limit; see [`SearchOptions::limit`].
    pub max_new_extra: usize,
    /// Maximum number of tokens of a hypothesis, including `</s>`, for any source; `usize::MAX` for no such limit, which is
    /// written as `null`.
    #[serde(serialize_with = "unless_unlimited")]
    pub max_new_tokens: usize,
    /// Hypotheses to return, at most `beam_width`; when sampling, the number of independent samples.
    pub n_best: usize,
    /// The condition under which a beam search ends.
    #[serde(skip_serializing_if = "is_exact")]
    pub early_stopping: EarlyStopping,
    /// Minimum number of tokens of a hypothesis, without `</s>`, which is not allowed earlier. Tokens that the model forces and
    /// the length limit take precedence.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_length: usize,
    /// Length of n-grams that no hypothesis may contain twice; 0 to allow all. Prefixes and tokens that the model forces are
    /// exempt.
    #[serde(skip_serializing_if = "is_zero")]
    pub no_repeat_ngram: usize,
    /// Weight β of the coverage penalty (Wu et al. 2016, equation 14), which is added to the score of a hypothesis:
    /// β Σ_i log(min(Σ_j p_ij, 1)) over source positions i and target positions j, `</s>` included, where p is the
    /// cross-attention, averaged over the heads of the top layer.
    #[serde(skip_serializing_if = "is_off")]
    pub coverage_penalty: f64,
    /// Sampling of outputs instead of a search for the likeliest; `beam_width` is then not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// True if sentences may come with a prefix or constraints. All sentences are then searched in the same way, so that the
    /// result of a sentence does not depend on the prefix or constraints of another.
    #[serde(skip)]
    pub guided: bool,
    /// True if the probabilities of tokens are computed. Plain greedy search needs none; its scores are then 0.
    #[serde(skip)]
    pub scored: bool,
}

// The signature is the one that serde requires.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_exact(stopping: &EarlyStopping) -> bool {
    *stopping == EarlyStopping::Never
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_off(weight: &f64) -> bool {
    *weight == 0.0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn unless_unlimited<S: Serializer>(
    limit: &usize,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    Some(*limit)
        .filter(|limit| *limit < usize::MAX)
        .serialize(serializer)
}

impl From<&DecodeConfig> for SearchOptions {
    /// Returns the configured search for the best hypothesis.
    fn from(config: &DecodeConfig) -> Self {
        Self {
            beam_width: config.beam_width,
            length_penalty_formula: config.length_penalty_formula,
            length_penalty: config.length_penalty,
            max_new_factor: config.max_new_factor,
            max_new_extra: config.max_new_extra,
            max_new_tokens: usize::MAX,
            n_best: 1,
            early_stopping: config.early_stopping,
            min_length: config.min_length,
            no_repeat_ngram: config.no_repeat_ngram,
            coverage_penalty: 0.0,
            sampling: None,
            guided: false,
            scored: true,
        }
    }
}

impl SearchOptions {
    /// Refuses invalid options.
    ///
    /// # Errors
    /// [`Error::Usage`] for a beam width out of range, more results than the beam width, or a length penalty or factor that is
    /// NaN or infinite.
    pub fn check(&self) -> Result<()> {
        if self.beam_width == 0 {
            return Err(Error::usage(
                "the beam width is 0",
                "use at least 1, which is greedy search",
            ));
        }
        if self.beam_width > MAX_BEAM_WIDTH {
            return Err(Error::usage(
                format!("a beam width of {} is too large", self.beam_width),
                format!("the maximum is {MAX_BEAM_WIDTH}; widths above 10 rarely help"),
            ));
        }
        if let Some(sampling) = self.sampling {
            sampling.check()?;
            if !(1..=MAX_BEAM_WIDTH).contains(&self.n_best) {
                return Err(Error::usage(
                    format!("cannot draw {} samples of a sentence", self.n_best),
                    format!("`SearchOptions::n_best` is between 1 and {MAX_BEAM_WIDTH}"),
                ));
            }
        } else if self.n_best == 0 || self.n_best > self.beam_width {
            return Err(Error::usage(
                format!(
                    "cannot return the {} best hypotheses of a beam of width {}",
                    self.n_best, self.beam_width
                ),
                "`SearchOptions::n_best` is between 1 and the beam width: widen the beam with `SearchOptions::beam_width`",
            ));
        }
        if !(self.coverage_penalty >= 0.0 && self.coverage_penalty.is_finite()) {
            return Err(Error::usage(
                format!("the coverage penalty is {}", self.coverage_penalty),
                "set `SearchOptions::coverage_penalty` to 0 or more; 0.2 is usual",
            ));
        }
        for (name, value) in [
            ("length_penalty", self.length_penalty),
            ("max_new_factor", self.max_new_factor),
        ] {
            if !value.is_finite() {
                return Err(Error::usage(
                    format!("`decode.{name}` is {value}"),
                    "give a finite number",
                ));
            }
        }
        Ok(())
    }

    /// Number of rows that a sentence may take.
    pub fn rows(&self) -> usize {
        match self.sampling {
            Some(_) => self.n_best,
            None => self.beam_width,
        }
    }

    /// True if only the likeliest token matters, but not its probability.
    pub(super) fn is_plainly_greedy(&self) -> bool {
        self.beam_width == 1 && self.coverage_penalty == 0.0 && !self.reads_logits()
    }

    /// Number of likeliest tokens to consider for each hypothesis: `</s>` is at most one of them, so at least `beam_width`
    /// others remain.
    pub(super) fn n_candidates(&self) -> usize {
        self.beam_width + 1
    }

    /// True if the search needs more than the likeliest tokens of each row.
    pub(super) fn reads_logits(&self) -> bool {
        let bars = self.no_repeat_ngram > 0 || self.min_length > 0;
        self.guided || self.sampling.is_some() || bars
    }

    /// Number of finished hypotheses that a beam search keeps.
    pub(super) fn n_finished(&self) -> usize {
        match self.early_stopping {
            EarlyStopping::Never => self.n_best,
            EarlyStopping::Heuristic | EarlyStopping::Always => self.beam_width,
        }
    }

    /// Returns the maximum number of tokens of a hypothesis, including `</s>`: `max_new_factor` · `src_len` + `max_new_extra`,
    /// but at most `max_new_tokens` and `max_len`.
    pub fn limit(&self, src_len: usize, max_len: usize) -> usize {
        let scaled = (self.max_new_factor * src_len as f64) as usize;
        let limit = scaled.saturating_add(self.max_new_extra);
        limit.min(self.max_new_tokens).min(max_len)
    }

    /// Returns the score of a hypothesis of `length` tokens, including `</s>`: `log_prob` after the length penalty.
    pub fn score(&self, log_prob: f64, length: usize) -> f64 {
        let length = length.max(1) as f64;
        let base = match self.length_penalty_formula {
            LengthPenaltyFormula::Gnmt => (5.0 + length) / 6.0,
            LengthPenaltyFormula::Length => length,
        };
        log_prob / base.powf(self.length_penalty)
    }

    /// Returns the coverage penalty of a hypothesis whose source positions received these sums of attention: 0 or less. Sums
    /// that underflow count as the smallest positive number.
    pub fn coverage(&self, sums: &[f32]) -> f64 {
        if self.coverage_penalty == 0.0 {
            return 0.0;
        }
        let seen = sums.iter().map(|sum| sum.clamp(f32::MIN_POSITIVE, 1.0));
        self.coverage_penalty * seen.map(|sum| f64::from(sum).ln()).sum::<f64>()
    }
}
