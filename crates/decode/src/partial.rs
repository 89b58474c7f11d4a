//! A hypothesis that is being extended.

use attentive_base::batch::TokenId;

use super::constraints::PhraseProgress;
use crate::NextToken;

/// A hypothesis that is being extended.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    pub(super) tokens: Vec<TokenId>,
    pub(super) token_log_probs: Vec<f32>,
    pub(super) log_prob: f64,
    /// The progress of each constraint.
    pub(super) progress: PhraseProgress,
    /// For each source position, the sum of the attention that it received; empty without a coverage penalty.
    pub(super) coverage: Vec<f32>,
}

impl Partial {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Adds the probability of `next`, and the `attention` with which it was predicted.
    pub(super) fn count(&mut self, next: NextToken, attention: Option<&[f32]>) {
        self.token_log_probs.push(next.log_prob as f32);
        self.log_prob += next.log_prob;
        if let Some(attention) = attention {
            self.coverage.resize(attention.len(), 0.0);
            for (sum, weight) in self.coverage.iter_mut().zip(attention) {
                *sum += weight;
            }
        }
    }

    /// The tokens that would repeat an n-gram of `n` tokens.
    pub(super) fn repeating(&self, n: usize) -> Vec<TokenId> {
        let Some(context) = n.checked_sub(1).filter(|&context| context < self.len()) else {
            return Vec::new();
        };
        let end = &self.tokens[self.len() - context..];
        let repeated = self.tokens.windows(n).filter(|ngram| ngram.starts_with(end));
        repeated.map(|ngram| ngram[context]).collect()
    }
}
