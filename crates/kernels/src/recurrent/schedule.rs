//! Which sequences take part at a position, and in which order.

use super::{Direction, RecurrentCall};

/// The sequences from the longest to the shortest, so that those with a position are always the first few: a sequence's
/// place in that order is its rank.
pub(super) struct Schedule<'a> {
    pub(super) call: RecurrentCall<'a>,
    order: Vec<usize>,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(call: RecurrentCall<'a>) -> Self {
        let mut order: Vec<usize> = (0..call.lens.len()).collect();
        order.sort_by_key(|&sequence| std::cmp::Reverse(call.lens[sequence]));
        Self { call, order }
    }

    fn len(&self, rank: usize) -> usize {
        self.call.lens[self.order[rank]]
    }

    /// How many sequences have `position`: the ranks below.
    pub(super) fn active(&self, position: usize) -> usize {
        self.order
            .partition_point(|&sequence| self.call.lens[sequence] > position)
    }

    /// How many of those have a position before it in time: the ranks below.
    pub(super) fn continuing(&self, position: usize) -> usize {
        match self.call.direction {
            Direction::Forward if position == 0 => 0,
            Direction::Forward => self.active(position),
            Direction::Backward => self.active(position + 1),
        }
    }

    /// All positions in the order of time.
    pub(super) fn positions(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let len = self.order.first().map_or(0, |&first| self.call.lens[first]);
        let direction = self.call.direction;
        (0..len).map(move |step| match direction {
            Direction::Forward => step,
            Direction::Backward => len - 1 - step,
        })
    }

    /// Positions of all sequences together, without padding.
    pub(super) fn total(&self) -> usize {
        self.call.lens.iter().sum()
    }

    /// The row of `position` in matrices `[batch * len, …]`.
    pub(super) fn row(&self, rank: usize, position: usize) -> usize {
        self.order[rank] * self.call.len + position
    }

    /// The states before `position`: a row of `states`, a row of `initial`, or nothing, which stands for zeros.
    pub(super) fn before<'s>(
        &self,
        rank: usize,
        position: usize,
        states: &'s [f32],
        initial: Option<&'s [f32]>,
    ) -> Option<&'s [f32]> {
        let cols = self.call.state_cols();
        let row_of = |matrix: &'s [f32], row: usize| &matrix[row * cols..][..cols];
        let neighbour = match self.call.direction {
            Direction::Forward => position.checked_sub(1),
            Direction::Backward => Some(position + 1).filter(|&next| next < self.len(rank)),
        };
        match neighbour {
            Some(neighbour) => Some(row_of(states, self.row(rank, neighbour))),
            None => initial.map(|initial| row_of(initial, self.order[rank])),
        }
    }

    /// Fills `current` with the rows of `initial` in the order of ranks, or with zeros.
    pub(super) fn gather_initial(&self, initial: Option<&[f32]>, current: &mut [f32]) {
        let cols = self.call.state_cols();
        match initial {
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
    pub(super) fn scatter_initial(&self, current: &[f32], initial: &mut [f32]) {
        let cols = self.call.state_cols();
        for (row, &sequence) in current.chunks_exact(cols).zip(&self.order) {
            initial[sequence * cols..][..cols].copy_from_slice(row);
        }
    }
}
