//! The gradients of recurrent layers: time backwards, then one product for the weight.
//!
//! The gradients of all hidden products are collected on a tape, position after position, without padding. A position's
//! rows of it are an operand of the product that leads to the position before, the whole tape one of the product that
//! gives the weight's gradient.

use super::gate_gradients::{Moment, retreat};
use super::schedule::Schedule;
use super::{Recurrence, RecurrentCall};
use crate::gemm::{Accumulate, Epilogue, View, gemm_into};
use crate::linear::add_column_sums;
use crate::parallel::for_row_chunks;
use crate::scratch::with_scratch;
use crate::tile::TileMut;

/// What [`super::recurrent`] gave.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentResult<'a> {
    /// `[batch * len, states * d]`
    pub states: &'a [f32],
    /// `[batch * len, saved * d]`
    pub saved: &'a [f32],
}

/// Where gradients go. What is `None` is not computed.
#[derive(Debug)]
pub struct RecurrentGradients<'a> {
    /// `[batch * len, gates * d]`, zeros at padding.
    pub projected: &'a mut [f32],
    /// `[gates * d, d]`
    pub weight: Option<&'a mut [f32]>,
    /// `[gates * d]`
    pub bias: Option<&'a mut [f32]>,
    /// `[batch, states * d]`, zeros for a sequence without positions.
    pub initial: Option<&'a mut [f32]>,
}

impl RecurrentGradients<'_> {
    fn check(&self, call: RecurrentCall<'_>) {
        let (gates, d) = (call.gate_cols(), call.d);
        call.check_rows("dprojected", self.projected, gates);
        if let Some(weight) = self.weight.as_deref() {
            assert_eq!(weight.len(), gates * d, "`dweight` is [{gates}, {d}]");
        }
        if let Some(bias) = self.bias.as_deref() {
            assert_eq!(bias.len(), gates, "`dbias` is [{gates}]");
        }
        if let Some(initial) = self.initial.as_deref() {
            let (batch, states) = (call.batch(), call.state_cols());
            assert_eq!(
                initial.len(),
                batch * states,
                "`dinitial` is [{batch}, {states}]"
            );
        }
    }
}

/// The gradients of [`super::recurrent`] from `grad_states` `[batch * len, states * d]`, which is not read at padding.
///
/// # Panics
/// As [`super::recurrent`].
pub fn recurrent_backward(
    call: RecurrentCall<'_>,
    recurrence: Recurrence<'_>,
    result: RecurrentResult<'_>,
    grad_states: &[f32],
    gradients: RecurrentGradients<'_>,
) {
    call.check(recurrence);
    call.check_rows("states", result.states, call.state_cols());
    call.check_rows("saved", result.saved, call.saved_cols());
    call.check_rows("grad_states", grad_states, call.state_cols());
    gradients.check(call);
    let RecurrentGradients {
        projected,
        weight,
        bias,
        initial,
    } = gradients;
    call.clear_padding(projected, call.gate_cols());
    if call.d == 0 {
        return;
    }
    let schedule = Schedule::new(call);
    let total = schedule.total();
    let lens = [
        total * call.gate_cols(),
        total * call.d,
        call.batch() * call.state_cols(),
        call.state_cols(),
    ];
    with_scratch(lens.iter().sum(), |scratch| {
        let (grads, rest) = scratch.split_at_mut(lens[0]);
        let (before, rest) = rest.split_at_mut(lens[1]);
        let (flow, zeros) = rest.split_at_mut(lens[2]);
        flow.fill(0.0);
        zeros.fill(0.0);
        let rows = call.batch() * call.len;
        let run = Run {
            schedule: &schedule,
            recurrence,
            result,
            grad_states,
            zeros,
            projected: TileMut::new(projected, rows, call.gate_cols(), call.gate_cols()),
            to_initial: initial.is_some(),
        };
        run.all_positions(Tape { grads, before }, flow);
        if let Some(initial) = initial {
            schedule.scatter_initial(flow, initial);
        }
        weight_gradients(call, total, grads, before, weight, bias);
    });
}

/// The gradients of weight and bias from those of all hidden products, `[total, gates * d]`, and the h that entered
/// them, `[total, d]`.
fn weight_gradients(
    call: RecurrentCall<'_>,
    total: usize,
    grads: &[f32],
    before: &[f32],
    weight: Option<&mut [f32]>,
    bias: Option<&mut [f32]>,
) {
    let cols = call.gate_cols();
    if let Some(weight) = weight {
        gemm_into(
            total,
            View::transposed(grads, cols),
            View::rows(before, call.d),
            &mut TileMut::new(weight, cols, call.d, call.d),
            Accumulate::Overwrite,
            call.precision,
            Epilogue::NONE,
        );
    }
    if let Some(bias) = bias {
        bias.fill(0.0);
        add_column_sums(View::rows(grads, cols), total, bias);
    }
}

/// What the pass through time collects, without padding.
struct Tape<'a> {
    /// The gradients of the hidden products, `[total, gates * d]`.
    grads: &'a mut [f32],
    /// The h that entered them, `[total, d]`.
    before: &'a mut [f32],
}

/// What the pass through time reads and writes.
struct Run<'a> {
    schedule: &'a Schedule<'a>,
    recurrence: Recurrence<'a>,
    result: RecurrentResult<'a>,
    grad_states: &'a [f32],
    /// `[states * d]`
    zeros: &'a [f32],
    /// `[batch * len, gates * d]`
    projected: TileMut<'a>,
    /// Whether the gradient flows on to the states before the first position.
    to_initial: bool,
}

impl Run<'_> {
    /// Fills the tape, and `flow` `[batch, states * d]` with the gradients of the initial states in the order of ranks.
    fn all_positions(&self, tape: Tape<'_>, flow: &mut [f32]) {
        let call = self.schedule.call;
        let cols = call.gate_cols();
        let Tape {
            mut grads,
            mut before,
        } = tape;
        for position in self.schedule.positions().rev() {
            let rows = self.schedule.active(position);
            let (hidden, more_grads) = grads.split_at_mut(rows * cols);
            let (entered, more_before) = before.split_at_mut(rows * call.d);
            (grads, before) = (more_grads, more_before);
            self.retreat(position, flow, hidden, entered);
            let rows_before = match self.to_initial {
                true => rows,
                false => self.schedule.continuing(position),
            };
            if rows_before == 0 {
                continue;
            }
            gemm_into(
                cols,
                View::rows(hidden, cols),
                View::rows(self.recurrence.weight, call.d),
                &mut TileMut::new(flow, rows_before, call.d, call.state_cols()),
                Accumulate::Add,
                call.precision,
                Epilogue::NONE,
            );
        }
    }

    /// The element-wise gradients of the sequences at `position`, with their rows of the tape.
    fn retreat(&self, position: usize, flow: &mut [f32], hidden: &mut [f32], entered: &mut [f32]) {
        let call = self.schedule.call;
        let (cols, d, state_cols) = (call.gate_cols(), call.d, call.state_cols());
        let (saved_cols, states) = (call.saved_cols(), self.result.states);
        let rows = self.schedule.active(position);
        let flow = TileMut::new(flow, rows, state_cols, state_cols);
        let entered = TileMut::new(entered, rows, d, d);
        for_row_chunks(hidden, cols, |first, hidden| {
            for (rank, hidden) in (first..).zip(hidden.chunks_exact_mut(cols)) {
                let row = self.schedule.row(rank, position);
                // SAFETY: each rank is met once, its sequence has this row to itself, and the caller of
                // `recurrent_backward` lent the matrices mutably.
                let (mut flow, mut entered, mut projected) = unsafe {
                    (
                        flow.part(rank, 0, 1, state_cols),
                        entered.part(rank, 0, 1, d),
                        self.projected.part(row, 0, 1, cols),
                    )
                };
                let initial = self.recurrence.initial;
                let before = self.schedule.before(rank, position, states, initial);
                let moment = Moment {
                    saved: &self.result.saved[row * saved_cols..][..saved_cols],
                    state: &states[row * state_cols..][..state_cols],
                    before: before.unwrap_or(self.zeros),
                };
                entered.row_mut(0).copy_from_slice(&moment.before[..d]);
                let grad_state = &self.grad_states[row * state_cols..][..state_cols];
                let (flow, projected) = (flow.row_mut(0), projected.row_mut(0));
                retreat(call.cell, moment, grad_state, flow, hidden, projected);
            }
        });
    }
}
