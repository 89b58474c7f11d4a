//! Recurrent layers: one direction of one layer over a padded batch of sequences, and its gradients through time.
//!
//! The inputs' share of the gates is one matrix product for all positions, made before; what remains here is one product
//! with the hidden weight for each position in time, over the sequences that have that position and no others. So neither
//! padding nor the other sequences enter a sequence's states. Without a hidden weight each sequence runs by itself.

mod backward;
mod forward;
mod gate_gradients;
mod gates;
mod schedule;

pub(crate) use backward::{BackwardPass, weight_gradient};
pub use backward::{RecurrentGradients, RecurrentResult, recurrent_backward};
pub(crate) use forward::{ForwardPass, state_product};
pub(crate) use schedule::Schedule;

use crate::gemm::Precision;
use crate::lengths::Lengths;
use crate::linear::Affine;
use crate::scratch::with_scratches;
use crate::tile::TileMut;

/// What happens at a position. With x the input's projection, h and c the states before and U, b the hidden weight and
/// bias, whose rows stand gate after gate; σ is the sigmoid and ⊙ the product of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Elman 1990: h' = tanh(x + U h + b).
    Rnn,
    /// Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000. Gates i, f, g, o = σ, σ, tanh, σ of
    /// x + U h + b; c' = f ⊙ c + i ⊙ g and h' = o ⊙ tanh(c').
    Lstm,
    /// As [`Cell::Lstm`] with i = 1 − f (Greff et al. 2017, "coupled input and forget gate"). Gates f, g, o.
    CoupledLstm,
    /// Cho et al. 2014, with the reset gate behind the product. Gates r, z, n: r, z = σ of x + U h + b,
    /// n = tanh(x + r ⊙ (U h + b)) and h' = (1 − z) ⊙ n + z ⊙ h.
    Gru,
    /// The simpler simple recurrent unit (Kim et al. 2019, section 3.2), whose gate does not read the state: it has no U
    /// and b. x is that of the gate f = σ(x) and the candidate g = x; c' = f ⊙ c + (1 − f) ⊙ g and h' = max(0, c').
    Ssru,
}

impl Cell {
    /// How many times `d` columns the input's projection has.
    pub fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Ssru => 2,
            Self::Lstm => 4,
            Self::CoupledLstm | Self::Gru => 3,
        }
    }

    /// How many times `d` rows the hidden weight has; 0 for a cell without one.
    pub fn hidden_gates(self) -> usize {
        match self {
            Self::Ssru => 0,
            _ => self.gates(),
        }
    }

    /// How many times `d` numbers the state of a sequence has: h, and c behind it.
    pub fn states(self) -> usize {
        match self {
            Self::Rnn | Self::Gru => 1,
            Self::Lstm | Self::CoupledLstm | Self::Ssru => 2,
        }
    }

    /// How many times `d` numbers of a position are saved for the backward pass: the gates, and of [`Cell::Gru`] also
    /// what r multiplies. The one gate of [`Cell::Rnn`] is its state.
    pub fn saved(self) -> usize {
        match self {
            Self::Rnn => 0,
            Self::Ssru => 2,
            Self::CoupledLstm => 3,
            Self::Lstm | Self::Gru => 4,
        }
    }

    /// How many times `d` numbers the work at one position needs.
    pub(crate) fn work(self) -> usize {
        self.gates().max(self.saved())
    }

    /// Whether x has the gradient of U h + b: no gate multiplies the one without the other.
    pub(crate) fn adds_plainly(self) -> bool {
        self != Self::Gru
    }
}

/// Where a sequence is read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From position 0 on.
    Forward,
    /// From the last position that is no padding down to 0.
    Backward,
}

/// A call. Its final states are those at the last real position forward and 0 backward; without positions, the initial
/// ones.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentCall<'a> {
    /// What happens at a position.
    pub cell: Cell,
    /// Where a sequence is read from.
    pub direction: Direction,
    /// The sequences.
    pub lengths: &'a Lengths,
    /// Columns of h.
    pub d: usize,
    /// Of the products.
    pub precision: Precision,
}

/// What makes a state from the one before.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence<'a> {
    /// U, `[gates * d, d]`, and b, `[gates * d]`. None for a cell whose gates do not read the state.
    pub hidden: Option<Affine<'a>>,
    /// The states before the first position, `[batch, states * d]`: h and c side by side. Zeros if there are none.
    pub initial: Option<&'a [f32]>,
}

impl RecurrentCall<'_> {
    pub(crate) fn batch(&self) -> usize {
        self.lengths.rows()
    }

    /// Rows of the matrices with a row for each position.
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

    /// Columns of what is saved.
    pub(crate) fn saved_cols(&self) -> usize {
        self.cell.saved() * self.d
    }

    pub(crate) fn check(&self, recurrence: Recurrence<'_>) {
        let (batch, d, gates) = (self.batch(), self.d, self.gate_cols());
        let Recurrence { hidden, initial } = recurrence;
        let wanted = self.cell.hidden_gates() > 0;
        assert_eq!(hidden.is_some(), wanted, "a hidden map of {:?}", self.cell);
        if let Some(Affine { weight, bias }) = hidden {
            assert_eq!(weight.len(), gates * d, "`weight` is [{gates}, {d}]");
            if let Some(bias) = bias {
                assert_eq!(bias.len(), gates, "`bias` is [{gates}]");
            }
        }
        if let Some(initial) = initial {
            let states = self.state_cols();
            assert_eq!(
                initial.len(),
                batch * states,
                "`initial` is [{batch}, {states}]"
            );
        }
    }

    /// Checks a matrix with a row for each position.
    pub(crate) fn check_rows(&self, name: &str, matrix: &[f32], cols: usize) {
        let rows = self.rows();
        assert_eq!(matrix.len(), rows * cols, "`{name}` is [{rows}, {cols}]");
    }

    /// Zeros in the rows of padding.
    pub(crate) fn clear_padding(&self, matrix: &mut [f32], cols: usize) {
        let width = self.lengths.width();
        for (sequence, &len) in self.lengths.lens().iter().enumerate() {
            let padding = sequence * width + len..(sequence + 1) * width;
            matrix[padding.start * cols..padding.end * cols].fill(0.0);
        }
    }
}

/// `states` `[batch * len, states * d]` of all positions, h and c side by side, zeros at padding, from `projected`
/// `[batch * len, gates * d]`, the inputs' projections with their bias. `saved` `[batch * len, saved * d]` receives what
/// the backward pass needs; its rows of padding stay as they are.
///
/// # Panics
/// If a slice does not fit.
pub fn recurrent(
    call: RecurrentCall<'_>,
    recurrence: Recurrence<'_>,
    projected: &[f32],
    states: &mut [f32],
    saved: Option<&mut [f32]>,
) {
    call.check(recurrence);
    call.check_rows("projected", projected, call.gate_cols());
    call.check_rows("states", states, call.state_cols());
    if let Some(saved) = saved.as_deref() {
        call.check_rows("saved", saved, call.saved_cols());
    }
    call.clear_padding(states, call.state_cols());
    if call.d == 0 {
        return;
    }
    let schedule = Schedule::new(call, recurrence.initial);
    let matrix = |data, cols| TileMut::new(data, call.rows(), cols, cols);
    let pass = ForwardPass {
        schedule: &schedule,
        states: matrix(states, call.state_cols()),
        saved: saved.map(|saved| matrix(saved, call.saved_cols())),
    };
    let (cols, width) = (call.gate_cols(), call.cell.work() * call.d);
    let input = |_, row: usize| &projected[row * cols..][..cols];
    let Some(hidden) = recurrence.hidden else {
        return pass.sequences_apart(input);
    };
    let lens = [call.batch() * call.state_cols(), call.batch() * width];
    with_scratches(lens, |[current, work]| {
        schedule.gather_initial(current);
        for position in schedule.positions() {
            state_product(&schedule, position, current, hidden, work, width);
            pass.advance(position, input, current, work);
        }
    });
}

#[cfg(test)]
mod tests;
