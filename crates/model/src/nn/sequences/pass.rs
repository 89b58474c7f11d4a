//! Settings of a forward pass.

use std::cell::RefCell;

use attentive_tape::{
    self as tape, AttentionGuide, AttentionWeights, Float, GradientSlot, Param, RowSelection, Value,
};

use super::{AttentionPlace, AttentionSite, AttentionWatch};
use crate::nn::Dropout;

/// One forward pass: inference or training, with or without recording.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    dropout: Option<DropoutKey>,
    is_recorded: bool,
    precision: Float,
    probe: Option<&'a Probe>,
    gradients: Option<&'a GradientWatch>,
    watch: Option<&'a AttentionWatch>,
    guidance: Option<&'a AttentionGuidance>,
}

#[derive(Clone, Copy, Debug)]
struct DropoutKey {
    seed: u64,
    micro_batch: u64,
}

impl<'a> Pass<'a> {
    /// Inference in `f32`, without dropout.
    pub fn inference() -> Self {
        Self::inference_in(Float::F32)
    }

    /// Inference without dropout, with matrix products of linear maps in `precision`.
    pub fn inference_in(precision: Float) -> Self {
        Self {
            dropout: None,
            is_recorded: false,
            precision,
            probe: None,
            gradients: None,
            watch: None,
            guidance: None,
        }
    }

    /// Training, with dropout drawn for micro-batch number `micro_batch` of the run seeded with `seed` and
    /// matrix products of linear maps in `precision`.
    pub fn training(seed: u64, micro_batch: u64, precision: Float) -> Self {
        Self {
            dropout: Some(DropoutKey { seed, micro_batch }),
            is_recorded: true,
            precision,
            probe: None,
            gradients: None,
            watch: None,
            guidance: None,
        }
    }

    /// The same pass with other dropout, which no probe observes, and no alignments guide.
    pub fn twin(self) -> Self {
        let other = |key: DropoutKey| DropoutKey { micro_batch: key.micro_batch | 1 << 63, ..key };
        Self { dropout: self.dropout.map(other), probe: None, guidance: None, ..self }
    }

    /// The same pass, of whose results gradients can be computed, as they can in training.
    pub fn recorded(self) -> Self {
        Self { is_recorded: true, ..self }
    }

    /// The same pass with the same dropout, without gradients.
    pub fn unrecorded(self) -> Self {
        Self { is_recorded: false, ..self }
    }

    /// The number type of the matrix products of linear maps.
    pub fn precision(&self) -> Float {
        self.precision
    }

    /// The same pass, observed by `probe`.
    pub fn probed(self, probe: &'a Probe) -> Self {
        Self { probe: Some(probe), ..self }
    }

    /// The same pass, recorded, in which `gradients` receive those of the layers' outputs.
    pub fn with_gradients(self, gradients: &'a GradientWatch) -> Self {
        Self { gradients: Some(gradients), ..self.recorded() }
    }

    /// Whether the gradients of the layers' outputs are wanted.
    pub(crate) fn watches_gradients(&self) -> bool {
        self.gradients.is_some()
    }

    /// The `states` of a recurrent layer at `position`, h and c, as a value whose gradient a watch of
    /// gradients receives: also through the states that follow.
    pub(crate) fn observe_states(&self, name: &str, position: usize, states: Value) -> Value {
        match self.gradients {
            Some(gradients) => gradients.add(name.to_owned(), position, states),
            None => states,
        }
    }

    /// The same pass, with attention weights recorded in `watch`.
    pub fn watched(self, watch: &'a AttentionWatch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// The same pass, in which attention is to follow alignments.
    pub fn guided(self, guidance: &'a AttentionGuidance) -> Self {
        Self { guidance: Some(guidance), ..self }
    }

    /// The parameter as an operand. In training, its gradient can be computed unless it is frozen.
    pub(crate) fn read(&self, parameter: &Param) -> Value {
        self.read_rows(parameter, RowSelection::All)
    }

    /// Like [`Pass::read`], for an operation that reads only these rows.
    pub(crate) fn read_rows(&self, parameter: &Param, rows: RowSelection<'_>) -> Value {
        if self.is_recorded { parameter.value_of(rows) } else { parameter.constant_of(rows) }
    }

    /// The mask of `dropout` in this pass; `None` if nothing is dropped.
    pub fn dropout(&self, dropout: Dropout) -> Option<tape::DropoutCall> {
        let DropoutKey { seed, micro_batch } = self.dropout?;
        (dropout.rate > 0.0).then_some(tape::DropoutCall {
            rate: dropout.rate as f32,
            seed,
            micro_batch,
            site: dropout.site,
        })
    }

    /// Passes the output of layer `name()` to the probe, if there is one, and returns it; with a watch of
    /// gradients, as a value whose gradient the watch receives.
    pub fn observe(&self, name: impl FnOnce() -> String, output: Value) -> Value {
        match (self.probe, self.gradients) {
            (Some(probe), _) => probe.observe(name, &output),
            (None, Some(gradients)) => return gradients.watch(name(), output),
            (None, None) => {}
        }
        output
    }

    /// Records the weights of the attention at `place`, which are only computed if a watch wants them.
    pub(super) fn record_attention(
        &self,
        place: &AttentionPlace,
        weights: impl FnOnce() -> AttentionWeights,
    ) {
        if let Some(watch) = self.watch.filter(|watch| watch.wants(place)) {
            watch.record(place, weights());
        }
    }

    /// Computes the loss of the attention at `place`, if alignments guide it.
    pub(super) fn guide_attention(
        &self,
        place: &AttentionPlace,
        loss: impl FnOnce(&AttentionGuide) -> Option<Value>,
    ) {
        let is_guided = |guidance: &&AttentionGuidance| {
            place.site == AttentionSite::Cross && place.layer == guidance.layer
        };
        if let Some(guidance) = self.guidance.filter(is_guided) {
            *guidance.loss.borrow_mut() = loss(&guidance.guide);
        }
    }
}

/// The layer whose attention is to follow alignments, and the loss of what it does.
#[derive(Debug)]
pub struct AttentionGuidance {
    layer: usize,
    guide: AttentionGuide,
    loss: RefCell<Option<Value>>,
}

impl AttentionGuidance {
    /// Guides the attention to the source of the decoder's layer number `layer`, counted from 0.
    pub fn new(layer: usize, guide: AttentionGuide) -> Self {
        Self { layer, guide, loss: RefCell::default() }
    }

    /// The loss of the pass; `None` if it had no such attention.
    pub fn into_loss(self) -> Option<Value> {
        self.loss.into_inner()
    }
}

/// Receives the gradients of the layers' outputs in the backward pass.
#[derive(Debug, Default)]
pub struct GradientWatch(RefCell<Vec<WatchedOutput>>);

/// The output of a layer at some positions.
#[derive(Debug)]
pub(crate) struct WatchedOutput {
    pub(crate) name: String,
    /// The position of the first row.
    pub(crate) first: usize,
    /// `[rows, columns]`
    pub(crate) shape: [usize; 2],
    pub(crate) slot: GradientSlot,
}

impl GradientWatch {
    /// Watches the output of a layer, unless it is a recurrent one whose states are watched.
    fn watch(&self, name: String, output: Value) -> Value {
        let is_state_of = |known: &WatchedOutput| {
            known.name.strip_prefix(&name).is_some_and(|rest| matches!(rest, "" | ".forward" | ".backward"))
        };
        let is_known = self.0.borrow().iter().any(is_state_of);
        if is_known { output } else { self.add(name, 0, output) }
    }

    fn add(&self, name: String, first: usize, output: Value) -> Value {
        let slot = GradientSlot::default();
        let watched = tape::watched(output, &slot);
        self.0.borrow_mut().push(WatchedOutput { name, first, shape: watched.shape(), slot });
        watched
    }

    /// The outputs in the order of computation.
    pub(crate) fn into_outputs(self) -> Vec<WatchedOutput> {
        self.0.into_inner()
    }
}

/// Finds the first layer whose output is NaN or infinite.
#[derive(Debug, Default)]
pub struct Probe(RefCell<Option<String>>);

impl Probe {
    fn observe(&self, name: impl FnOnce() -> String, output: &Value) {
        let mut first = self.0.borrow_mut();
        if first.is_none() && !output.values().iter().all(|value| value.is_finite()) {
            *first = Some(name());
        }
    }

    /// The name of the first such layer in the pass, if any.
    pub fn first_non_finite(self) -> Option<String> {
        self.0.into_inner()
    }
}
