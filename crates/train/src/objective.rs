//! What training minimizes.

use attentive_base::batch::Batch;
use attentive_config::TrainConfig;
use attentive_model::model::{Loss, Model};
use attentive_model::nn::Pass;

/// What training minimizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Objective {
    label_smoothing: f64,
    /// The factor of what two passes with different dropout differ in; 0 for one pass.
    consistency: f64,
}

impl Objective {
    pub(super) fn of(config: &TrainConfig) -> Self {
        Self { label_smoothing: config.label_smoothing, consistency: config.consistency }
    }

    /// The loss of `batch` in this pass.
    pub(super) fn loss(self, model: &Model, batch: &Batch, pass: &Pass<'_>) -> Loss {
        let Self { label_smoothing, consistency } = self;
        if consistency > 0.0 {
            model.consistent_loss(batch, label_smoothing, consistency, pass)
        } else {
            model.loss(batch, label_smoothing, pass)
        }
    }
}
