//! SGD, Adam, AdamW and Muon over a model's parameters, and the moving average of these.

use std::collections::HashSet;
use std::mem;
use std::ops::Range;

use attentive_config::{Float, OptimizerConfig, OptimizerKind, TrainConfig};
use attentive_device::{BufferSliceMut, OptimizerStep, current};
use attentive_kernels::muon::{MuonStep, muon_direction};
use attentive_kernels::optimizer::{AdamStep, SgdStep};
use attentive_model::model::Model;
use attentive_model::nn::{Blueprint, ParameterDeclaration};
use attentive_tape::Buffer;

use super::lazy_table::LazyTable;

/// Elements from which the updates of a table are deferred. A smaller one is updated faster than its rows
/// catch up. (Tests need no large table.)
const MIN_LAZY_ELEMENTS: usize = if cfg!(test) { 1 } else { 4_000_000 };

/// An optimizer and its state for each parameter, or for a part of each.
#[derive(Debug)]
pub struct Optimizer {
    config: OptimizerConfig,
    /// The number type of Muon's products.
    precision: Float,
    /// `train.ema`.
    ema: f64,
    /// The state for each parameter, in the model's order.
    states: Vec<ParameterState>,
}

/// The state for a parameter.
#[derive(Debug)]
struct ParameterState {
    /// The elements that are updated.
    part: Range<usize>,
    /// Adam's first and second moment estimates; SGD's velocity, if any; Muon's average of gradients.
    slots: Vec<OptimizerSlot>,
    /// Whether Muon updates it.
    is_muons: bool,
    /// With `train.ema`, the moving average of the part, or, after [`Optimizer::swap_averages`], what the
    /// parameter was before, under which name it is stored.
    average: Option<OptimizerSlot>,
    /// For a table whose rows are updated when they are read.
    lazy_table: Option<LazyTable>,
}

/// A state tensor of a parameter.
#[derive(Debug)]
pub(super) struct OptimizerSlot {
    pub(super) name: String,
    /// The index of the parameter.
    pub(super) parameter: usize,
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
    pub learning_rate: f64,
    /// A factor for the gradient, which combines averaging over tokens and clipping.
    pub gradient_scale: f64,
}

impl Optimizer {
    /// Creates a fresh optimizer for `model`.
    pub fn new(config: &TrainConfig, model: &Model) -> Self {
        let whole = model.trained().map(|parameter| 0..parameter.size());
        let mut optimizer = Self::of_parts(config, model, whole.collect());
        let is_adam = config.optimizer.kind != OptimizerKind::Sgd;
        // An average changes with every update, also that of a row that is not read.
        if is_adam && config.ema == 0.0 {
            let mut tables = model.lookup_tables();
            tables.retain(|table| table.size() >= MIN_LAZY_ELEMENTS);
            for (parameter, state) in model.trained().zip(&mut optimizer.states) {
                let table = tables.iter().find(|table| table.id() == parameter.id());
                state.lazy_table = table.and_then(|table| LazyTable::new(table));
            }
        }
        optimizer
    }

    /// Creates a fresh optimizer for one part of each parameter of `model`.
    pub(super) fn of_parts(config: &TrainConfig, model: &Model, parts: Vec<Range<usize>>) -> Self {
        let muons = hidden_matrices(&config.optimizer, model);
        let states = model
            .trained()
            .zip(parts)
            .enumerate()
            .map(|(index, (parameter, part))| {
                let is_muons = muons.contains(parameter.name());
                let names = if is_muons { &["mean"] } else { slot_names(&config.optimizer) };
                let slot = |name: &str, values: Vec<f32>| OptimizerSlot {
                    name: format!("{name}.{}", parameter.name()),
                    parameter: index,
                    shape: parameter.shape().to_vec(),
                    values: values.into(),
                };
                ParameterState {
                    slots: names.iter().map(|name| slot(name, vec![0.0; part.len()])).collect(),
                    average: (config.ema > 0.0)
                        .then(|| slot("raw", parameter.values().values()[part.clone()].to_vec())),
                    part,
                    is_muons,
                    lazy_table: None,
                }
            })
            .collect();
        Self { config: config.optimizer.clone(), precision: config.products(), ema: config.ema, states }
    }

    /// Carries out all updates that rows of tables have missed, before [`Optimizer::state`].
    pub(super) fn settle(&mut self) {
        for state in &mut self.states {
            if let (Some(table), [mean, square]) = (&state.lazy_table, &mut *state.slots) {
                table.settle([&mut mean.values, &mut square.values]);
            }
        }
    }

    /// The state tensors, each named `SLOT.PARAMETER`, with values for the part that is updated. After an
    /// update, those of some tables are missing until [`Optimizer::settle`].
    ///
    /// # Panics
    /// If the values of a table are missing.
    pub(super) fn state(&self) -> impl Iterator<Item = &OptimizerSlot> {
        self.states.iter().flat_map(|state| {
            state.slots.iter().chain(&state.average).inspect(|slot| {
                assert_eq!(
                    slot.values.len(),
                    state.part.len(),
                    "`{}` is read before deferred updates are carried out",
                    slot.name
                );
            })
        })
    }

    /// The names and shapes of the state tensors.
    pub(super) fn state_shapes(&self) -> Vec<(String, Vec<usize>)> {
        let slots = self.states.iter().flat_map(|state| state.slots.iter().chain(&state.average));
        slots.map(|slot| (slot.name.clone(), slot.shape.clone())).collect()
    }

    /// The state tensors, to restore them.
    pub(super) fn state_mut(&mut self) -> impl Iterator<Item = &mut OptimizerSlot> {
        self.states.iter_mut().flat_map(|state| state.slots.iter_mut().chain(&mut state.average))
    }

    /// Updates `model` by `gradients`, which are in the order of [`Model::trained`].
    ///
    /// # Panics
    /// If the numbers of gradients and parameters differ.
    pub fn update(&mut self, model: &Model, gradients: &[Buffer], scale: UpdateScale) {
        self.update_parts(model, gradients, scale, None, |_, _| ());
    }

    /// Updates the parts of `model` by their `gradients`, like [`Optimizer::update`] and as the `verdict` on
    /// them says, and calls `see` with each parameter and its part.
    pub(super) fn update_parts(
        &mut self,
        model: &Model,
        gradients: &[Buffer],
        scale: UpdateScale,
        verdict: Option<&Buffer>,
        mut see: impl FnMut(&Buffer, Range<usize>),
    ) {
        assert_eq!(gradients.len(), self.states.len(), "one gradient per parameter");
        let parts = gradients.iter().zip(&mut self.states);
        for (parameter, (gradient, state)) in model.trained().zip(parts) {
            let ParameterState { part: range, slots, is_muons, average, lazy_table } = state;
            let rates = Rates::new(&self.config, parameter.shape(), scale);
            if let (Some(table), [mean, square]) = (lazy_table, &mut **slots) {
                assert!(verdict.is_none(), "the host decides on tables of its own");
                let moments = [&mut mean.values, &mut square.values];
                table.update(rates.adam(), moments, gradient);
                continue;
            }
            parameter.update(|values| {
                let part = BufferSliceMut { buffer: values, range: range.clone() };
                if let (true, [mean]) = (*is_muons, &mut **slots) {
                    assert!(verdict.is_none(), "Muon is computed on the host");
                    let direction = rates.muon_direction(&mut mean.values, gradient, self.precision);
                    current().optimize(rates.muon(), part, Vec::new(), &direction, None);
                } else {
                    let state = slots.iter_mut().map(|slot| &mut slot.values).collect();
                    current().optimize(rates.step(), part, state, gradient, verdict);
                }
                if let Some(average) = average {
                    average_in(&mut average.values, values, range, rate_of_average(self.ema, scale.step));
                }
                see(values, range.clone());
            });
        }
    }

    /// Whether there are moving averages.
    pub(super) fn averages(&self) -> bool {
        self.ema > 0.0
    }

    /// Gives `model` the moving averages of its parameters, and keeps what they were; a second call does the
    /// reverse. Without `train.ema`, nothing changes. Calls `see` with each parameter and its part.
    pub(super) fn swap_averages(&mut self, model: &Model, mut see: impl FnMut(&Buffer, Range<usize>)) {
        for (parameter, ParameterState { part, average, .. }) in model.trained().zip(&mut self.states) {
            let Some(average) = average else { continue };
            parameter.update(|values| {
                if part.len() == values.len() {
                    mem::swap(values, &mut average.values);
                } else {
                    let mut old = Vec::new();
                    values.edit(|values| {
                        old = values[part.clone()].to_vec();
                        values[part.clone()].copy_from_slice(&average.values.values());
                    });
                    average.values = old.into();
                }
                see(values, part.clone());
            });
        }
    }
}

/// The share of the new weights in their moving average after update `step`: at first, more than `ema`, as in
/// Marian.
fn rate_of_average(ema: f64, step: u64) -> f64 {
    ema.max(9.0 / (9.0 + step as f64))
}

/// Moves `average` towards the `part` of `values` by `rate`: a step of SGD for ½(average − value)².
fn average_in(average: &mut Buffer, values: &Buffer, part: &Range<usize>, rate: f64) {
    let of_part;
    let values = if part.len() == values.len() {
        values
    } else {
        of_part = Buffer::from(values.values()[part.clone()].to_vec());
        &of_part
    };
    let step = SgdStep { learning_rate: rate as f32, momentum: 0.0, l2: 1.0, grad_scale: -1.0 };
    let all = BufferSliceMut { range: 0..average.len(), buffer: average };
    current().optimize(OptimizerStep::Sgd(step), all, Vec::new(), values, None);
}

/// Number of state values per parameter value.
pub(super) fn slots(config: &TrainConfig) -> usize {
    slot_names(&config.optimizer).len() + usize::from(config.ema > 0.0)
}

/// The names of the parameters that Muon updates, if it is the optimizer.
fn hidden_matrices(config: &OptimizerConfig, model: &Model) -> HashSet<String> {
    if config.kind != OptimizerKind::Muon {
        return HashSet::new();
    }
    let declared = Blueprint::new(model.architecture()).into_parameters().into_iter();
    declared.filter(ParameterDeclaration::is_hidden_matrix).map(|parameter| parameter.name).collect()
}

/// Names of the state tensors of each parameter, but for those that Muon updates.
fn slot_names(config: &OptimizerConfig) -> &'static [&'static str] {
    match config.kind {
        OptimizerKind::Adam | OptimizerKind::Adamw | OptimizerKind::Muon => &["mean", "square"],
        OptimizerKind::Sgd if config.momentum > 0.0 => &["velocity"],
        OptimizerKind::Sgd => &[],
    }
}

/// What an update of a parameter depends on besides its gradient.
struct Rates<'a> {
    config: &'a OptimizerConfig,
    shape: &'a [usize],
    scale: UpdateScale,
    /// The weight decay.
    decay: f32,
}

impl<'a> Rates<'a> {
    fn new(config: &'a OptimizerConfig, shape: &'a [usize], scale: UpdateScale) -> Self {
        // Only matrices decay, not biases, norms and other vectors.
        let decay = if shape.len() > 1 { config.weight_decay as f32 } else { 0.0 };
        Self { config, shape, scale, decay }
    }

    fn step(&self) -> OptimizerStep {
        match self.config.kind {
            OptimizerKind::Adam | OptimizerKind::Adamw | OptimizerKind::Muon => {
                OptimizerStep::Adam(self.adam())
            }
            OptimizerKind::Sgd => OptimizerStep::Sgd(self.sgd()),
        }
    }

    fn adam(&self) -> AdamStep {
        let Self { config, scale, decay, .. } = self;
        let (weight_decay, l2) = match config.kind {
            OptimizerKind::Adamw | OptimizerKind::Muon => (*decay, 0.0),
            OptimizerKind::Adam | OptimizerKind::Sgd => (0.0, *decay),
        };
        AdamStep {
            learning_rate: scale.learning_rate as f32,
            beta1: config.beta1 as f32,
            beta2: config.beta2 as f32,
            epsilon: config.epsilon as f32,
            weight_decay,
            l2,
            grad_scale: scale.gradient_scale as f32,
            step: scale.step,
        }
    }

    /// The direction of Muon's update, for the average `mean` of gradients.
    fn muon_direction(&self, mean: &mut Buffer, gradient: &Buffer, precision: Float) -> Buffer {
        let step = MuonStep {
            momentum: self.config.muon_momentum as f32,
            grad_scale: self.scale.gradient_scale as f32,
            precision,
        };
        let cols = self.shape[self.shape.len() - 1];
        let mut direction = Vec::new();
        mean.edit(|mean| direction = muon_direction(mean, &gradient.values(), cols, step));
        direction.into()
    }

    /// The step in the direction of Muon, whose elements have about the mean square of Adam's.
    fn muon(&self) -> OptimizerStep {
        /// The root of the mean square of Adam's updates (Liu et al. 2025, equation 4).
        const ADAMS: f64 = 0.2;
        let longest = self.shape.iter().copied().max().unwrap_or(0) as f64;
        OptimizerStep::Sgd(SgdStep {
            learning_rate: self.scale.learning_rate as f32,
            momentum: 0.0,
            // Beside the direction rather than in it, so that the decay is decoupled.
            l2: self.decay,
            grad_scale: (ADAMS * longest.sqrt()) as f32,
        })
    }

    fn sgd(&self) -> SgdStep {
        SgdStep {
            learning_rate: self.scale.learning_rate as f32,
            momentum: self.config.momentum as f32,
            l2: self.decay,
            grad_scale: self.scale.gradient_scale as f32,
        }
    }
}

#[cfg(test)]
mod tests;
