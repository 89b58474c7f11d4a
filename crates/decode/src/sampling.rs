//! Draws a token from logits.

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use serde::Serialize;

use crate::largest;

/// The distribution from which tokens are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sampling {
    /// Divisor of the logits; values below 1 favor likely tokens. 0 always takes the likeliest.
    pub temperature: f64,
    /// Number of most likely tokens to draw from (Fan et al. 2018); 0 for all.
    pub top_k: usize,
    /// Nucleus sampling (Holtzman et al. 2020): draws from the smallest set of top tokens whose probabilities sum to this,
    /// among the tokens left by `top_k`; 1 for all.
    pub top_p: f64,
    /// The seed; equal seeds give equal samples.
    pub seed: u64,
}

impl Default for Sampling {
    /// The default is the model's distribution.
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Refuses invalid values.
    ///
    /// # Errors
    /// [`Error::Usage`] for a negative or infinite temperature, and a `top_p` that is not above 0 and at most 1.
    pub fn check(&self) -> Result<()> {
        let Self {
            temperature, top_p, ..
        } = *self;
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return Err(Error::usage(
                format!("cannot sample at a temperature of {temperature}"),
                "use a finite number, 0 or more: 0 always picks the most likely token, 1 samples from the model's distribution",
            ));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(Error::usage(
                format!("cannot sample with a top-p of {top_p}"),
                "`Sampling::top_p` must be above 0 and at most 1, which keeps all tokens",
            ));
        }
        Ok(())
    }

    /// Returns the token at `uniform`, a number in `[0, 1)`, of the distribution of a row of logits without `barred` tokens;
    /// `None` if all logits are NaN.
    pub(super) fn draw(&self, row: &[f32], barred: &[TokenId], uniform: f64) -> Option<TokenId> {
        let count = match (self.temperature, self.top_k) {
            (0.0, _) => 1,
            (_, 0) => row.len(),
            (_, k) => k.min(row.len()),
        };
        let candidates = largest(row, count, barred);
        let &(top, likeliest) = candidates.first()?;
        if count == 1 {
            return Some(likeliest);
        }
        let weights: Vec<f64> = candidates
            .iter()
            .map(|&(logit, _)| ((f64::from(logit) - f64::from(top)) / self.temperature).exp())
            .collect();
        let nucleus = reaching(&weights, self.top_p * weights.iter().sum::<f64>());
        let total: f64 = weights[..nucleus].iter().sum();
        let chosen = reaching(&weights[..nucleus], uniform * total);
        Some(candidates[chosen - 1].1)
    }
}

/// The number of leading `weights` needed to reach `sum`: at least one, and all if rounding keeps them below it.
fn reaching(weights: &[f64], sum: f64) -> usize {
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let before = sums.take_while(|&reached| reached < sum).count();
    (before + 1).min(weights.len())
}
