//! What a model thinks of what is right: teacher forcing.

use crate::batch::Batch;
use crate::metrics::{Accuracy, perplexity};
use crate::nn::Pass;
use crate::pipeline::Pipeline;

/// Sums over all that batches have to predict.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forced {
    /// Negative log-likelihood (natural logarithm).
    pub(super) nll: f64,
    /// Tokens that the model finds likeliest, of all.
    pub(super) tokens: Accuracy,
}

impl Forced {
    /// Shows `batches` to the model of `pipeline`.
    pub(super) fn measure(pipeline: &Pipeline, batches: &[Batch]) -> Self {
        let mut forced = Self::default();
        for batch in batches {
            let sums = pipeline.model().loss(batch, 0.0, &Pass::inference()).sums;
            forced.nll += sums.nll;
            forced.tokens.correct += sums.n_correct as u64;
            forced.tokens.total += sums.n_tokens as u64;
        }
        forced
    }

    /// exp of the mean negative log-likelihood per token.
    pub(super) fn perplexity(&self) -> f64 {
        perplexity(self.nll, self.tokens.total)
    }
}
