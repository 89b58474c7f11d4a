//! Which sequences take part at each position, and in which order.

use std::ops::Range;

use super::{Direction, RecurrentCall};
use crate::gemm::View;

/// The sequences ordered from longest to shortest, so that those active at a position always come first. The
/// index of a sequence in this order is its rank.
pub(crate) struct RecurrentSchedule<'a> {
    pub(crate) call: RecurrentCall<'a>,
    /// The states before the first position, `[batch, states * d]`; zeros if absent.
    initial: Option<&'a [f32]>,
    order: Vec<usize>,
}

impl<'a> RecurrentSchedule<'a> {
    pub(crate) fn new(call: RecurrentCall<'a>, initial: Option<&'a [f32]>) -> Self {
        let mut order: Vec<usize> = (0..call.batch()).collect();
        order.sort_by_key(|&sequence| std::cmp::Reverse(call.lengths.lens()[sequence]));
        Self { call, initial, order }
    }

    fn len(&self, rank: usize) -> usize {
        self.call.lengths.lens()[self.order[rank]]
    }

    /// Number of sequences that have `position`; these are the lowest ranks.
    pub(crate) fn active(&self, position: usize) -> usize {
        self.order.partition_point(|&sequence| self.call.lengths.lens()[sequence] > position)
    }

    /// Number of those that also have the previous position in time; these are the lowest ranks.
    pub(crate) fn continuing(&self, position: usize) -> usize {
        match self.call.direction {
            Direction::Forward if position == 0 => 0,
            Direction::Forward => self.active(position),
            Direction::Backward => self.active(position + 1),
        }
    }

    /// Number of those whose previous state is not zero by definition; these are the lowest ranks.
    pub(crate) fn with_state(&self, position: usize) -> usize {
        match self.initial {
            Some(_) => self.active(position),
            None => self.continuing(position),
        }
    }

    /// All positions in time order.
    pub(crate) fn positions(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let len = self.call.lengths.max();
        let direction = self.call.direction;
        (0..len).map(move |step| match direction {
            Direction::Forward => step,
            Direction::Backward => len - 1 - step,
        })
    }

    /// The positions of the sequence of a rank, in time order.
    pub(crate) fn positions_of(&self, rank: usize) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let len = self.len(rank);
        self.positions().filter(move |&position| position < len)
    }

    /// Number of real positions of all sequences, which is the number of rows of a tape.
    pub(crate) fn total(&self) -> usize {
        self.call.lengths.total()
    }

    /// All positions in reverse time order, each with its rows of a tape, one per rank.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut end = 0;
        self.positions().rev().map(move |position| {
            let start = end;
            end += self.active(position);
            (position, start..end)
        })
    }

    /// Fills `tape` `[total, cols]` with the rows returned by `row_of(rank, position)`; `None` gives zeros.
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

    /// The state before `position`: a row of `states`, an initial state, or `None` for zeros.
    pub(crate) fn before<'s>(&'s self, rank: usize, position: usize, states: View<'s>) -> Option<&'s [f32]> {
        let cols = self.call.state_cols();
        let neighbor = match self.call.direction {
            Direction::Forward => position.checked_sub(1),
            Direction::Backward => Some(position + 1).filter(|&next| next < self.len(rank)),
        };
        match neighbor {
            Some(neighbor) => Some(states.row(self.row(rank, neighbor), cols)),
            None => (self.initial).map(|initial| &initial[self.order[rank] * cols..][..cols]),
        }
    }

    /// Copies the initial state of a rank to `state`.
    pub(crate) fn initial_state(&self, rank: usize, state: &mut [f32]) {
        match self.initial {
            Some(initial) => {
                let first = self.order[rank] * state.len();
                state.copy_from_slice(&initial[first..][..state.len()]);
            }
            None => state.fill(0.0),
        }
    }

    /// Copies the initial states to `current` in rank order.
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

    /// The inverse of [`Self::gather_initial`]: copies rows in rank order back to `initial`.
    pub(crate) fn scatter_initial(&self, current: &[f32], initial: &mut [f32]) {
        let cols = self.call.state_cols();
        for (row, &sequence) in current.chunks_exact(cols).zip(&self.order) {
            initial[sequence * cols..][..cols].copy_from_slice(row);
        }
    }
}
