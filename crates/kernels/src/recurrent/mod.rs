//! Recurrent layers over a padded batch of sequences, and their gradients through time: one direction, or
//! several side by side.
//!
//! The input projections are computed beforehand, in one matrix product for all positions. What remains is
//! one product with the hidden weight per position in time, over exactly the sequences that have this
//! position. A sequence's states therefore depend neither on padding nor on other sequences. Without a hidden
//! weight the sequences are processed independently.

mod backward;
mod directions;
mod forward;
mod gate_gradients;
mod gates;
mod schedule;

pub(crate) use backward::{BackwardPass, hidden_gradients, weight_gradient};
pub use backward::{RecurrentBackward, RecurrentGradients, recurrent_backward};
pub(crate) use forward::{ForwardPass, PreparedMap, state_product, with_prepared, with_prepared_if_any};
pub use forward::{RecurrentForward, recurrent};
pub(crate) use schedule::RecurrentSchedule;

use attentive_base::lengths::Lengths;

use crate::area::{assert_shape, assert_shape_if_any};
use crate::gemm::Float;
use crate::linear::Affine;

/// A recurrent cell.
// How they are computed, with the projected input x, the previous states h and c, and the hidden weight U and
// bias b, whose rows are ordered gate after gate:
// - `Rnn`: h' = tanh(x + U h + b).
// - `Lstm`: gates i, f, g, o = σ, σ, tanh, σ of x + U h + b; c' = f ⊙ c + i ⊙ g and h' = o ⊙ tanh(c').
// - `CoupledLstm`: the same with i = 1 − f; gates f, g, o.
// - `Gru`, with the reset gate applied after the product: r, z = σ of x + U h + b, n = tanh(x + r ⊙ (U h +
//   b)) and h' = (1 − z) ⊙ n + z ⊙ h.
// - `Ssru`, without U and b: x consists of the inputs of the gate f = σ(x) and of the candidate g = x;
//   c' = f ⊙ c + (1 − f) ⊙ g and h' = max(0, c').
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum CellKind {
    // Shaders know a cell by its place in this list.
    /// A simple recurrent network: h' = tanh(W x + U h + b) (Elman 1990).
    Rnn,
    /// Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000).
    Lstm,
    /// An LSTM with coupled input and forget gates: i = 1 − f (Greff et al. 2017).
    CoupledLstm,
    /// Gated recurrent units (Cho et al. 2014).
    Gru,
    /// Simpler simple recurrent units (Kim et al. 2019, section 3.2). They have no hidden weights, so no
    /// matrix product depends on the previous position.
    Ssru,
}

impl CellKind {
    /// Returns the number of gates, including the candidate: the columns of the projected input, in multiples
    /// of `d`.
    pub fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Ssru => 2,
            Self::Lstm => 4,
            Self::CoupledLstm | Self::Gru => 3,
        }
    }

    /// Rows of the hidden weight, in multiples of `d`; 0 for a cell without one.
    pub fn hidden_gates(self) -> usize {
        match self {
            Self::Ssru => 0,
            _ => self.gates(),
        }
    }

    /// Returns the number of the forget gate, if there is one.
    pub fn forget_gate(self) -> Option<usize> {
        match self {
            Self::Lstm => Some(1),
            Self::CoupledLstm | Self::Ssru => Some(0),
            Self::Rnn | Self::Gru => None,
        }
    }

    /// Columns of the state, in multiples of `d`: h, followed by c if the cell has one.
    pub fn states(self) -> usize {
        match self {
            Self::Rnn | Self::Gru => 1,
            Self::Lstm | Self::CoupledLstm | Self::Ssru => 2,
        }
    }

    /// Values saved per position for the backward pass, in multiples of `d`: the gates, and for
    /// [`CellKind::Gru`] also the factor of r. [`CellKind::Rnn`] saves nothing, as its only gate is its
    /// state.
    pub fn saved(self) -> usize {
        match self {
            Self::Rnn => 0,
            Self::Ssru => 2,
            Self::CoupledLstm => 3,
            Self::Lstm | Self::Gru => 4,
        }
    }

    /// Scratch needed per position, in multiples of `d`.
    pub fn work(self) -> usize {
        self.gates().max(self.saved())
    }

    /// True if x and U h + b always have the same gradient, because they only enter as a sum.
    pub fn adds_plainly(self) -> bool {
        self != Self::Gru
    }
}

/// The direction in which a sequence is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From position 0 to the last real position.
    Forward,
    /// From the last real position to 0.
    Backward,
}

/// Cell, direction and dimensions of one direction of a layer. The final state is the one at the last real
/// position (forward) or at position 0 (backward); for an empty sequence it is the initial state.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentCall<'a> {
    pub cell: CellKind,
    /// Reading direction.
    pub direction: Direction,
    /// Lengths of the sequences.
    pub lengths: &'a Lengths,
    /// Columns of h.
    pub d: usize,
    /// Matmul precision.
    pub precision: Float,
}

/// Recurrent weights and initial states.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence<T> {
    /// U, `[gates * d, d]`, and b, `[gates * d]`. `None` for a cell whose gates do not depend on the state.
    pub hidden: Option<Affine<T>>,
    /// The states before the first position, `[batch, states * d]`: h followed by c. `None` means zeros.
    pub initial: Option<T>,
}

impl<T> Recurrence<T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U + Copy) -> Recurrence<U> {
        Recurrence { hidden: self.hidden.map(|hidden| hidden.map(f)), initial: self.initial.map(f) }
    }
}

/// Advances the `state` `[states * d]` of one sequence by one position, given the projected input
/// `[gates * d]`. `work` `[CellKind::work * d]` holds U h + b in its first columns; its contents are then
/// unspecified.
///
/// # Panics
/// If a slice does not fit.
pub fn advance(cell: CellKind, projected: &[f32], work: &mut [f32], state: &mut [f32]) {
    let d = state.len() / cell.states();
    assert_shape("state", state, [cell.states(), d]);
    assert_shape("projected", projected, [cell.gates(), d]);
    assert_shape("work", work, [cell.work(), d]);
    gates::advance(cell, projected, work, state);
}

impl RecurrentCall<'_> {
    pub(crate) fn batch(&self) -> usize {
        self.lengths.rows()
    }

    /// Number of rows of matrices with one row per position.
    pub(crate) fn rows(&self) -> usize {
        self.lengths.positions()
    }

    /// Columns of the gates.
    pub(crate) fn gate_cols(&self) -> usize {
        self.cell.gates() * self.d
    }

    /// Columns of the states.
    pub(crate) fn state_cols(&self) -> usize {
        self.cell.states() * self.d
    }

    /// Columns of the saved values.
    pub(crate) fn saved_cols(&self) -> usize {
        self.cell.saved() * self.d
    }

    /// The elements that the backward pass needs to collect the operands of the gradient of the hidden
    /// weight.
    pub fn room(&self) -> usize {
        self.tapes().iter().sum()
    }

    /// The lengths of the parts of this room: for the gradients of the gates, and for the previous states.
    pub(crate) fn tapes(&self) -> [usize; 2] {
        match self.cell.hidden_gates() {
            0 => [0; 2],
            _ => [self.gate_cols(), self.d].map(|cols| self.lengths.total() * cols),
        }
    }

    pub(crate) fn check(&self, recurrence: Recurrence<&[f32]>) {
        let Recurrence { hidden, initial } = recurrence;
        let wanted = self.cell.hidden_gates() > 0;
        assert_eq!(hidden.is_some(), wanted, "hidden weight of {:?}", self.cell);
        if let Some(hidden) = hidden {
            hidden.check(self.gate_cols(), self.d);
        }
        assert_shape_if_any("initial", initial, [self.batch(), self.state_cols()]);
    }

    /// Checks the size of a matrix with one row per position.
    pub(crate) fn check_rows(&self, name: &str, matrix: &[f32], cols: usize) {
        assert_shape(name, matrix, [self.rows(), cols]);
    }

    /// Zeroes the rows of padding.
    pub(crate) fn clear_padding(&self, matrix: &mut [f32], cols: usize) {
        let width = self.lengths.width();
        for (sequence, &len) in self.lengths.lens().iter().enumerate() {
            let padding = sequence * width + len..(sequence + 1) * width;
            matrix[padding.start * cols..padding.end * cols].fill(0.0);
        }
    }
}

#[cfg(test)]
mod tests;
