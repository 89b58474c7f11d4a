//! What a model thinks of what is right: teacher forcing.

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::metrics::{Accuracy, perplexity};
use crate::pipeline::Pipeline;

/// Sums over all that batches have to predict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forced {
    /// Negative log-likelihood (natural logarithm).
    pub(super) nll: f64,
    /// Tokens that the model finds likeliest, of all.
    pub(super) tokens: Accuracy,
}

impl Forced {
    /// Shows `batches` to the model of `pipeline`.
    ///
    /// # Errors
    /// [`Error::Data`] for a model whose numbers are not finite.
    pub(super) fn measure(pipeline: &Pipeline, batches: &[Batch]) -> Result<Self> {
        let sums = pipeline.model().sums(batches, 0.0);
        if !sums.nll.is_finite() {
            let effect = "the model gives what is to be predicted no probability";
            return Err(Error::damaged_model(effect));
        }
        Ok(Self {
            nll: sums.nll,
            tokens: Accuracy {
                correct: sums.n_correct as u64,
                total: sums.n_tokens as u64,
            },
        })
    }

    /// exp of the mean negative log-likelihood per token.
    pub(super) fn perplexity(&self) -> f64 {
        perplexity(self.nll, self.tokens.total)
    }
}
