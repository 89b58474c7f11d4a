//! One update: gradients of its micro-batches, clipping, and the optimizer.

use attentive_kernels::optimizer::first_non_finite;
use burn::module::Module;

use super::learner::Gathered;
use super::sum::PartialSums;
use super::{Learner, UpdateScale};
use crate::batch::Batch;
use crate::error::NotFinite;
use crate::model::{Parameter, parameters};
use crate::nn::Probe;
use crate::ops::LossSums;

/// A part of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Making a batch.
    Data,
    /// A forward pass.
    Forward,
    /// A backward pass.
    Backward,
    /// The gradient norm and the optimizer.
    Optimizer,
}

/// Observes the parts of an update.
pub trait Watch {
    /// Runs `work`, which is the `part` of an update.
    fn part<R>(&mut self, part: Part, work: impl FnOnce() -> R) -> R;
}

/// Observes nothing.
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
    /// The loss sums over all its tokens.
    pub sums: LossSums,
    /// The norm of the mean gradient per token, before clipping.
    pub gradient_norm: f64,
}

impl Learner {
    /// Runs update `step`, counted from 1: sums the gradients of its `train.accumulate` micro-batches, clips their mean
    /// over all tokens, and updates the model.
    ///
    /// # Errors
    /// A NaN or infinite loss or gradient; the model is unchanged then.
    ///
    /// # Panics
    /// Without batches.
    pub fn learn(
        &mut self,
        step: u64,
        learning_rate: f64,
        batches: &[Batch],
        watch: &mut impl Watch,
    ) -> Result<Update, Box<NotFinite>> {
        let (gathered, lines) = self.gather(step, batches, watch)?;
        watch.part(Part::Optimizer, || {
            let (sums, gradient_norm) = (gathered.sums, self.gradient_norm(&gathered));
            if !gradient_norm.is_finite() {
                let layer = gathered.first_non_finite();
                let layer = layer.unwrap_or("the sum of all gradients");
                let loss = sums.loss / gathered.n_tokens();
                return Err(not_finite(
                    step,
                    loss,
                    format!("gradient of {layer}"),
                    lines,
                ));
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
                gradient_scale: clipping / gathered.n_tokens(),
            };
            self.change(gathered, scale);
            Ok(Update {
                sums,
                gradient_norm,
            })
        })
    }

    /// The summed gradients of one update, and the corpus lines behind them.
    fn gather(
        &self,
        step: u64,
        batches: &[Batch],
        watch: &mut impl Watch,
    ) -> Result<(Gathered, Vec<usize>), Box<NotFinite>> {
        let (mut partial, mut lines) = (PartialSums::default(), Vec::new());
        for (place, batch) in (0..).zip(batches) {
            let number = (step - 1) * self.accumulate + place;
            let loss = watch.part(Part::Forward, || self.loss(batch, number));
            lines.extend(&batch.lines);
            if !loss.sums.loss.is_finite() {
                let layer = self.first_non_finite_layer(batch, number);
                let value = loss.sums.loss / loss.sums.n_tokens.max(1) as f64;
                return Err(not_finite(step, value, layer, batch.lines.clone()));
            }
            watch.part(Part::Backward, || partial.push(place, self.gradients(loss)));
        }
        let gathered = partial.total().expect("at least one micro-batch");
        Ok((gathered, lines))
    }

    /// The first parameter or layer with a NaN or infinite value for this micro-batch.
    fn first_non_finite_layer(&self, batch: &Batch, number: u64) -> String {
        if let Some(parameter) = damaged(&parameters(self.model())) {
            return parameter;
        }
        let probe = Probe::default();
        let pass = self.pass(number);
        let model = self.model().valid();
        let batch = self.mixed(batch, number);
        model.loss(&batch, self.label_smoothing, &pass.probed(&probe));
        let layer = probe.first_non_finite();
        layer.unwrap_or_else(|| "projection".into())
    }
}

/// The first parameter with a NaN or infinite value.
pub(super) fn damaged(parameters: &[Parameter]) -> Option<String> {
    let damaged = |parameter: &&Parameter| first_non_finite(&parameter.values).is_some();
    let parameter = parameters.iter().find(damaged)?;
    Some(format!("parameter {}", parameter.name))
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
