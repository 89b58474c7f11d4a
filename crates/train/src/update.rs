//! One update: gradients of its micro-batches, clipping, and the optimizer.

use attentive_base::batch::Batch;
use attentive_base::error::NotFinite;
use attentive_device::current;
use attentive_model::nn::Probe;
use attentive_tape::{LossSums, Param};

use super::exchange::Reduced;
use super::sum::PartialSums;
use super::{Learner, UpdateScale};

/// A phase of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Making a batch.
    Data,
    /// A forward pass.
    Forward,
    /// A backward pass, and sending gradients to other processes.
    Backward,
    /// The gradient norm and the optimizer.
    Optimizer,
}

/// Observes the phases of an update.
pub trait Watch {
    /// Runs `work`, which is the phase `part` of an update.
    fn part<R>(&mut self, part: Part, work: impl FnOnce() -> R) -> R;
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn part<R>(&mut self, _part: Part, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// The loss sums over all tokens of the update.
    pub sums: LossSums,
    /// The norm of the average gradient per token, before clipping.
    pub gradient_norm: f64,
}

impl Learner {
    /// Runs update `step`, counted from 1: sums the gradients of its `train.micro_batches_per_update` micro-batches, clips the
    /// average over all tokens, and updates the model. `batches` are the micro-batches of [`Learner::share`].
    ///
    /// # Errors
    /// A NaN or infinite loss or gradient; the model is unchanged then.
    ///
    /// # Panics
    /// If the number of batches differs from [`Learner::share`].
    pub fn learn(
        &mut self,
        step: u64,
        learning_rate: f64,
        batches: &[Batch],
        watch: &mut impl Watch,
    ) -> Result<Update, Box<NotFinite>> {
        let reduced = self.compute(step, batches, watch)?;
        watch.part(Part::Optimizer, || {
            let gradient_norm = self.gradient_norm(&reduced);
            if !gradient_norm.is_finite() {
                return Err(self.damaged_gradient(step, &reduced, batches));
            }
            let clip = self.clip_norm;
            let clipping = if clip > 0.0 && gradient_norm > clip {
                clip / gradient_norm
            } else {
                1.0
            };
            let scale = UpdateScale {
                step,
                learning_rate,
                gradient_scale: clipping / reduced.n_tokens(),
            };
            let sums = reduced.sums;
            self.change(&reduced, scale);
            Ok(Update {
                sums,
                gradient_norm,
            })
        })
    }

    /// The sums over all micro-batches, including those of other processes.
    fn compute(
        &self,
        step: u64,
        batches: &[Batch],
        watch: &mut impl Watch,
    ) -> Result<Reduced, Box<NotFinite>> {
        let share = self.share();
        assert_eq!(batches.len(), share.len(), "one batch per micro-batch");
        let (mut losses, mut gradients) = (PartialSums::default(), PartialSums::default());
        let mut damage = None;
        let mut forward = |place: usize, watch: &mut _| {
            let batch = &batches[place - share.start];
            let number = (step - 1) * self.n_batches() as u64 + place as u64;
            let loss = Watch::part(watch, Part::Forward, || self.loss(batch, number));
            losses.push(place as u64, loss.sums);
            if damage.is_none() && !loss.sums.loss.is_finite() {
                damage = Some(self.damaged_loss(step, loss.sums, batch, number));
            }
            loss
        };
        let last = share.end - 1;
        for place in share.start..last {
            let loss = forward(place, watch);
            let backward = || self.gradients(loss);
            gradients.push(place as u64, watch.part(Part::Backward, backward));
        }
        // The other processes wait for the gradients even if the loss is NaN.
        let loss = forward(last, watch);
        let gradients = watch.part(Part::Backward, || {
            self.exchange
                .sum(gradients, |complete| self.watched_gradients(loss, complete))
        });
        Ok(Reduced {
            sums: self.exchange.losses(damage.map_or(Ok(losses), Err))?,
            gradients,
        })
    }

    fn damaged_loss(
        &self,
        step: u64,
        sums: LossSums,
        batch: &Batch,
        number: u64,
    ) -> Box<NotFinite> {
        let layer = self.first_non_finite_layer(batch, number);
        let value = sums.loss / sums.n_tokens.max(1) as f64;
        not_finite(step, value, layer, batch.lines.clone())
    }

    fn damaged_gradient(&self, step: u64, reduced: &Reduced, batches: &[Batch]) -> Box<NotFinite> {
        let layer = self.first_non_finite(reduced);
        let layer = layer.unwrap_or_else(|| "the sum of all gradients".into());
        let loss = reduced.sums.loss / reduced.n_tokens();
        let lines = batches.iter().flat_map(|batch| batch.lines.clone());
        let lines = self.exchange.lines(&lines.collect::<Vec<_>>());
        self.exchange.processes().fail_together();
        not_finite(step, loss, format!("gradient of {layer}"), lines)
    }

    /// The first parameter or layer with a NaN or infinite value for this micro-batch.
    fn first_non_finite_layer(&self, batch: &Batch, number: u64) -> String {
        if let Some(parameter) = damaged(self.model().parameters()) {
            return parameter;
        }
        let probe = Probe::default();
        let pass = self.pass(number).unrecorded();
        let batch = self.mixed(batch, number);
        self.model()
            .loss(&batch, self.label_smoothing, &pass.probed(&probe));
        let layer = probe.first_non_finite();
        layer.unwrap_or_else(|| "projection".into())
    }
}

/// The first parameter with a NaN or infinite value.
pub(super) fn damaged(parameters: &[Param]) -> Option<String> {
    let damaged = |parameter: &&Param| current().first_non_finite(&parameter.values()).is_some();
    let parameter = parameters.iter().find(damaged)?;
    Some(format!("parameter {}", parameter.name()))
}

pub(super) fn not_finite(step: u64, loss: f64, layer: String, lines: Vec<usize>) -> Box<NotFinite> {
    Box::new(NotFinite {
        step,
        loss,
        layer,
        lines,
        checkpoint: None,
    })
}
