//! Draws tokens from logits.

mod sentence_samples;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use sentence_samples::SentenceSamples;

use crate::largest;

/// The distribution from which tokens are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sampling {
    /// Divisor of the logits; values below 1 favor likely tokens. 0 always takes the likeliest.
    pub temperature: f64,
    /// Number of most likely tokens to draw from (Fan et al. 2018); 0 for all.
    pub top_k: usize,
    /// Nucleus sampling (Holtzman et al. 2020): draws from the smallest set of top tokens whose probabilities
    /// sum to this, among the tokens left by `top_k`; 1 for all.
    pub top_p: f64,
    /// Epsilon sampling (Hewitt et al. 2022): tokens below this probability, among those left by `top_k`, are
    /// not drawn, except the likeliest; 0 for all.
    pub epsilon: f64,
    /// The seed; equal seeds give equal samples.
    pub seed: u64,
}

impl Default for Sampling {
    /// The default is the model's distribution.
    fn default() -> Self {
        Self { temperature: 1.0, top_k: 0, top_p: 1.0, epsilon: 0.0, seed: 0 }
    }
}

/// Options of sampling; what is left out has its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::Args), command(next_help_heading = "Sampling"))]
#[serde(default, deny_unknown_fields)]
pub struct SamplingChanges {
    /// Sampling temperature: 1 samples from the model's distribution, lower values favor likely tokens, and 0
    /// always takes the most likely one [default: 1 for translations, 0.8 for texts].
    #[cfg_attr(feature = "cli", arg(long, value_name = "T", allow_negative_numbers = true))]
    #[schemars(range(min = 0))]
    pub temperature: Option<f64>,
    /// Top-k sampling: sample from the K most likely tokens only [default: all, which is 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "K"))]
    pub top_k: Option<usize>,
    /// Nucleus sampling: keep the smallest set of top tokens whose probabilities sum to P [default: 1, all
    /// tokens].
    #[cfg_attr(feature = "cli", arg(long, value_name = "P", allow_negative_numbers = true))]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub top_p: Option<f64>,
    /// Epsilon sampling: never draw a token whose probability is below E, unless it is the most likely one;
    /// 0.02 is usual for many samples [default: 0, all tokens].
    #[cfg_attr(feature = "cli", arg(long, value_name = "E", allow_negative_numbers = true))]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub epsilon: Option<f64>,
    /// Random seed: the same seed gives the same samples [default: 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "S"))]
    pub seed: Option<u64>,
}

impl SamplingChanges {
    /// Returns `defaults` with these changes.
    pub fn apply(self, defaults: Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.unwrap_or(defaults.temperature),
            top_k: self.top_k.unwrap_or(defaults.top_k),
            top_p: self.top_p.unwrap_or(defaults.top_p),
            epsilon: self.epsilon.unwrap_or(defaults.epsilon),
            seed: self.seed.unwrap_or(defaults.seed),
        }
    }
}

impl Sampling {
    /// Refuses invalid values.
    ///
    /// # Errors
    /// [`Error::Config`] for a negative or infinite `temperature`, a `top_p` that is not above 0 and at most
    /// 1, and an `epsilon` that is not from 0 to below 1.
    pub fn check(&self) -> Result<()> {
        let Self { temperature, top_p, epsilon, .. } = *self;
        let refused = |key: &str, expected: &str, found: f64| Error::config(key, expected, found.to_string());
        if !(temperature >= 0.0 && temperature.is_finite()) {
            let expected = "a finite number, 0 or more (0 always picks the most likely token)";
            return Err(refused("temperature", expected, temperature));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(refused("top_p", "a number above 0 and at most 1, which keeps all tokens", top_p));
        }
        if !(0.0..1.0).contains(&epsilon) {
            return Err(refused("epsilon", "a probability below 1; 0 keeps all tokens", epsilon));
        }
        Ok(())
    }

    /// Returns the token at `uniform`, a number in `[0, 1)`, of the distribution of a row of logits without
    /// `barred` tokens; `None` if all logits are NaN.
    ///
    /// Tokens count from the likeliest downwards, so only as many as are needed are put in order.
    pub(super) fn draw(&self, row: &[f32], barred: &[TokenId], uniform: f64) -> Option<TokenId> {
        /// The number of tokens that are put in order at first; most draws need no more.
        const FIRST: usize = 64;
        if let Some(count) = self.candidates() {
            let candidates = largest(row, count, barred);
            let index = self.index_among(&candidates, uniform)?;
            return Some(candidates[index].1);
        }
        let mut count = FIRST;
        let mut candidates = largest(row, count, barred);
        let &(top, _) = candidates.first()?;
        let weight = |logit: f32| self.weight(logit, top);
        let total = possible(row, barred).map(weight).sum();
        loop {
            let weights: Vec<f64> = candidates.iter().map(|&(logit, _)| weight(logit)).collect();
            let is_complete = candidates.len() < count;
            if let Some(index) = self.index_at(&weights, total, is_complete, uniform) {
                return Some(candidates[index].1);
            }
            count *= 16;
            candidates = largest(row, count, barred);
        }
    }

    /// The number of likeliest tokens from which one is drawn; `None` for all.
    pub(super) fn candidates(&self) -> Option<usize> {
        match (self.temperature, self.top_k) {
            (0.0, _) => Some(1),
            (_, 0) => None,
            (_, k) => Some(k),
        }
    }

    /// The index of the token at `uniform` among the likeliest [`Self::candidates`] with their logits; `None`
    /// if there are none.
    pub(super) fn index_among(&self, likeliest: &[(f32, TokenId)], uniform: f64) -> Option<usize> {
        let &(top, _) = likeliest.first()?;
        if likeliest.len() == 1 {
            return Some(0);
        }
        let weights = likeliest.iter().map(|&(logit, _)| self.weight(logit, top));
        let weights: Vec<f64> = weights.collect();
        self.index_at(&weights, weights.iter().sum(), true, uniform)
    }

    /// The probability of a token with this logit, relative to that of the likeliest one.
    fn weight(&self, logit: f32, top: f32) -> f64 {
        ((f64::from(logit) - f64::from(top)) / self.temperature).exp()
    }

    /// The index among `weights`, the largest of those whose sum is `total`, of the token at `uniform`;
    /// `None` if it depends on further ones. There are none if `is_complete`.
    fn index_at(&self, weights: &[f64], total: f64, is_complete: bool, uniform: f64) -> Option<usize> {
        if self.epsilon == 0.0 || weights.is_empty() {
            return self.index_in(weights, total, is_complete, uniform);
        }
        let kept = weights.partition_point(|&weight| weight >= self.epsilon * total).max(1);
        let is_complete = is_complete || kept < weights.len();
        let kept = &weights[..kept];
        is_complete.then(|| self.index_in(kept, kept.iter().sum(), true, uniform))?
    }

    /// Like [`Self::index_at`], of all tokens whose probability is high enough.
    fn index_in(&self, weights: &[f64], total: f64, is_complete: bool, uniform: f64) -> Option<usize> {
        let all = is_complete.then_some(weights.len());
        if self.top_p == 1.0 {
            return Some(reaching(weights, uniform * total).or(all)? - 1);
        }
        let nucleus = &weights[..reaching(weights, self.top_p * total).or(all)?];
        let total: f64 = nucleus.iter().sum();
        Some(reaching(nucleus, uniform * total).unwrap_or(nucleus.len()) - 1)
    }
}

/// The logits of a row that can be drawn: all but NaN, −∞ and `barred` ones. +∞ counts as the largest finite
/// number.
fn possible(row: &[f32], barred: &[TokenId]) -> impl Iterator<Item = f32> {
    let possible = row.iter().zip(0..);
    let possible = possible.filter(|(x, token)| **x > f32::NEG_INFINITY && !barred.contains(token));
    possible.map(|(x, _)| x.min(f32::MAX))
}

/// The number of leading `weights` needed to reach `sum`, if they do.
fn reaching(weights: &[f64], sum: f64) -> Option<usize> {
    let mut reached = 0.0;
    let index = weights.iter().position(|weight| {
        reached += weight;
        reached >= sum
    });
    index.map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts all tokens in order.
    fn drawn_plainly(sampling: &Sampling, row: &[f32], barred: &[TokenId], uniform: f64) -> Option<TokenId> {
        let k = match sampling.top_k {
            0 => row.len(),
            k => k,
        };
        let mut all: Vec<(f32, TokenId)> = row.iter().copied().zip(0..).collect();
        all.retain(|(x, token)| *x > f32::NEG_INFINITY && !barred.contains(token));
        all.sort_by(|(a, _), (b, _)| b.partial_cmp(a).unwrap());
        all.truncate(k);
        let top = f64::from(all.first()?.0);
        let weights = all.iter().map(|(x, _)| (f64::from(*x) - top) / sampling.temperature);
        let weights: Vec<f64> = weights.map(f64::exp).collect();
        let total: f64 = weights.iter().sum();
        let least = |weight: &&f64| **weight >= sampling.epsilon * total;
        let weights = &weights[..weights.iter().take_while(least).count().max(1)];
        let end = |weights: &[f64], sum| reaching(weights, sum).unwrap_or(weights.len());
        let nucleus = end(weights, sampling.top_p * weights.iter().sum::<f64>());
        let total: f64 = weights[..nucleus].iter().sum();
        Some(all[end(&weights[..nucleus], uniform * total) - 1].1)
    }

    #[test]
    fn as_many_tokens_are_put_in_order_as_are_needed() {
        let spread = |width: f32| -> Vec<f32> {
            let logit = |i: usize| ((i * 7919) % 5003) as f32 / 5003.0 * width;
            (0..5003).map(logit).collect()
        };
        // From all tokens alike to only a few.
        for width in [0.0, 0.5, 5.0, 50.0, 5000.0] {
            let mut row = spread(width);
            row[17] = f32::NAN;
            row[18] = f32::NEG_INFINITY;
            for (top_k, top_p, epsilon) in [
                (0, 1.0, 0.0),
                (0, 0.3, 0.0),
                (0, 0.97, 0.0),
                (40, 1.0, 0.0),
                (300, 0.9, 0.0),
                (0, 1.0, 0.02),
                (0, 1.0, 0.0004),
                (300, 0.9, 0.001),
            ] {
                let sampling = Sampling { temperature: 0.7, top_k, top_p, epsilon, seed: 0 };
                for number in 0..50 {
                    let uniform = f64::from(number) / 50.0 + 0.003;
                    let drawn = sampling.draw(&row, &[3, 4], uniform);
                    assert_eq!(drawn, drawn_plainly(&sampling, &row, &[3, 4], uniform));
                }
            }
        }
    }
}
