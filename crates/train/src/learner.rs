//! A model and its optimizer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

use attentive_base::batch::Batch;
use attentive_checkpoint::MatmulBackend;
use attentive_checkpoint::weights::NamedTensor;
use attentive_config::Config;
use attentive_device::current;
use attentive_model::model::{Loss, Model, Parameter};
use attentive_model::nn::{Blueprint, Pass};
use attentive_processes::Processes;
use attentive_tape::{Buffer, Float, Param, ParamId};

use super::exchange::Exchange;
use super::gradient_groups::GradientGroups;
use super::objective::Objective;
use super::scheduled_sampling::ScheduledSampling;
use super::{Optimizer, UpdateScale};

/// A model in training.
#[derive(Debug)]
pub struct Learner {
    model: Model,
    optimizer: Optimizer,
    pub(super) exchange: Exchange,
    seed: u64,
    pub(super) objective: Objective,
    pub(super) clip_norm: f64,
    sampling: ScheduledSampling,
    precision: Float,
    /// The verdict on the last update, on devices that compute later.
    pub(super) verdict: Option<Arc<Buffer>>,
    groups: GradientGroups,
    /// The index of each of the architecture's parameters among the trained ones, without the frozen ones.
    places: Vec<usize>,
}

/// A gradient for each trained parameter, in the order of [`Model::trained`].
#[derive(Debug)]
pub(super) struct GradientList(pub(super) Vec<Buffer>);

impl Learner {
    /// Creates a learner for `model`, according to `config`.
    pub fn new(model: Model, config: &Config) -> Self {
        Self::among(Processes::alone(), model, config)
    }

    /// Creates a learner for `model` that works together with other processes, which have the same model.
    pub(super) fn among(processes: Processes, model: Model, config: &Config) -> Self {
        let n_batches = config.train.micro_batches_per_update.max(1);
        let exchange = Exchange::new(&model, processes, config.train.exchange_precision, n_batches);
        let optimizer = if exchange.processes().is_alone() {
            Optimizer::new(&config.train, &model)
        } else {
            // All processes receive whole parameters after each update: no row may miss it.
            Optimizer::of_parts(&config.train, &model, exchange.parts().to_vec())
        };
        Self {
            optimizer,
            exchange,
            places: places(&model),
            groups: GradientGroups::new(&model),
            model,
            seed: config.seed,
            objective: Objective::of(config),
            clip_norm: config.train.clip_norm,
            sampling: ScheduledSampling::new(config),
            precision: config.train.products(),
            verdict: None,
        }
    }

    /// Returns the current model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the precision of linear maps, with `auto` resolved, and the instruction set or the hardware in
    /// place of the CPU.
    pub fn products(&self) -> MatmulBackend {
        let hardware = current().hardware();
        MatmulBackend {
            matmul: self.precision.into(),
            instructions: hardware
                .map_or_else(|| self.precision.instructions().to_owned(), |hardware| hardware.name),
        }
    }

    /// Carries out what updates have deferred, before [`Learner::state`].
    pub(super) fn settle(&mut self) {
        self.optimizer.settle();
    }

    /// Gives the model the moving average of its weights, which is what is validated and saved; a second call
    /// does the reverse. Without `train.ema`, nothing changes.
    pub(super) fn swap_averages(&mut self) {
        if !self.optimizer.averages() {
            return;
        }
        let mut updated = UpdatedParts::new(&self.exchange);
        self.optimizer.swap_averages(&self.model, |parameter, part| updated.add(parameter, part));
        updated.share(&self.exchange, &self.model);
    }

    /// The optimizer's state, for a checkpoint of the averages. Only the first of several processes has it.
    pub(super) fn state(&self) -> Vec<NamedTensor<'_>> {
        self.exchange.state(&self.optimizer)
    }

    /// The names and shapes of [`Learner::state`].
    pub(super) fn state_shapes(&self) -> Vec<(String, Vec<usize>)> {
        self.optimizer.state_shapes()
    }

    /// Restores the result of [`Learner::state`], which only the first process has. The model, which was that
    /// of the checkpoint, is the one that learns afterwards.
    pub(super) fn restore(&mut self, state: &[Parameter]) {
        self.exchange.restore(&mut self.optimizer, state);
        self.swap_averages();
    }

    /// A checksum of the weights.
    pub(super) fn checksum(&self) -> u32 {
        let mut checksum = crc32fast::Hasher::new();
        for parameter in self.model.parameters() {
            checksum.update(bytemuck::cast_slice(&parameter.values().values()));
        }
        checksum.finalize()
    }

    /// Returns the number of micro-batches of an update, over all processes.
    pub fn n_batches(&self) -> usize {
        self.exchange.n_batches()
    }

    /// Returns the numbers of the micro-batches that this process computes, counted from 0.
    pub fn share(&self) -> Range<usize> {
        self.exchange.share()
    }

    /// Returns the loss of `batch`, with the dropout masks of micro-batch `number`, which counts over the
    /// whole run.
    pub fn loss(&self, batch: &Batch, number: u64) -> Loss {
        let batch = self.mixed(batch, number);
        self.objective.loss(&self.model, &batch, &self.pass(number))
    }

    /// `batch` with the decoder's inputs mixed by scheduled sampling, if configured.
    pub(super) fn mixed<'a>(&self, batch: &'a Batch, number: u64) -> Cow<'a, Batch> {
        self.sampling.mix(batch, number, &self.model)
    }

    /// The probability with which the decoder reads the reference in update number `step`; `None` without
    /// scheduled sampling.
    pub(super) fn reference_probability(&self, step: u64) -> Option<f64> {
        self.sampling.reference_probability_in(step)
    }

    /// The groups of parameters whose gradients are measured together.
    pub(super) fn groups(&self) -> &GradientGroups {
        &self.groups
    }

    /// The Euclidean norm of the gradient, given the sums of squares of all chunks of each parameter's
    /// gradient, which are added in the architecture's order of parameters.
    pub(super) fn norm(&self, squares: &[Vec<f64>]) -> f64 {
        let of = |&place: &usize| -> f64 { squares[place].iter().sum() };
        let sum: f64 = self.places.iter().map(of).sum();
        sum.sqrt()
    }

    /// The first parameter whose gradient has a NaN or infinite value.
    pub(super) fn first_non_finite(&self, gradients: &[Buffer]) -> Option<String> {
        let mut gradients = gradients.iter();
        let first = gradients.position(|part| current().first_non_finite(part).is_some());
        let first = self.exchange.first_of(first)?;
        Some(self.model.trained().nth(first)?.name().to_owned())
    }

    pub(super) fn pass(&self, number: u64) -> Pass<'static> {
        Pass::training(self.seed, number, self.precision)
    }

    /// Computes the gradients of a micro-batch by a backward pass.
    pub(super) fn gradients(&self, loss: Loss) -> GradientList {
        GradientList(self.model.take_gradients(&mut loss.loss.backward()))
    }

    /// Like [`Learner::gradients`], and calls `complete` with the index and the gradient of each parameter as
    /// soon as the gradient is complete.
    pub(super) fn watched_gradients(
        &self,
        loss: Loss,
        complete: &mut dyn FnMut(usize, &Buffer),
    ) -> GradientList {
        let places: HashMap<ParamId, usize> = (self.model.trained().map(Param::id)).zip(0..).collect();
        let mut gradients = loss.loss.backward_watched(&mut |param, gradient| {
            complete(places[&param], gradient);
        });
        GradientList(self.model.take_gradients(&mut gradients))
    }

    /// Updates the model by the sum of `gradients` over all tokens, times `scale`, as the `verdict` on them
    /// says.
    pub(super) fn change(&mut self, gradients: &[Buffer], scale: UpdateScale, verdict: Option<&Buffer>) {
        let mut updated = UpdatedParts::new(&self.exchange);
        let see = |parameter: &Buffer, part| updated.add(parameter, part);
        self.optimizer.update_parts(&self.model, gradients, scale, verdict, see);
        updated.share(&self.exchange, &self.model);
    }
}

/// The parts of parameters that this process has changed, for the others.
struct UpdatedParts(Option<Vec<f32>>);

impl UpdatedParts {
    fn new(exchange: &Exchange) -> Self {
        Self((!exchange.processes().is_alone()).then(Vec::new))
    }

    fn add(&mut self, parameter: &Buffer, part: Range<usize>) {
        if let Some(values) = &mut self.0 {
            values.extend_from_slice(&parameter.values()[part]);
        }
    }

    /// Exchanges the parts with those of the other processes.
    fn share(self, exchange: &Exchange, model: &Model) {
        // Also if this process has no part: the others wait for all.
        if let Some(values) = self.0 {
            exchange.share_parameters(model, &values);
        }
    }
}

fn places(model: &Model) -> Vec<usize> {
    let names: HashMap<&str, usize> = model.trained().map(Param::name).zip(0..).collect();
    let blueprint = Blueprint::new(model.architecture());
    let parameters = blueprint.parameters().iter();
    parameters.filter_map(|parameter| names.get(parameter.name.as_str()).copied()).collect()
}

impl AddAssign for GradientList {
    fn add_assign(&mut self, other: Self) {
        for (total, new) in self.0.iter_mut().zip(&other.0) {
            current().add(total, new);
        }
    }
}
