//! A model and its optimizer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{AddAssign, Range};

use attentive_kernels::elementwise;
use attentive_kernels::optimizer::{first_non_finite, sums_of_squares};
use burn::module::Module;

use super::exchange::{Exchange, Reduced};
use super::scheduled_sampling::ScheduledSampling;
use super::{Optimizer, UpdateScale};
use crate::batch::Batch;
use crate::checkpoint::Products;
use crate::config::{Config, TrainPrecision};
use crate::device::Device;
use crate::model::{Loss, Model, Parameter, leaves, parameters, take_gradients, trained};
use crate::nn::Pass;
use crate::ops::{self, Leaf, Precision, Uses};
use crate::processes::Processes;

/// A model in training.
#[derive(Debug)]
pub struct Learner {
    /// `None` only during an update, so that its tensors can be changed in place.
    model: Option<Model>,
    optimizer: Optimizer,
    pub(super) exchange: Exchange,
    seed: u64,
    pub(super) label_smoothing: f64,
    pub(super) clip_norm: f64,
    sampling: ScheduledSampling,
    precision: Precision,
    device: Device,
    /// The index of each of the architecture's parameters among the trained ones, without the frozen ones.
    places: Vec<usize>,
}

/// A gradient for each trained parameter, in the order of [`trained`].
#[derive(Debug)]
pub(super) struct Gradients(pub(super) Vec<Parameter>);

impl Learner {
    /// Creates a learner for `model`, whose parameters live on `device` under autodiff, according to `config`.
    pub fn new(model: Model, config: &Config, device: Device) -> Self {
        Self::among(Processes::alone(), model, config, device)
    }

    /// Creates a learner for `model` that works together with other processes, which have the same model.
    pub(super) fn among(
        processes: Processes,
        model: Model,
        config: &Config,
        device: Device,
    ) -> Self {
        let n_batches = config.train.micro_batches_per_update.max(1);
        let exchange = Exchange::new(
            &model,
            processes,
            config.train.exchange_precision,
            n_batches,
        );
        let parts = exchange.parts().to_vec();
        Self {
            optimizer: Optimizer::of_parts(&config.train.optimizer, &model, parts),
            exchange,
            places: places(&model),
            model: Some(model),
            seed: config.seed,
            label_smoothing: config.train.label_smoothing,
            clip_norm: config.train.clip_norm,
            sampling: ScheduledSampling::new(config),
            precision: match config.train.precision {
                TrainPrecision::F32 => Precision::F32,
                TrainPrecision::Bf16 => Precision::Bf16,
                TrainPrecision::Auto => Precision::fastest(),
            },
            device,
        }
    }

    /// Returns the current model.
    pub fn model(&self) -> &Model {
        self.model
            .as_ref()
            .expect("the model is absent only during an update")
    }

    /// Returns the precision of linear maps, with `auto` resolved, and the instruction set.
    pub fn products(&self) -> Products {
        Products {
            matmul: match self.precision {
                Precision::F32 => TrainPrecision::F32,
                Precision::Bf16 => TrainPrecision::Bf16,
            },
            instructions: self.precision.instructions().into(),
        }
    }

    /// The optimizer's state, for a checkpoint. Only the first of several processes has it.
    pub(super) fn state(&self) -> Vec<Cow<'_, Parameter>> {
        self.exchange.state(&self.optimizer)
    }

    /// The names and shapes of [`Learner::state`].
    pub(super) fn state_shapes(&self) -> Vec<(String, Vec<usize>)> {
        let state = self.optimizer.state();
        state
            .map(|slot| (slot.name.clone(), slot.shape.clone()))
            .collect()
    }

    /// Restores the result of [`Learner::state`], which only the first process has.
    pub(super) fn restore(&mut self, state: &[Parameter]) {
        self.exchange.restore(&mut self.optimizer, state);
    }

    /// A checksum of the weights.
    pub(super) fn checksum(&self) -> u32 {
        let mut checksum = crc32fast::Hasher::new();
        for parameter in parameters(self.model()) {
            checksum.update(bytemuck::cast_slice(&parameter.values));
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

    /// Returns the loss of `batch`, with the dropout masks of micro-batch `number`, which counts over the whole run.
    pub fn loss(&self, batch: &Batch, number: u64) -> Loss {
        let batch = self.mixed(batch, number);
        self.model()
            .loss(&batch, self.label_smoothing, &self.pass(number))
    }

    /// `batch` with the decoder's inputs mixed by scheduled sampling, if configured.
    pub(super) fn mixed<'a>(&self, batch: &'a Batch, number: u64) -> Cow<'a, Batch> {
        self.sampling.mix(batch, number, || self.model().valid())
    }

    /// The Euclidean norm of the average gradient per token, summed in the architecture's order of parameters.
    pub(super) fn gradient_norm(&self, reduced: &Reduced) -> f64 {
        let squares = reduced.gradients.iter();
        let squares = squares.map(|part| sums_of_squares(part)).collect();
        let squares = self.exchange.squares(squares);
        let of = |&place: &usize| -> f64 { squares[place].iter().sum() };
        let sum: f64 = self.places.iter().map(of).sum();
        sum.sqrt() / reduced.n_tokens()
    }

    /// The first parameter whose gradient has a NaN or infinite value.
    pub(super) fn first_non_finite(&self, reduced: &Reduced) -> Option<String> {
        let mut gradients = reduced.gradients.iter();
        let first = gradients.position(|part| first_non_finite(part).is_some());
        let first = self.exchange.first_of(first)?;
        Some(trained(self.model()).swap_remove(first).0)
    }

    pub(super) fn pass(&self, number: u64) -> Pass<'static> {
        Pass::training(self.seed, number, self.precision)
    }

    /// Computes the gradients of a micro-batch by a backward pass.
    pub(super) fn gradients(&self, loss: Loss) -> Gradients {
        Gradients(take_gradients(self.model(), &mut loss.loss.backward()))
    }

    /// Like [`Learner::gradients`], and calls `complete` with the index and the gradient of each parameter as soon as the
    /// gradient is known to be complete. `uses` are the uses counted in the forward pass.
    pub(super) fn watched_gradients(
        &self,
        loss: Loss,
        uses: Uses,
        complete: &mut dyn FnMut(usize, &[f32]),
    ) -> Gradients {
        let leaves = leaves(self.model()).into_iter().zip(0..);
        let places: HashMap<Leaf, usize> = leaves
            .filter_map(|(leaf, place)| Some((leaf?, place)))
            .collect();
        let see = &mut |leaf: Leaf, gradient: &[f32]| {
            if let Some(&place) = places.get(&leaf) {
                complete(place, gradient);
            }
        };
        ops::watch_gradients(uses, see, || self.gradients(loss))
    }

    /// Updates the model by the average gradient over all tokens, times `scale`.
    pub(super) fn change(&mut self, reduced: Reduced, scale: UpdateScale) {
        let model = self
            .model
            .take()
            .expect("the model is absent only during an update");
        let is_alone = self.exchange.processes().is_alone();
        let mut updated = Vec::new();
        let see = |part: &[f32]| {
            if !is_alone {
                updated.extend_from_slice(part);
            }
        };
        let (gradients, device) = (&reduced.gradients, &self.device);
        let model = self
            .optimizer
            .update_parts(model, gradients, scale, device, see);
        self.model = Some(self.exchange.share_parameters(model, &updated, device));
        reduced.gradients.into_iter().for_each(ops::recycle);
    }
}

fn places(model: &Model) -> Vec<usize> {
    let names: HashMap<String, usize> = trained(model)
        .into_iter()
        .zip(0..)
        .map(|((name, _), place)| (name, place))
        .collect();
    let parameters = model.architecture().parameters().into_iter();
    parameters
        .filter_map(|parameter| names.get(&parameter.name).copied())
        .collect()
}

impl Gradients {
    /// Returns the memory of the gradients for reuse.
    pub(super) fn recycle(self) {
        let Self(gradients) = self;
        for gradient in gradients {
            ops::recycle(gradient.values);
        }
    }
}

impl AddAssign for Gradients {
    fn add_assign(&mut self, other: Self) {
        for (total, new) in self.0.iter_mut().zip(&other.0) {
            elementwise::add(&mut total.values, &new.values);
        }
        other.recycle();
    }
}
