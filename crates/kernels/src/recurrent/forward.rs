//! The forward pass.

use super::directions::Directions;
use super::{Recurrence, RecurrentCall, RecurrentSchedule, gates};
use crate::gemm::{Epilogue, Float, PreparedRight, Product, View, with_prepared_right};
use crate::linear::Affine;
use crate::parallel::{for_each, for_row_chunks, is_large};
use crate::scratch::with_scratches;
use crate::tile::TileMut;

/// One direction of a layer in the forward pass, with inputs `T` and outputs `M`.
#[derive(Debug)]
pub struct RecurrentForward<'a, T, M> {
    /// Cell, direction and dimensions.
    pub call: RecurrentCall<'a>,
    /// Recurrent weights and initial states.
    pub recurrence: Recurrence<T>,
    /// The projected inputs including their bias, `[batch * len, gates * d]`.
    pub projected: T,
    /// Receives the values needed by the backward pass, `[batch * len, saved * d]`; padded rows are left
    /// untouched.
    pub saved: Option<M>,
}

impl<'a, T, M> RecurrentForward<'a, T, M> {
    /// Applies `input` to each input and `output` to each output.
    pub fn map<U, N>(
        self,
        input: impl Fn(T) -> U + Copy,
        output: impl Fn(M) -> N,
    ) -> RecurrentForward<'a, U, N> {
        RecurrentForward {
            call: self.call,
            recurrence: self.recurrence.map(input),
            projected: input(self.projected),
            saved: self.saved.map(output),
        }
    }
}

/// Computes `states` `[batch * len, Σ states * d]`, at each position h followed by c of each of `directions`,
/// zero at padding.
///
/// # Panics
/// If a slice does not fit, or the directions do not read the same sequences.
pub fn recurrent(directions: Vec<RecurrentForward<'_, &[f32], &mut [f32]>>, states: &mut [f32]) {
    let all = Directions::new(directions.iter().map(|direction| direction.call));
    all.check_states("states", states);
    let (rows, width) = (all.rows(), all.state_cols());
    if let Some(RecurrentForward { call, .. }) = directions.first() {
        call.clear_padding(states, width);
    }
    let states = TileMut::new(states, rows, width, width);
    let parts = directions.into_iter().zip(all.first_columns());
    all.for_each(parts, |(direction, first)| {
        // SAFETY: the columns of the directions are disjoint, and nothing else accesses the matrix.
        let states = unsafe { states.part(0, first, rows, direction.call.state_cols()) };
        direction.run(states);
    });
}

impl RecurrentForward<'_, &[f32], &mut [f32]> {
    /// Fills `states` `[batch * len, states * d]` except at padding.
    fn run(self, states: TileMut<'_>) {
        let Self { call, recurrence, projected, saved } = self;
        call.check(recurrence);
        call.check_rows("projected", projected, call.gate_cols());
        if let Some(saved) = saved.as_deref() {
            call.check_rows("saved", saved, call.saved_cols());
        }
        if call.d == 0 {
            return;
        }
        let schedule = RecurrentSchedule::new(call, recurrence.initial);
        let saved_cols = call.saved_cols();
        let pass = ForwardPass {
            schedule: &schedule,
            states,
            saved: saved.map(|saved| TileMut::new(saved, call.rows(), saved_cols, saved_cols)),
        };
        let (cols, width) = (call.gate_cols(), call.cell.work() * call.d);
        let input = |_, row: usize| &projected[row * cols..][..cols];
        let Some(hidden) = recurrence.hidden else {
            return pass.sequences_apart(input);
        };
        let lens = [call.batch() * call.state_cols(), call.batch() * width];
        with_prepared(call.precision, call.d, hidden, |hidden| {
            with_scratches(lens, |[current, work]| {
                schedule.gather_initial(current);
                for position in schedule.positions() {
                    state_product(&schedule, position, current, hidden, work, width);
                    pass.advance(position, input, current, work);
                }
            });
        });
    }
}

/// Fills the first columns of `out`, which has rows of `width` in rank order, with W h + b for the sequences
/// at `position`, given their states `current`.
pub(crate) fn state_product(
    schedule: &RecurrentSchedule<'_>,
    position: usize,
    current: &[f32],
    map: PreparedMap<'_>,
    out: &mut [f32],
    width: usize,
) {
    let call = schedule.call;
    let cols = map.weight.n();
    let rows = schedule.active(position);
    // Zero states need no product.
    let with_state = schedule.with_state(position);
    for row in with_state..rows {
        let row = &mut out[row * width..][..cols];
        match map.bias {
            Some(bias) => row.copy_from_slice(bias),
            None => row.fill(0.0),
        }
    }
    if with_state == 0 {
        return;
    }
    let states = View::rows(current, call.state_cols());
    let mut out = TileMut::new(out, with_state, cols, width);
    Product::new(call.d, states, map.weight).then(Epilogue::bias(map.bias)).write_to(&mut out);
}

/// A map of states whose weight is packed once for all positions.
#[derive(Clone, Copy)]
pub(crate) struct PreparedMap<'a> {
    weight: PreparedRight<'a>,
    bias: Option<&'a [f32]>,
}

/// [`with_prepared`] if there is a map.
pub(crate) fn with_prepared_if_any<R>(
    precision: Float,
    d: usize,
    map: Option<Affine<&[f32]>>,
    work: impl FnOnce(Option<PreparedMap<'_>>) -> R,
) -> R {
    match map {
        Some(map) => with_prepared(precision, d, map, |map| work(Some(map))),
        None => work(None),
    }
}

/// Calls `work` with `map`, prepared for states with rows of `d`.
pub(crate) fn with_prepared<R>(
    precision: Float,
    d: usize,
    map: Affine<&[f32]>,
    work: impl FnOnce(PreparedMap<'_>) -> R,
) -> R {
    let weight = View::transposed(map.weight, d);
    let shape = [d, map.weight.len() / d];
    with_prepared_right(precision, weight, shape, |weight| {
        let bias = map.bias;
        work(PreparedMap { weight, bias })
    })
}

/// Outputs of the element-wise operations of the forward pass.
pub(crate) struct ForwardPass<'a> {
    pub(crate) schedule: &'a RecurrentSchedule<'a>,
    /// `[batch * len, states * d]`
    pub(crate) states: TileMut<'a>,
    /// `[batch * len, saved * d]`
    pub(crate) saved: Option<TileMut<'a>>,
}

impl ForwardPass<'_> {
    /// Computes the new states of the sequences at `position` from the hidden products in `work`.
    /// `input(rank, row)` is x of a rank, where `row` is its row in matrices `[batch * len, …]`.
    pub(crate) fn advance<'i>(
        &self,
        position: usize,
        input: impl Fn(usize, usize) -> &'i [f32] + Sync + Send,
        current: &mut [f32],
        work: &mut [f32],
    ) {
        let call = self.schedule.call;
        let width = call.cell.work() * call.d;
        let state_cols = call.state_cols();
        let rows = self.schedule.active(position);
        let current = TileMut::new(current, rows, state_cols, state_cols);
        for_row_chunks(&mut work[..rows * width], width, |first, work| {
            for (rank, work) in (first..).zip(work.chunks_exact_mut(width)) {
                let row = self.schedule.row(rank, position);
                // SAFETY: each rank occurs once.
                let mut state = unsafe { current.part(rank, 0, 1, state_cols) };
                // SAFETY: each rank occurs once, and its sequence owns this row.
                unsafe { self.advance_row(row, input(rank, row), work, state.row_mut(0)) };
            }
        });
    }

    /// All sequences of a cell without a hidden weight, each from its first position to its last.
    pub(crate) fn sequences_apart<'i>(&self, input: impl Fn(usize, usize) -> &'i [f32] + Sync + Send) {
        let call = self.schedule.call;
        let lens = [call.state_cols(), call.cell.work() * call.d];
        let large = is_large(self.schedule.total() * call.gate_cols());
        for_each(call.batch(), large, |rank| {
            with_scratches(lens, |[state, work]| {
                self.schedule.initial_state(rank, state);
                for position in self.schedule.positions_of(rank) {
                    let row = self.schedule.row(rank, position);
                    // SAFETY: each task has its own sequence.
                    unsafe { self.advance_row(row, input(rank, row), work, state) };
                }
            });
        });
    }

    /// Computes the new `state` of the sequence at `row` from the hidden products in `work`, if the cell has
    /// any.
    ///
    /// # Safety
    /// Nothing else may access `row` during the call; the matrices must be mutably borrowed for as long as
    /// `self` exists.
    unsafe fn advance_row(&self, row: usize, input: &[f32], work: &mut [f32], state: &mut [f32]) {
        let call = self.schedule.call;
        // SAFETY: the caller upholds the contract.
        let (mut kept, mut saved) = unsafe {
            (
                self.states.part(row, 0, 1, call.state_cols()),
                self.saved.as_ref().map(|saved| saved.part(row, 0, 1, call.saved_cols())),
            )
        };
        gates::advance(call.cell, input, work, state);
        kept.row_mut(0).copy_from_slice(state);
        if let Some(saved) = &mut saved {
            saved.row_mut(0).copy_from_slice(&work[..call.saved_cols()]);
        }
    }
}
