//! Which sequences take part at a position, and in which order.

use std::ops::Range;

use super::{Direction, RecurrentCall};
use crate::gemm::View;

/// The sequences from the longest to the shortest, so that those with a position are always the first few: a sequence's
/// place in that order is its rank.
pub(crate) struct Schedule<'a> {
    pub(crate) call: RecurrentCall<'a>,
    /// The states before the first position, `[batch, states * d]`; zeros if there are none.
    initial: Option<&'a [f32]>,
    order: Vec<usize>,
}

impl<'a> Schedule<'a> {
    pub(crate) fn new(call: RecurrentCall<'a>, initial: Option<&'a [f32]>) -> Self {
        let mut order: Vec<usize> = (0..call.batch()).collect();
        order.sort_by_key(|&sequence| std::cmp::Reverse(call.lengths.lens()[sequence]));
        Self {
            call,
            initial,
            order,
        }
    }

    fn len(&self, rank: usize) -> usize {
        self.call.lengths.lens()[self.order[rank]]
    }

    /// How many sequences have `position`: the ranks below.
    pub(crate) fn active(&self, position: usize) -> usize {
        self.order
            .partition_point(|&sequence| self.call.lengths.lens()[sequence] > position)
    }

    /// How many of those have a position before it in time: the ranks below.
    pub(crate) fn continuing(&self, position: usize) -> usize {
        match self.call.direction {
            Direction::Forward if position == 0 => 0,
            Direction::Forward => self.active(position),
            Direction::Backward => self.active(position + 1),
        }
    }

    /// How many of those have a state before it that is not zero by definition: the ranks below.
    pub(crate) fn with_state(&self, position: usize) -> usize {
        match self.initial {
            Some(_) => self.active(position),
            None => self.continuing(position),
        }
    }

    /// All positions in the order of time.
    pub(crate) fn positions(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let len = self.call.lengths.max();
        let direction = self.call.direction;
        (0..len).map(move |step| match direction {
            Direction::Forward => step,
            Direction::Backward => len - 1 - step,
        })
    }

    /// The positions of the sequence of a rank, in the order of time.
    pub(crate) fn positions_of(
        &self,
        rank: usize,
    ) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let len = self.len(rank);
        self.positions().filter(move |&position| position < len)
    }

    /// Positions of all sequences together, without padding: the rows of a tape.
    pub(crate) fn total(&self) -> usize {
        self.call.lengths.total()
    }

    /// All positions backwards in time, each with its rows of a tape: one for each rank.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut end = 0;
        self.positions().rev().map(move |position| {
            let start = end;
            end += self.active(position);
            (position, start..end)
        })
    }

    /// Fills `tape` `[total, cols]` with the rows that `row_of(rank, position)` gives, zeros where it gives none.
    pub(crate) fn gather<'s>(
        &self,
        cols: usize,
        tape: &mut [f32],
        row_of: impl Fn(usize, usize) -> Option<&'s [f32]>,
    ) {
        for (position, rows) in self.backwards() {
            for (rank, row) in rows.enumerate() {
                let to = &mut tape[row * cols..][..cols];
                match row_of(rank, position) {
                    Some(from) => to.copy_from_slice(&from[..cols]),
                    None => to.fill(0.0),
                }
            }
        }
    }

    /// The sequence of a rank.
    pub(crate) fn sequence(&self, rank: usize) -> usize {
        self.order[rank]
    }

    /// The row of `position` in matrices `[batch * len, …]`.
    pub(crate) fn row(&self, rank: usize, position: usize) -> usize {
        self.order[rank] * self.call.lengths.width() + position
    }

    /// The states before `position`: a row of `states` or an initial one, or nothing, which stands for zeros.
    pub(crate) fn before<'s>(
        &'s self,
        rank: usize,
        position: usize,
        states: View<'s>,
    ) -> Option<&'s [f32]> {
        let cols = self.call.state_cols();
        let neighbour = match self.call.direction {
            Direction::Forward => position.checked_sub(1),
            Direction::Backward => Some(position + 1).filter(|&next| next < self.len(rank)),
        };
        match neighbour {
            Some(neighbour) => Some(states.row(self.row(rank, neighbour), cols)),
            None => (self.initial).map(|initial| &initial[self.order[rank] * cols..][..cols]),
        }
    }

    /// Fills `state` with the initial one of a rank.
    pub(crate) fn initial_state(&self, rank: usize, state: &mut [f32]) {
        match self.initial {
            Some(initial) => {
                let first = self.order[rank] * state.len();
                state.copy_from_slice(&initial[first..][..state.len()]);
            }
            None => state.fill(0.0),
        }
    }

    /// Fills `current` with the initial states in the order of ranks.
    pub(crate) fn gather_initial(&self, current: &mut [f32]) {
        let cols = self.call.state_cols();
        match self.initial {
            Some(initial) => {
                let rows = current.chunks_exact_mut(cols);
                for (row, &sequence) in rows.zip(&self.order) {
                    row.copy_from_slice(&initial[sequence * cols..][..cols]);
                }
            }
            None => current.fill(0.0),
        }
    }

    /// The way back: `initial` from rows in the order of ranks.
    pub(crate) fn scatter_initial(&self, current: &[f32], initial: &mut [f32]) {
        let cols = self.call.state_cols();
        for (row, &sequence) in current.chunks_exact(cols).zip(&self.order) {
            initial[sequence * cols..][..cols].copy_from_slice(row);
        }
    }
}
