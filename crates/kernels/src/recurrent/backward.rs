//! Gradients of recurrent layers: backward through time, then one product for the weight.
//!
//! The gradients of all hidden products are collected on a tape, position by position, without padding. The
//! rows of one position are an operand of the product that leads to the previous position; the whole tape is
//! an operand of the product that gives the weight gradient.

use super::directions::Directions;
use super::gate_gradients::{SavedTimestep, retreat};
use super::{Recurrence, RecurrentCall, RecurrentSchedule};
use crate::area::{assert_shape, assert_shape_if_any};
use crate::gemm::{Float, PreparedRight, Product, View, with_prepared_right};
use crate::linear::{Affine, add_column_sums};
use crate::parallel::{for_each, for_row_chunks, is_large};
use crate::scratch::{split, with_scratch, with_scratches};
use crate::tile::TileMut;

/// Gradient outputs. `None` skips the computation.
#[derive(Debug)]
pub struct RecurrentGradients<T> {
    /// `[batch * len, gates * d]`, zero at padding.
    pub projected: T,
    /// `[gates * d, d]`
    pub weight: Option<T>,
    /// `[gates * d]`
    pub bias: Option<T>,
    /// `[batch, states * d]`, zero for empty sequences.
    pub initial: Option<T>,
}

impl<T> RecurrentGradients<T> {
    /// Applies `f` to each output.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> RecurrentGradients<U> {
        RecurrentGradients {
            projected: f(self.projected),
            weight: self.weight.map(f),
            bias: self.bias.map(f),
            initial: self.initial.map(f),
        }
    }
}

impl RecurrentGradients<&mut [f32]> {
    pub(crate) fn check(&self, call: RecurrentCall<'_>) {
        let (gates, d) = (call.gate_cols(), call.d);
        call.check_rows("dprojected", self.projected, gates);
        let hidden = call.cell.hidden_gates() > 0;
        let none = self.weight.is_none() && self.bias.is_none();
        assert!(hidden || none, "{:?} has no hidden weight", call.cell);
        assert_shape_if_any("dweight", self.weight.as_deref(), [gates, d]);
        assert_shape_if_any("dbias", self.bias.as_deref(), [gates]);
        assert_shape_if_any("dinitial", self.initial.as_deref(), [call.batch(), call.state_cols()]);
    }
}

/// One direction of a layer in the backward pass, with inputs `T` and outputs `M`.
#[derive(Debug)]
pub struct RecurrentBackward<'a, T, M> {
    /// Cell, direction and dimensions.
    pub call: RecurrentCall<'a>,
    /// Recurrent weights and initial states.
    pub recurrence: Recurrence<T>,
    /// The values that the forward pass saved, `[batch * len, saved * d]`.
    pub saved: T,
    /// Receive the gradients.
    pub gradients: RecurrentGradients<M>,
    /// [`RecurrentCall::room`] elements of any value.
    pub room: M,
}

impl<'a, T, M> RecurrentBackward<'a, T, M> {
    /// Applies `input` to each input and `output` to each output.
    pub fn map<U, N>(
        self,
        input: impl Fn(T) -> U + Copy,
        output: impl Fn(M) -> N + Copy,
    ) -> RecurrentBackward<'a, U, N> {
        RecurrentBackward {
            call: self.call,
            recurrence: self.recurrence.map(input),
            saved: input(self.saved),
            gradients: self.gradients.map(output),
            room: output(self.room),
        }
    }
}

/// The gradients of [`super::recurrent`] given its result `states` and `grad_states`, both
/// `[batch * len, Σ states * d]`; `grad_states` is not read at padding.
///
/// # Panics
/// See [`super::recurrent`].
pub fn recurrent_backward(
    mut directions: Vec<RecurrentBackward<'_, &[f32], &mut [f32]>>,
    states: &[f32],
    grad_states: &[f32],
) {
    let all = Directions::new(directions.iter().map(|direction| direction.call));
    all.check_states("states", states);
    all.check_states("grad_states", grad_states);
    let [states, grads] = [states, grad_states].map(|matrix| View::rows(matrix, all.state_cols()));
    let parts = directions.iter_mut().zip(all.first_columns());
    all.for_each(parts, |(direction, first)| {
        direction.through_time(states.from(0, first), grads.from(0, first));
    });
    for direction in directions {
        direction.weights();
    }
}

impl RecurrentBackward<'_, &[f32], &mut [f32]> {
    /// The gradients of the projected inputs and the initial states. Fills the tapes for [`Self::weights`].
    fn through_time(&mut self, states: View<'_>, grad_states: View<'_>) {
        let (call, Recurrence { hidden, initial }) = (self.call, self.recurrence);
        call.check(self.recurrence);
        call.check_rows("saved", self.saved, call.saved_cols());
        self.gradients.check(call);
        assert_shape("room", self.room, [call.room()]);
        let RecurrentGradients { projected, initial: dinitial, .. } = &mut self.gradients;
        let cols = call.gate_cols();
        call.clear_padding(projected, cols);
        if call.d == 0 {
            return;
        }
        let schedule = RecurrentSchedule::new(call, initial);
        // Both are empty without a weight.
        let [grads, before] = split(self.room, call.tapes());
        let state_len = call.batch() * call.state_cols();
        with_scratches([state_len, call.state_cols()], |[flow, zeros]| {
            flow.fill(0.0);
            zeros.fill(0.0);
            let pass = BackwardPass {
                schedule: &schedule,
                states,
                saved: self.saved,
                grad_states,
                zeros,
                projected: TileMut::new(projected, call.rows(), cols, cols),
                to_initial: dinitial.is_some(),
            };
            pass.through_time(hidden, grads, flow);
            if let Some(dinitial) = dinitial {
                schedule.scatter_initial(flow, dinitial);
            }
        });
        if hidden.is_some() {
            schedule.gather(call.d, before, |rank, position| schedule.before(rank, position, states));
        }
    }

    /// The gradients of the hidden weight and bias, once [`Self::through_time`] is done.
    fn weights(self) {
        let call = self.call;
        if call.d == 0 || self.recurrence.hidden.is_none() {
            return;
        }
        let [grads, before] = split(self.room, call.tapes());
        let (grads, before) = (View::rows(grads, call.gate_cols()), View::rows(before, call.d));
        let RecurrentGradients { weight, bias, .. } = self.gradients;
        hidden_gradients(call.precision, call.lengths.total(), grads, before, weight, bias);
    }
}

/// The gradients of weight and bias of the hidden products from tapes: `grads` `[total, rows]` of the
/// products and the previous states `before` `[total, cols]`.
pub(crate) fn hidden_gradients(
    precision: Float,
    total: usize,
    grads: View<'_>,
    before: View<'_>,
    weight: Option<&mut [f32]>,
    bias: Option<&mut [f32]>,
) {
    if let Some(weight) = weight {
        weight_gradient(precision, total, grads, before, weight);
    }
    if let Some(bias) = bias {
        bias.fill(0.0);
        add_column_sums(grads, total, bias);
    }
}

/// The gradient of a weight from whole rows of a tape: `grads` `[total, rows]` of its products and their
/// `inputs` `[total, cols]`.
pub(crate) fn weight_gradient(
    precision: Float,
    total: usize,
    grads: View<'_>,
    inputs: View<'_>,
    weight: &mut [f32],
) {
    let shape = [grads.row_stride, inputs.row_stride];
    Product::new(total, grads.t(), inputs).write(precision, shape, weight);
}

/// Inputs and outputs of the pass backward through time.
pub(crate) struct BackwardPass<'a> {
    pub(crate) schedule: &'a RecurrentSchedule<'a>,
    /// `[batch * len, states * d]`
    pub(crate) states: View<'a>,
    /// `[batch * len, saved * d]`
    pub(crate) saved: &'a [f32],
    /// `[batch * len, states * d]`
    pub(crate) grad_states: View<'a>,
    /// `[states * d]`
    pub(crate) zeros: &'a [f32],
    /// `[batch * len, gates * d]`
    pub(crate) projected: TileMut<'a>,
    /// Whether the gradients of the initial states are needed.
    pub(crate) to_initial: bool,
}

impl BackwardPass<'_> {
    /// All positions, the last first: fills the tape `grads` of the products with the `hidden` weight, if
    /// there is one, and turns `flow` into the gradients of the states before the first position.
    fn through_time(&self, hidden: Option<Affine<&[f32]>>, grads: &mut [f32], flow: &mut [f32]) {
        let Some(Affine { weight, .. }) = hidden else {
            return self.sequences_apart(flow);
        };
        let call = self.schedule.call;
        let cols = call.gate_cols();
        let shape = [cols, call.d];
        with_prepared_right(call.precision, View::rows(weight, call.d), shape, |weight| {
            for (position, rows) in self.schedule.backwards() {
                let grads = &mut grads[rows.start * cols..rows.end * cols];
                self.retreat(position, flow, grads);
                self.flow_through(position, View::rows(grads, cols), weight, flow);
            }
        });
    }

    /// The element-wise gradients of the sequences at `position`: writes those of their products with U to
    /// `hidden`, one row per rank, and turns `flow` `[batch, states * d]`, also in rank order, from gradients
    /// of the states into gradients of the previous states.
    pub(crate) fn retreat(&self, position: usize, flow: &mut [f32], hidden: &mut [f32]) {
        let call = self.schedule.call;
        let (cols, state_cols) = (call.gate_cols(), call.state_cols());
        let rows = self.schedule.active(position);
        let flow = TileMut::new(flow, rows, state_cols, state_cols);
        for_row_chunks(hidden, cols, |first, hidden| {
            for (rank, hidden) in (first..).zip(hidden.chunks_exact_mut(cols)) {
                // SAFETY: each rank occurs once.
                let mut flow = unsafe { flow.part(rank, 0, 1, state_cols) };
                // SAFETY: each rank occurs once, and its sequence owns this row.
                unsafe { self.retreat_row(rank, position, flow.row_mut(0), hidden) };
            }
        });
    }

    /// All sequences of a cell without a hidden weight, each from its last position to its first.
    fn sequences_apart(&self, flow: &mut [f32]) {
        let call = self.schedule.call;
        let (batch, cols, state_cols) = (call.batch(), call.gate_cols(), call.state_cols());
        let flow = TileMut::new(flow, batch, state_cols, state_cols);
        let large = is_large(self.schedule.total() * cols);
        for_each(batch, large, |rank| {
            // SAFETY: each task has its own sequence.
            let mut flow = unsafe { flow.part(rank, 0, 1, state_cols) };
            with_scratch(cols, |hidden| {
                for position in self.schedule.positions_of(rank).rev() {
                    // SAFETY: each task has its own sequence, which owns this row.
                    unsafe { self.retreat_row(rank, position, flow.row_mut(0), hidden) };
                }
            });
        });
    }

    /// [`Self::retreat`] for one rank.
    ///
    /// # Safety
    /// Nothing else may access the rank's row at `position` during the call; the matrix must be mutably
    /// borrowed for as long as `self` exists.
    unsafe fn retreat_row(&self, rank: usize, position: usize, flow: &mut [f32], hidden: &mut [f32]) {
        let call = self.schedule.call;
        let (state_cols, saved_cols) = (call.state_cols(), call.saved_cols());
        let row = self.schedule.row(rank, position);
        // SAFETY: the caller upholds the contract.
        let mut projected = unsafe { self.projected.part(row, 0, 1, call.gate_cols()) };
        let before = self.schedule.before(rank, position, self.states);
        let step = SavedTimestep {
            saved: &self.saved[row * saved_cols..][..saved_cols],
            state: self.states.row(row, state_cols),
            before: before.unwrap_or(self.zeros),
        };
        let grad_state = self.grad_states.row(row, state_cols);
        retreat(call.cell, step, grad_state, flow, hidden, projected.row_mut(0));
    }

    /// Copies the gradients of x that [`Self::retreat`] wrote at `position`, one row per rank.
    pub(crate) fn gather_projected(&self, position: usize, to: &mut [f32]) {
        let cols = self.schedule.call.gate_cols();
        for (rank, to) in to.chunks_exact_mut(cols).enumerate() {
            let row = self.schedule.row(rank, position);
            // SAFETY: the matrix is mutably borrowed for as long as `self` exists, and no other thread runs
            // one of these methods.
            let mut projected = unsafe { self.projected.part(row, 0, 1, cols) };
            to.copy_from_slice(projected.row_mut(0));
        }
    }

    /// Adds to `flow` the gradients that reach the h before `position` from `grads`, one row per rank,
    /// through the products with `weight` `[grads, d]`.
    pub(crate) fn flow_through(
        &self,
        position: usize,
        grads: View<'_>,
        weight: PreparedRight<'_>,
        flow: &mut [f32],
    ) {
        let call = self.schedule.call;
        let rows =
            if self.to_initial { self.schedule.active(position) } else { self.schedule.continuing(position) };
        let mut flow = TileMut::new(flow, rows, call.d, call.state_cols());
        Product::new(grads.row_stride, grads, weight).added().write_to(&mut flow);
    }
}
