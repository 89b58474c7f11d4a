//! What training minimizes.

use attentive_base::batch::Batch;
use attentive_config::Config;
use attentive_model::model::{AlignmentHead, Loss, Model};
use attentive_model::nn::Pass;
use attentive_tape::add;

/// What training minimizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Objective {
    label_smoothing: f64,
    /// The head that follows alignments, and the factor of its loss.
    guided: (AlignmentHead, f64),
    /// The factor of what two passes with different dropout differ in; 0 for one pass.
    consistency: f64,
}

impl Objective {
    pub(super) fn of(config: &Config) -> Self {
        let translator = config.model.family.translator();
        let head = translator.map_or_else(AlignmentHead::default, |keys| AlignmentHead {
            layer: keys.alignment_layer,
            head: keys.alignment_head,
        });
        let train = &config.train;
        Self {
            label_smoothing: train.label_smoothing,
            guided: (head, train.guided_alignment),
            consistency: train.consistency,
        }
    }

    /// The loss of `batch` in this pass. Its sums are those of the predictions alone.
    pub(super) fn loss(self, model: &Model, batch: &Batch, pass: &Pass<'_>) -> Loss {
        let (head, strength) = self.guided;
        let Some(guidance) = head.guidance(model.architecture(), batch, strength) else {
            return self.predictions(model, batch, pass);
        };
        let Loss { loss, losses } = self.predictions(model, batch, &pass.guided(&guidance));
        match guidance.into_loss() {
            Some(of_attention) => Loss { loss: add(loss, of_attention), losses },
            None => Loss { loss, losses },
        }
    }

    /// The loss of the predictions.
    fn predictions(self, model: &Model, batch: &Batch, pass: &Pass<'_>) -> Loss {
        let Self { label_smoothing, consistency, .. } = self;
        if consistency > 0.0 {
            model.consistent_loss(batch, label_smoothing, consistency, pass)
        } else {
            model.loss(batch, label_smoothing, pass)
        }
    }
}
