//! Options of a search.

use serde::Serialize;

use crate::config::{DecodeConfig, LengthPenalty, MAX_BEAM_WIDTH};
use crate::error::{Error, Result};

/// Options of beam search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchOptions {
    /// Hypotheses kept at each decoding step; 1 for greedy search.
    pub beam_width: usize,
    /// Normalisation of scores by length.
    pub length_penalty: LengthPenalty,
    /// The penalty's exponent α.
    pub alpha: f64,
    /// See [`SearchOptions::limit`].
    pub max_new_factor: f64,
    /// See [`SearchOptions::limit`].
    pub max_new_extra: usize,
    /// Maximum number of tokens of a hypothesis, including `</s>`, for any source.
    pub max_new_tokens: usize,
    /// Hypotheses to return, at most `beam_width`.
    pub n_best: usize,
}

impl From<&DecodeConfig> for SearchOptions {
    /// The configured search for the best hypothesis.
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
    /// Refuses invalid options.
    ///
    /// # Errors
    /// [`Error::Usage`] for a beam width out of range, more results than the beam is wide, or an α or factor that is NaN or
    /// infinite.
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
        if self.n_best == 0 || self.n_best > self.beam_width {
            return Err(Error::usage(
                format!(
                    "cannot return the {} best hypotheses of a beam of width {}",
                    self.n_best, self.beam_width
                ),
                "`SearchOptions::n_best` is between 1 and the beam width: widen the beam with `SearchOptions::beam_width`",
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

    /// Maximum number of tokens of a hypothesis, including `</s>`: `max_new_factor` · `src_len` + `max_new_extra`, but at most
    /// `max_new_tokens` and `max_len`.
    pub fn limit(&self, src_len: usize, max_len: usize) -> usize {
        let scaled = (self.max_new_factor * src_len as f64) as usize;
        let limit = scaled.saturating_add(self.max_new_extra);
        limit.min(self.max_new_tokens).min(max_len)
    }

    /// Score of a hypothesis of `length` tokens, including `</s>`: `log_prob` after the length penalty.
    pub fn score(&self, log_prob: f64, length: usize) -> f64 {
        let length = length.max(1) as f64;
        let base = match self.length_penalty {
            LengthPenalty::Gnmt => (5.0 + length) / 6.0,
            LengthPenalty::Length => length,
        };
        log_prob / base.powf(self.alpha)
    }
}
