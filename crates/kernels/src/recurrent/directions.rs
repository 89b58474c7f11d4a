//! The directions of a layer, whose states are side by side.

use super::RecurrentCall;
use crate::area::assert_shape;
use crate::parallel::is_large;
use crate::threads::Threads;

/// Multiply-adds of a position of all directions from which many threads divide its products well.
const LARGE_PRODUCT: usize = 1 << 26;

/// All directions of a layer.
pub(super) struct Directions<'a>(Vec<RecurrentCall<'a>>);

impl<'a> Directions<'a> {
    /// # Panics
    /// If they do not read the same sequences.
    pub(super) fn new(calls: impl Iterator<Item = RecurrentCall<'a>>) -> Self {
        let calls: Vec<RecurrentCall<'_>> = calls.collect();
        let have_equal_lengths = |pair: &[RecurrentCall<'_>]| pair[0].lengths == pair[1].lengths;
        assert!(
            calls.windows(2).all(have_equal_lengths),
            "the directions of a layer read the same sequences"
        );
        Self(calls)
    }

    /// The rows of matrices with one row per position.
    pub(super) fn rows(&self) -> usize {
        self.0.first().map_or(0, RecurrentCall::rows)
    }

    /// The columns of the states of all directions.
    pub(super) fn state_cols(&self) -> usize {
        self.0.iter().map(RecurrentCall::state_cols).sum()
    }

    /// The first column of the states of each direction.
    pub(super) fn first_columns(&self) -> impl Iterator<Item = usize> {
        self.0.iter().scan(0, |next, call| {
            let first = *next;
            *next += call.state_cols();
            Some(first)
        })
    }

    /// Checks the size of the states of all directions.
    pub(super) fn check_states(&self, name: &str, states: &[f32]) {
        assert_shape(name, states, [self.rows(), self.state_cols()]);
    }

    /// Calls `one` for each of `directions`: for all of them at once, each of which a thread computes alone,
    /// if that is faster than dividing the products of one direction after the other.
    pub(super) fn for_each<T: Send>(
        &self,
        directions: impl IntoIterator<Item = T>,
        one: impl Fn(T) + Sync + Send,
    ) {
        let threads = Threads::current();
        if self.are_computed_at_once(threads.count()) {
            threads.for_each(directions, |direction| Threads::alone(|| one(direction)))
        } else {
            directions.into_iter().for_each(one)
        }
    }

    /// Threads that would have no direction of their own are worth more than a thread for each direction if
    /// the products of a position are large.
    fn are_computed_at_once(&self, threads: usize) -> bool {
        let sum = |of: fn(&RecurrentCall<'_>) -> usize| self.0.iter().map(of).sum::<usize>();
        let elements = sum(|call| call.lengths.total() * call.gate_cols());
        let product = sum(|call| call.batch() * call.gate_cols() * call.d);
        self.0.len() > 1 && is_large(elements) && (threads <= self.0.len() || product < LARGE_PRODUCT)
    }
}
