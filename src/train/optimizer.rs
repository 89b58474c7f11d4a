//! SGD, Adam and AdamW over a model's parameters.

use std::ops::Range;

use attentive_kernels::optimizer::{AdamStep, SgdStep, adam, sgd};
use burn::module::Module;
use burn::tensor::Device;

use crate::config::{OptimizerConfig, OptimizerKind};
use crate::model::{Parameter, map_trained, trained};

/// An optimizer and its state for each parameter, or for a part of each.
#[derive(Debug)]
pub struct Optimizer {
    config: OptimizerConfig,
    /// The state for each parameter, in the model's order.
    memory: Vec<Memory>,
}

/// The state for a parameter.
#[derive(Debug)]
struct Memory {
    /// The elements that are updated.
    part: Range<usize>,
    /// Adam's first and second moment estimates; SGD's velocity, if any. Each has the parameter's shape, and values for the
    /// part.
    slots: Vec<Parameter>,
}

/// The scalars of one update.
#[derive(Clone, Copy, Debug)]
pub struct UpdateScale {
    /// The number of the update, counted from 1.
    pub step: u64,
    /// The learning rate.
    pub learning_rate: f64,
    /// A factor for the gradient, which combines averaging over tokens and clipping.
    pub gradient_scale: f64,
}

impl Optimizer {
    /// Creates a fresh optimizer for `model`.
    pub fn new<M: Module>(config: &OptimizerConfig, model: &M) -> Self {
        let lengths = trained(model).into_iter();
        let whole = lengths.map(|(_, shape)| 0..shape.iter().product());
        Self::of_parts(config, model, whole.collect())
    }

    /// Creates a fresh optimizer for one part of each parameter of `model`.
    pub(super) fn of_parts<M: Module>(
        config: &OptimizerConfig,
        model: &M,
        parts: Vec<Range<usize>>,
    ) -> Self {
        let names = slot_names(config);
        let memory = trained(model)
            .into_iter()
            .zip(parts)
            .map(|((name, shape), part)| Memory {
                slots: names
                    .iter()
                    .map(|slot| Parameter {
                        name: format!("{slot}.{name}"),
                        shape: shape.clone(),
                        values: vec![0.0; part.len()],
                    })
                    .collect(),
                part,
            })
            .collect();
        Self {
            config: config.clone(),
            memory,
        }
    }

    /// The state tensors, each named `SLOT.PARAMETER`, with values for the part that is updated.
    pub(super) fn state(&self) -> impl Iterator<Item = &Parameter> {
        self.memory.iter().flat_map(|memory| &memory.slots)
    }

    /// The state tensors, to restore them.
    pub(super) fn state_mut(&mut self) -> impl Iterator<Item = &mut Parameter> {
        self.memory.iter_mut().flat_map(|memory| &mut memory.slots)
    }

    /// Updates `model` by `gradients`, which are in the order of [`crate::model::parameters`]. Works in place if nothing else
    /// holds the model's tensors.
    ///
    /// # Panics
    /// If the numbers of gradients and parameters differ.
    pub fn update<M: Module>(
        &mut self,
        model: M,
        gradients: &[Vec<f32>],
        scale: UpdateScale,
        device: &Device,
    ) -> M {
        self.update_parts(model, gradients, scale, device, |_| ())
    }

    /// Updates the parts of `model` by their `gradients`, like [`Optimizer::update`], and calls `see` with each.
    pub(super) fn update_parts<M: Module>(
        &mut self,
        model: M,
        gradients: &[Vec<f32>],
        scale: UpdateScale,
        device: &Device,
        mut see: impl FnMut(&[f32]),
    ) -> M {
        assert_eq!(
            gradients.len(),
            self.memory.len(),
            "one gradient per parameter"
        );
        let mut parts = gradients.iter().zip(&mut self.memory);
        let config = &self.config;
        map_trained(model, device, |_, shape, mut values| {
            if let Some((gradient, memory)) = parts.next() {
                let values = &mut values[memory.part.clone()];
                apply(config, shape, values, gradient, &mut memory.slots, scale);
                see(values);
            }
            values
        })
    }
}

/// Number of state values per parameter value.
pub(super) fn slots(config: &OptimizerConfig) -> usize {
    slot_names(config).len()
}

/// Names of the state tensors of each parameter.
fn slot_names(config: &OptimizerConfig) -> &'static [&'static str] {
    match config.kind {
        OptimizerKind::Adam | OptimizerKind::Adamw => &["mean", "square"],
        OptimizerKind::Sgd if config.momentum > 0.0 => &["velocity"],
        OptimizerKind::Sgd => &[],
    }
}

fn apply(
    config: &OptimizerConfig,
    shape: &[usize],
    values: &mut [f32],
    gradient: &[f32],
    slots: &mut [Parameter],
    scale: UpdateScale,
) {
    // Only matrices decay, not biases, norms and other vectors.
    let decay = if shape.len() > 1 {
        config.weight_decay as f32
    } else {
        0.0
    };
    let (decoupled, l2) = match config.kind {
        OptimizerKind::Adamw => (decay, 0.0),
        OptimizerKind::Adam | OptimizerKind::Sgd => (0.0, decay),
    };
    let (learning_rate, grad_scale) = (scale.learning_rate as f32, scale.gradient_scale as f32);
    match (config.kind, slots) {
        (OptimizerKind::Adam | OptimizerKind::Adamw, [mean, square]) => adam(
            values,
            &mut mean.values,
            &mut square.values,
            gradient,
            AdamStep {
                learning_rate,
                beta1: config.beta1 as f32,
                beta2: config.beta2 as f32,
                epsilon: config.epsilon as f32,
                weight_decay: decoupled,
                l2,
                grad_scale,
                step: scale.step,
            },
        ),
        (_, slots) => sgd(
            values,
            slots
                .first_mut()
                .map(|velocity| velocity.values.as_mut_slice()),
            gradient,
            SgdStep {
                learning_rate,
                momentum: config.momentum as f32,
                l2,
                grad_scale,
            },
        ),
    }
}
