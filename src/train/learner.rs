//! A model and its optimizer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::AddAssign;

use attentive_kernels::elementwise;
use attentive_kernels::optimizer::{first_non_finite, sum_of_squares};
use burn::module::Module;

use super::scheduled_sampling::ScheduledSampling;
use super::{Optimizer, UpdateScale};
use crate::batch::Batch;
use crate::checkpoint::Products;
use crate::config::{Config, Matmul};
use crate::device::Device;
use crate::model::{Loss, Model, Parameter, shapes, take_gradients};
use crate::nn::Pass;
use crate::ops::{self, LossSums, Precision};

/// A model in training.
#[derive(Debug)]
pub struct Learner {
    /// `None` only during an update, so that its tensors can be changed in place.
    model: Option<Model>,
    optimizer: Optimizer,
    seed: u64,
    pub(super) label_smoothing: f64,
    pub(super) accumulate: u64,
    pub(super) clip_norm: f64,
    sampling: ScheduledSampling,
    precision: Precision,
    device: Device,
    /// The index of each of the architecture's parameters among the model's.
    places: Vec<usize>,
}

/// Sums over micro-batches of one update.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Losses and token counts.
    pub(super) sums: LossSums,
    /// Gradients, in the order of [`crate::model::parameters`].
    gradients: Vec<Parameter>,
}

impl Learner {
    /// Trains `model`, whose parameters live on `device` under autodiff, according to `config`.
    pub fn new(model: Model, config: &Config, device: Device) -> Self {
        Self {
            optimizer: Optimizer::new(&config.train.optimizer, &model),
            places: places(&model),
            model: Some(model),
            seed: config.seed,
            label_smoothing: config.train.label_smoothing,
            accumulate: config.train.accumulate.max(1) as u64,
            clip_norm: config.train.clip_norm,
            sampling: ScheduledSampling::new(config),
            precision: match config.train.matmul {
                Matmul::F32 => Precision::F32,
                Matmul::Bf16 => Precision::Bf16,
                Matmul::Auto => Precision::fastest(),
            },
            device,
        }
    }

    /// The current model.
    pub fn model(&self) -> &Model {
        self.model
            .as_ref()
            .expect("the model is absent only during an update")
    }

    /// The precision of linear maps, with `auto` resolved, and the instructions used.
    pub fn products(&self) -> Products {
        Products {
            matmul: match self.precision {
                Precision::F32 => Matmul::F32,
                Precision::Bf16 => Matmul::Bf16,
            },
            instructions: self.precision.instructions().into(),
        }
    }

    /// The optimizer, whose state a checkpoint stores.
    pub fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// The optimizer, to restore its state.
    pub fn optimizer_mut(&mut self) -> &mut Optimizer {
        &mut self.optimizer
    }

    /// The number of micro-batches of an update.
    pub fn n_batches(&self) -> usize {
        self.accumulate as usize
    }

    /// The loss of `batch`, with the dropout of micro-batch `number`, which counts over the whole run.
    pub fn loss(&self, batch: &Batch, number: u64) -> Loss {
        let batch = self.mixed(batch, number);
        self.model()
            .loss(&batch, self.label_smoothing, &self.pass(number))
    }

    /// `batch` with the decoder's inputs mixed by scheduled sampling, if configured.
    pub(super) fn mixed<'a>(&self, batch: &'a Batch, number: u64) -> Cow<'a, Batch> {
        self.sampling.mix(batch, number, || self.model().valid())
    }

    /// The Euclidean norm of the mean gradient per token, summed in the architecture's order of parameters.
    pub(super) fn gradient_norm(&self, gathered: &Gathered) -> f64 {
        let squares = |&place: &usize| sum_of_squares(&gathered.gradients[place].values);
        let sum: f64 = self.places.iter().map(squares).sum();
        sum.sqrt() / gathered.n_tokens()
    }

    pub(super) fn pass(&self, number: u64) -> Pass<'static> {
        Pass::training(self.seed, number, self.precision)
    }

    /// The sums and gradients of a micro-batch, by a backward pass.
    pub(super) fn gradients(&self, loss: Loss) -> Gathered {
        Gathered {
            sums: loss.sums,
            gradients: take_gradients(self.model(), &mut loss.loss.backward()),
        }
    }

    /// Updates the model by the mean gradient over all gathered tokens, times `scale`.
    pub(super) fn change(&mut self, gathered: Gathered, scale: UpdateScale) {
        let model = self
            .model
            .take()
            .expect("the model is absent only during an update");
        let model = self
            .optimizer
            .update(model, &gathered.gradients, scale, &self.device);
        self.model = Some(model);
        let used = gathered.gradients.into_iter();
        used.for_each(|gradient| ops::recycle(gradient.values));
    }
}

fn places(model: &Model) -> Vec<usize> {
    let names: HashMap<String, usize> = shapes(model)
        .into_iter()
        .zip(0..)
        .map(|((name, _), place)| (name, place))
        .collect();
    let parameters = model.architecture().parameters().into_iter();
    parameters.map(|parameter| names[&parameter.name]).collect()
}

impl AddAssign for Gathered {
    fn add_assign(&mut self, other: Self) {
        self.sums += other.sums;
        for (total, new) in self.gradients.iter_mut().zip(other.gradients) {
            elementwise::add(&mut total.values, &new.values);
            ops::recycle(new.values);
        }
    }
}

impl Gathered {
    /// The first parameter whose gradient has a NaN or infinite value.
    pub(super) fn first_non_finite(&self) -> Option<&str> {
        let mut gradients = self.gradients.iter();
        let damaged = gradients.find(|gradient| first_non_finite(&gradient.values).is_some());
        damaged.map(|gradient| gradient.name.as_str())
    }

    /// The number of target tokens, at least 1.
    pub(super) fn n_tokens(&self) -> f64 {
        self.sums.n_tokens.max(1) as f64
    }
}
