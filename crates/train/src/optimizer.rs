//! SGD, Adam and AdamW over a model's parameters.

use std::ops::Range;

use attentive_config::{OptimizerConfig, OptimizerKind};
use attentive_device::{AdamStep, Part, SgdStep, current};
use attentive_model::model::Model;
use attentive_tape::Buffer;

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
    /// Adam's first and second moment estimates; SGD's velocity, if any.
    slots: Vec<Slot>,
}

/// A state tensor of a parameter.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: String,
    /// The shape of the parameter.
    pub(super) shape: Vec<usize>,
    /// The values for the part that is updated.
    pub(super) values: Buffer,
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
    pub fn new(config: &OptimizerConfig, model: &Model) -> Self {
        let whole = model.trained().map(|parameter| 0..parameter.size());
        Self::of_parts(config, model, whole.collect())
    }

    /// Creates a fresh optimizer for one part of each parameter of `model`.
    pub(super) fn of_parts(
        config: &OptimizerConfig,
        model: &Model,
        parts: Vec<Range<usize>>,
    ) -> Self {
        let names = slot_names(config);
        let memory = model
            .trained()
            .zip(parts)
            .map(|(parameter, part)| Memory {
                slots: names
                    .iter()
                    .map(|slot| Slot {
                        name: format!("{slot}.{}", parameter.name()),
                        shape: parameter.shape().to_vec(),
                        values: vec![0.0; part.len()].into(),
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
    pub(super) fn state(&self) -> impl Iterator<Item = &Slot> {
        self.memory.iter().flat_map(|memory| &memory.slots)
    }

    /// The state tensors, to restore them.
    pub(super) fn state_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.memory.iter_mut().flat_map(|memory| &mut memory.slots)
    }

    /// Updates `model` by `gradients`, which are in the order of [`Model::trained`].
    ///
    /// # Panics
    /// If the numbers of gradients and parameters differ.
    pub fn update(&mut self, model: &Model, gradients: &[Buffer], scale: UpdateScale) {
        self.update_parts(model, gradients, scale, |_, _| ());
    }

    /// Updates the parts of `model` by their `gradients`, like [`Optimizer::update`], and calls `see` with each
    /// parameter and its part.
    pub(super) fn update_parts(
        &mut self,
        model: &Model,
        gradients: &[Buffer],
        scale: UpdateScale,
        mut see: impl FnMut(&Buffer, Range<usize>),
    ) {
        assert_eq!(
            gradients.len(),
            self.memory.len(),
            "one gradient per parameter"
        );
        let parts = gradients.iter().zip(&mut self.memory);
        for (parameter, (gradient, memory)) in model.trained().zip(parts) {
            parameter.update(|values| {
                let part = Part {
                    buffer: values,
                    range: memory.part.clone(),
                };
                let (shape, slots) = (parameter.shape(), &mut memory.slots);
                apply(&self.config, shape, part, gradient, slots, scale);
                see(values, memory.part.clone());
            });
        }
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

/// Updates a part of a parameter and the state.
fn apply(
    config: &OptimizerConfig,
    shape: &[usize],
    part: Part<'_>,
    gradient: &Buffer,
    slots: &mut [Slot],
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
        (OptimizerKind::Adam | OptimizerKind::Adamw, [mean, square]) => {
            let step = AdamStep {
                learning_rate,
                beta1: config.beta1 as f32,
                beta2: config.beta2 as f32,
                epsilon: config.epsilon as f32,
                weight_decay: decoupled,
                l2,
                grad_scale,
                step: scale.step,
            };
            let moments = [&mut mean.values, &mut square.values];
            current().adam(step, part, moments, gradient);
        }
        (_, slots) => {
            let step = SgdStep {
                learning_rate,
                momentum: config.momentum as f32,
                l2,
                grad_scale,
            };
            let velocity = slots.first_mut().map(|slot| &mut slot.values);
            current().sgd(step, part, velocity, gradient);
        }
    }
}
