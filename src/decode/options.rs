//! What a search is asked for.

use serde::Serialize;

use crate::config::{DecodeConfig, LengthPenalty, MAX_BEAM_WIDTH};
use crate::error::{Error, Result};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchOptions {
    /// Hypotheses kept at each step; 1 is greedy.
    pub beam_width: usize,
    /// How scores of different lengths compare.
    pub length_penalty: LengthPenalty,
    /// The penalty's exponent α.
    pub alpha: f64,
    /// See [`SearchOptions::limit`].
    pub max_new_factor: f64,
    /// See [`SearchOptions::limit`].
    pub max_new_extra: usize,
    /// The most tokens of a hypothesis, `</s>` included, whatever the length of its source.
    pub max_new_tokens: usize,
    /// Hypotheses to give back, at most `beam_width`.
    pub n_best: usize,
}

impl From<&DecodeConfig> for SearchOptions {
    /// The configured search for the one best hypothesis.
    fn from(config: &DecodeConfig) -> Self {
        Self {
            beam_width: config.beam_width,
            length_penalty: config.length_penalty,
            alpha: config.alpha,
            max_new_factor: config.max_new_factor,
            max_new_extra: config.max_new_extra,
            max_new_tokens: usize::MAX,
            n_best: 1,
        }
    }
}

impl SearchOptions {
    /// Refuses what no search can do.
    ///
    /// # Errors
    /// [`Error::Usage`] for a beam without hypotheses, more results than the beam is wide, or an α or factor that is
    /// not a number or is infinite.
    pub fn check(&self) -> Result<()> {
        if self.beam_width == 0 {
            return Err(Error::usage(
                "a beam of width 0 finds nothing",
                "the least is 1, which is greedy search",
            ));
        }
        if self.beam_width > MAX_BEAM_WIDTH {
            return Err(Error::usage(
                format!("a beam of width {} is too wide", self.beam_width),
                format!("the most is {MAX_BEAM_WIDTH}; beyond 10 little is gained"),
            ));
        }
        if self.n_best == 0 || self.n_best > self.beam_width {
            return Err(Error::usage(
                format!(
                    "cannot give the {} best of a beam of width {}",
                    self.n_best, self.beam_width
                ),
                "`SearchOptions::n_best` is at least 1 and at most the beam width: widen the beam with `SearchOptions::beam_width`",
            ));
        }
        for (name, value) in [
            ("alpha", self.alpha),
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

    /// The most tokens that a hypothesis may have, `</s>` included: `max_new_factor` · `src_len` + `max_new_extra`, but no
    /// more than `max_new_tokens` and than the model can decode.
    pub fn limit(&self, src_len: usize, max_len: usize) -> usize {
        let scaled = (self.max_new_factor * src_len as f64) as usize;
        let limit = scaled.saturating_add(self.max_new_extra);
        limit.min(self.max_new_tokens).min(max_len)
    }

    /// Σ log P of `length` tokens, `</s>` included, after the length penalty.
    pub fn score(&self, log_prob: f64, length: usize) -> f64 {
        let length = length.max(1) as f64;
        let base = match self.length_penalty {
            LengthPenalty::Gnmt => (5.0 + length) / 6.0,
            LengthPenalty::Length => length,
        };
        log_prob / base.powf(self.alpha)
    }
}
