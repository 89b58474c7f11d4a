//! SGD, Adam and AdamW over a model's parameters.

use attentive_kernels::optimizer::{AdamStep, SgdStep, adam, sgd};
use burn::module::Module;
use burn::tensor::Device;

use crate::config::{OptimizerConfig, OptimizerKind};
use crate::model::{Parameter, map_parameters, shapes};

/// An optimizer and its state for each parameter.
#[derive(Debug)]
pub struct Optimizer {
    config: OptimizerConfig,
    /// For each parameter in the model's order: Adam's mean, then its mean square; SGD's velocity, if any.
    memory: Vec<Vec<Parameter>>,
}

/// The scalars of one update.
#[derive(Clone, Copy, Debug)]
pub struct UpdateScale {
    /// The number of the update, from 1.
    pub step: u64,
    /// The learning rate.
    pub learning_rate: f64,
    /// Factor for the gradient, which combines averaging over tokens and clipping.
    pub gradient_scale: f64,
}

impl Optimizer {
    /// A fresh optimizer for `model`.
    pub fn new<M: Module>(config: &OptimizerConfig, model: &M) -> Self {
        let slots = slot_names(config);
        let memory = shapes(model)
            .into_iter()
            .map(|(name, shape)| {
                slots
                    .iter()
                    .map(|slot| Parameter {
                        name: format!("{slot}.{name}"),
                        values: vec![0.0; shape.iter().product()],
                        shape: shape.clone(),
                    })
                    .collect()
            })
            .collect();
        Self {
            config: config.clone(),
            memory,
        }
    }

    /// The state tensors to save, each named `SLOT.PARAMETER`.
    pub fn state(&self) -> Vec<&Parameter> {
        self.memory.iter().flatten().collect()
    }

    /// The names and shapes of [`Optimizer::state`].
    pub fn state_shapes(&self) -> Vec<(String, Vec<usize>)> {
        self.memory
            .iter()
            .flatten()
            .map(|slot| (slot.name.clone(), slot.shape.clone()))
            .collect()
    }

    /// Restores the result of [`Optimizer::state`].
    pub fn restore(&mut self, state: Vec<Parameter>) {
        let slots = self.memory.iter_mut().flatten();
        for (slot, saved) in slots.zip(state) {
            assert_eq!(
                slot.name, saved.name,
                "optimizer state is in the model's order"
            );
            *slot = saved;
        }
    }

    /// Updates `model` by `gradients`, which are in the order of [`crate::model::parameters`]. Works in place if
    /// nothing else holds the model's tensors.
    ///
    /// # Panics
    /// If the numbers of gradients and parameters differ.
    pub fn update<M: Module>(
        &mut self,
        model: M,
        gradients: &[Parameter],
        scale: UpdateScale,
        device: &Device,
    ) -> M {
        assert_eq!(
            gradients.len(),
            self.memory.len(),
            "one gradient per parameter"
        );
        let mut parts = gradients.iter().zip(&mut self.memory);
        let config = &self.config;
        map_parameters(model, device, |_, shape, mut values| {
            if let Some((gradient, slots)) = parts.next() {
                apply(config, shape, &mut values, &gradient.values, slots, scale);
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
