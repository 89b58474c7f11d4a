//! Teacher-forced loss and accuracy of the references.

use attentive_base::batch::Batch;
use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_device::Losses;
use attentive_metrics::{Accuracy, perplexity};
use attentive_model::nn::Pass;
use attentive_pipeline::Pipeline;

/// Sums over all target tokens of the batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct TeacherForcedScores {
    /// Negative log-likelihood (natural logarithm).
    pub(super) nll: f64,
    /// Target tokens that the model finds most likely.
    pub(super) tokens: Accuracy,
}

impl TeacherForcedScores {
    /// Runs the model of `pipeline` on `batches`.
    ///
    /// # Errors
    /// [`Error::Data`] if the model's outputs are NaN or infinite.
    pub(super) fn measure(pipeline: &Pipeline, batches: &[Batch]) -> Result<Self> {
        let mut total = Self { nll: 0.0, tokens: Accuracy::default() };
        let sums = pipeline.with_model(|model| {
            let mut losses = Vec::with_capacity(batches.len());
            for batch in batches {
                Interrupt::check()?;
                losses.push(model.loss(batch, 0.0, &Pass::inference()).losses);
            }
            Ok(Losses::all(&losses))
        })?;
        for sums in sums {
            total.nll += sums.nll;
            total.tokens.correct += sums.n_correct as u64;
            total.tokens.total += sums.n_tokens as u64;
        }
        if !total.nll.is_finite() {
            let effect = "the model gives no probability to the target tokens";
            return Err(Error::damaged_model(effect));
        }
        Ok(total)
    }

    /// exp of the average negative log-likelihood per token.
    pub(super) fn perplexity(&self) -> f64 {
        perplexity(self.nll, self.tokens.total)
    }
}
