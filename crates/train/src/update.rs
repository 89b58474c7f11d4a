//! One update: gradients of its micro-batches, clipping, and the optimizer.

use std::sync::Arc;

use attentive_base::batch::Batch;
use attentive_base::error::NotFinite;
use attentive_device::{VerdictCall, current, verdict};
use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_model::nn::Probe;
use attentive_tape::{Buffer, LossSums, Losses, Param};

use super::partial_sums::PartialSums;
use super::{Learner, UpdateScale};

/// A phase of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdatePhase {
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
pub trait UpdateObserver {
    /// Runs `work`, which is `phase` of an update.
    fn phase<R>(&mut self, phase: UpdatePhase, work: impl FnOnce() -> R) -> R;
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoUpdateObserver;

impl UpdateObserver for NoUpdateObserver {
    fn phase<R>(&mut self, _phase: UpdatePhase, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The loss sums over all tokens of the update.
    pub sums: LossSums,
    /// The norm of the average gradient per token, before clipping.
    pub gradient_norm: f64,
    /// The same for each layer, and for what is beside the layers.
    pub group_norms: Vec<f64>,
}

/// An update whose result may not be known yet: a GPU computes it later.
#[derive(Debug)]
pub struct Started {
    step: u64,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Known(Update),
    /// The host reads it from these buffers once the device has computed them.
    Later {
        /// The losses of each micro-batch.
        losses: Vec<Losses>,
        /// The sums of squares of the gradients' chunks.
        squares: Buffer,
        verdict: Arc<Buffer>,
    },
}

/// The results of several updates.
#[derive(Debug)]
pub struct FinishedUpdates {
    /// The results of the updates before the first one with a NaN or infinite loss or gradient.
    pub updates: Vec<Update>,
    /// Describes that first one. The model is as it was before it, even if others were started after it.
    pub damage: Option<Box<NotFinite>>,
}

/// What forward and backward passes give.
struct Computed {
    /// The losses of each micro-batch of this process.
    losses: Vec<Losses>,
    /// The sum of the losses `[1]`, on a device that computes later.
    loss: Option<Buffer>,
    /// For each parameter in the model's order, the gradient of the part that this process updates, summed
    /// over all micro-batches.
    gradients: Vec<Buffer>,
}

impl Learner {
    /// Runs update `step`, counted from 1: sums the gradients of its `train.micro_batches_per_update`
    /// micro-batches, clips the average over all tokens, and updates the model. `batches` are the
    /// micro-batches of [`Learner::share`].
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
        observer: &mut impl UpdateObserver,
    ) -> Result<Update, Box<NotFinite>> {
        let started = self.start(step, learning_rate, batches, observer)?;
        observer.phase(UpdatePhase::Optimizer, || {
            let FinishedUpdates { updates, damage } = self.finish(&[(&started, batches)]);
            damage.map_or_else(|| Ok(updates[0].clone()), Err)
        })
    }

    /// Begins what [`Learner::learn`] does. Unless it [waits](Learner::waits), the host does not wait for the
    /// device, and [`Learner::finish`] returns the result.
    ///
    /// # Errors
    /// Those of [`Learner::learn`], if it waits.
    ///
    /// # Panics
    /// See [`Learner::learn`].
    pub fn start(
        &mut self,
        step: u64,
        learning_rate: f64,
        batches: &[Batch],
        observer: &mut impl UpdateObserver,
    ) -> Result<Started, Box<NotFinite>> {
        let computed = self.compute(step, batches, observer);
        let outcome = if self.waits() {
            let sums = self.checked(step, batches, &computed.losses)?;
            let change = || self.change_now(step, learning_rate, batches, &computed, sums);
            Outcome::Known(observer.phase(UpdatePhase::Optimizer, change)?)
        } else {
            observer.phase(UpdatePhase::Optimizer, || self.change_later(step, learning_rate, computed))
        };
        Ok(Started { step, outcome })
    }

    /// Returns true if the result of an update is known when it ends: on the CPU, and with several processes.
    pub fn waits(&self) -> bool {
        !(self.exchange.processes().is_alone() && current().computes_later())
    }

    /// Returns the results of the updates since the last call, in their order, each with its micro-batches.
    /// The host waits for the device once.
    pub fn finish(&mut self, started: &[(&Started, &[Batch])]) -> FinishedUpdates {
        let all: Vec<&Buffer> = started.iter().flat_map(|(started, _)| started.buffers()).collect();
        let mut values = if all.is_empty() { Vec::new() } else { current().download_all(&all) }.into_iter();
        let mut updates = Vec::with_capacity(started.len());
        for (started, batches) in started {
            match self.result(started, &mut values) {
                Some(update) => updates.push(update),
                None => {
                    let damage = Some(self.damage(started.step, batches));
                    return FinishedUpdates { updates, damage };
                }
            }
        }
        FinishedUpdates { updates, damage: None }
    }

    /// The result of an update, given the elements of its buffers; `None` if it is damaged.
    fn result(&self, started: &Started, values: &mut impl Iterator<Item = Vec<f32>>) -> Option<Update> {
        let losses = match &started.outcome {
            Outcome::Known(update) => return Some(update.clone()),
            Outcome::Later { losses, .. } => losses,
        };
        let each: Vec<LossSums> = losses.iter().map(|losses| losses.finished(values)).collect();
        let sums = in_order(&each, 0).total().expect("at least one micro-batch");
        let mut next = || values.next().expect("what was asked for");
        let (squares, verdict) = (next(), next());
        let mut squares = squares.into_iter().map(f64::from);
        let of = |parameter: &Param| {
            let chunks = parameter.size().div_ceil(SUM_CHUNK);
            squares.by_ref().take(chunks).collect()
        };
        let squares: Vec<Vec<f64>> = self.model().trained().map(of).collect();
        let is_damaged = verdict::is_damaged(&verdict) || !sums.loss.is_finite();
        (!is_damaged).then(|| self.update(sums, &squares))
    }

    /// The result of an update with these losses and sums of squares of the gradient.
    fn update(&self, sums: LossSums, squares: &[Vec<f64>]) -> Update {
        let per_token = |norm: f64| norm / n_tokens(sums.n_tokens);
        let group_norms = self.groups().norms(squares).into_iter().map(per_token).collect();
        Update { sums, gradient_norm: per_token(self.norm(squares)), group_norms }
    }

    /// The damage of an update, which is computed again to find it.
    fn damage(&mut self, step: u64, batches: &[Batch]) -> Box<NotFinite> {
        self.verdict = None;
        let computed = self.compute(step, batches, &mut NoUpdateObserver);
        match self.checked(step, batches, &computed.losses) {
            Err(damage) => damage,
            Ok(sums) => self.damaged_gradient(step, sums, &computed.gradients, batches),
        }
    }

    /// The losses and gradients of all micro-batches.
    fn compute(&self, step: u64, batches: &[Batch], observer: &mut impl UpdateObserver) -> Computed {
        let share = self.share();
        assert_eq!(batches.len(), share.len(), "one batch per micro-batch");
        let (mut losses, mut gradients) = (Vec::new(), PartialSums::default());
        let mut total = current().computes_later().then(|| Buffer::zeros(1));
        let mut forward = |place: usize, observer: &mut _| {
            let batch = &batches[place - share.start];
            let number = self.number(step, place);
            let loss = UpdateObserver::phase(observer, UpdatePhase::Forward, || self.loss(batch, number));
            losses.push(loss.losses.clone());
            if let Some(total) = &mut total {
                current().add(total, loss.loss.buffer());
            }
            loss
        };
        let last = share.end - 1;
        for place in share.start..last {
            let loss = forward(place, observer);
            let backward = || self.gradients(loss);
            gradients.push(place as u64, observer.phase(UpdatePhase::Backward, backward));
        }
        let loss = forward(last, observer);
        let gradients = observer.phase(UpdatePhase::Backward, || {
            self.exchange.sum(gradients, |complete| self.watched_gradients(loss, complete))
        });
        Computed { losses, loss: total, gradients }
    }

    /// The number of a micro-batch in the whole run.
    fn number(&self, step: u64, place: usize) -> u64 {
        (step - 1) * self.n_batches() as u64 + place as u64
    }

    /// The sums over all micro-batches, including those of other processes.
    fn checked(&self, step: u64, batches: &[Batch], losses: &[Losses]) -> Result<LossSums, Box<NotFinite>> {
        let (sums, first) = (Losses::all(losses), self.share().start);
        let damaged = sums.iter().position(|sums| !sums.loss.is_finite());
        // The other processes wait for the losses even if one is NaN.
        self.exchange.losses(match damaged {
            None => Ok(in_order(&sums, first as u64)),
            Some(place) => {
                let number = self.number(step, first + place);
                Err(self.damaged_loss(step, sums[place], &batches[place], number))
            }
        })
    }

    /// Clips and updates, once the norm of the gradient is known.
    fn change_now(
        &mut self,
        step: u64,
        learning_rate: f64,
        batches: &[Batch],
        computed: &Computed,
        sums: LossSums,
    ) -> Result<Update, Box<NotFinite>> {
        let gradients = &computed.gradients;
        let squares = current().all_sums_of_squares(&Vec::from_iter(gradients));
        let squares = self.exchange.squares(squares);
        let n_tokens = n_tokens(sums.n_tokens);
        let update = self.update(sums, &squares);
        let gradient_norm = update.gradient_norm;
        if !gradient_norm.is_finite() {
            return Err(self.damaged_gradient(step, sums, gradients, batches));
        }
        let limit = self.clip_norm;
        let (clipping, verdict) = match &computed.loss {
            // As if this process were alone: the bits do not depend on the number of processes.
            Some(loss) => {
                let squares = squares.concat().into_iter().map(|sum| sum as f32);
                let squares = Vec::from_iter(squares).into();
                let verdict = self.judge(n_tokens, loss, &squares, None);
                // Their sum may be infinite in `f32` alone, and then nothing is changed.
                if verdict::is_damaged(&current().download(&verdict)) {
                    return Err(self.damaged_gradient(step, sums, gradients, batches));
                }
                (1.0, Some(verdict))
            }
            None if limit > 0.0 && gradient_norm > limit => (limit / gradient_norm, None),
            None => (1.0, None),
        };
        let scale = UpdateScale { step, learning_rate, gradient_scale: clipping / n_tokens };
        self.change(gradients, scale, verdict.as_ref());
        Ok(update)
    }

    /// Lets the device clip and update.
    fn change_later(&mut self, step: u64, learning_rate: f64, computed: Computed) -> Outcome {
        let Computed { losses, loss, gradients } = computed;
        let loss = loss.expect("a device that computes later");
        let n_tokens = n_tokens(losses.iter().map(Losses::n_tokens).sum());
        let squares = current().squares(&Vec::from_iter(&gradients));
        let verdict = self.judge(n_tokens, &loss, &squares, self.verdict.as_deref());
        let scale = UpdateScale { step, learning_rate, gradient_scale: 1.0 / n_tokens };
        self.change(&gradients, scale, Some(&verdict));
        let verdict = Arc::new(verdict);
        self.verdict = Some(Arc::clone(&verdict));
        Outcome::Later { losses, squares, verdict }
    }

    fn judge(&self, n_tokens: f64, loss: &Buffer, squares: &Buffer, before: Option<&Buffer>) -> Buffer {
        current().verdict(VerdictCall {
            clip_norm: self.clip_norm as f32,
            n_tokens: n_tokens as f32,
            loss,
            squares,
            before,
        })
    }

    fn damaged_loss(&self, step: u64, sums: LossSums, batch: &Batch, number: u64) -> Box<NotFinite> {
        let layer = self.first_non_finite_layer(batch, number);
        let value = sums.loss / sums.n_tokens.max(1) as f64;
        not_finite(step, value, layer, batch.lines.clone())
    }

    fn damaged_gradient(
        &self,
        step: u64,
        sums: LossSums,
        gradients: &[Buffer],
        batches: &[Batch],
    ) -> Box<NotFinite> {
        let layer = self.first_non_finite(gradients);
        let layer = layer.unwrap_or_else(|| "the sum of all gradients".into());
        let loss = sums.loss / n_tokens(sums.n_tokens);
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
        self.objective.loss(self.model(), &batch, &pass.probed(&probe));
        let layer = probe.first_non_finite();
        layer.unwrap_or_else(|| "projection".into())
    }
}

impl Started {
    /// What the host has to read for the result.
    pub(super) fn buffers(&self) -> Vec<&Buffer> {
        match &self.outcome {
            Outcome::Known(_) => Vec::new(),
            Outcome::Later { losses, squares, verdict } => {
                let losses = losses.iter().flat_map(Losses::buffers);
                losses.chain([squares, &**verdict]).collect()
            }
        }
    }
}

/// The sums of neighboring micro-batches, of which the first has the number `first` in its update.
fn in_order(sums: &[LossSums], first: u64) -> PartialSums<LossSums> {
    let mut all = PartialSums::default();
    (first..).zip(sums).for_each(|(number, &sums)| all.push(number, sums));
    all
}

/// The number of target tokens by which sums are divided.
fn n_tokens(n: usize) -> f64 {
    n.max(1) as f64
}

/// The first parameter with a NaN or infinite value.
pub(super) fn damaged(parameters: &[Param]) -> Option<String> {
    let damaged = |parameter: &&Param| current().first_non_finite(&parameter.values()).is_some();
    let parameter = parameters.iter().find(damaged)?;
    Some(format!("parameter {}", parameter.name()))
}

pub(super) fn not_finite(step: u64, loss: f64, layer: String, lines: Vec<usize>) -> Box<NotFinite> {
    Box::new(NotFinite { step, loss, layer, lines, checkpoint: None })
}
