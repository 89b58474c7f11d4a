//! What carries bytes between processes.

use std::fmt;

/// A connection of several processes.
pub(super) trait Transport: fmt::Debug {
    /// The number of processes.
    fn count(&self) -> usize;

    /// The number of this process.
    fn number(&self) -> usize;

    /// Sends each of `out` to its process and fills each of `into` from its process. Messages from one process to another
    /// keep their order, and arrive with the length with which they were sent. As long as it is not done, calls `waiting`
    /// again and again with the processes that it waits for.
    fn exchange(
        &self,
        out: &[(usize, &[u8])],
        into: &mut [(usize, &mut [u8])],
        waiting: &mut dyn FnMut(&[usize]),
    );

    /// Ends all processes by force.
    fn abort(&self, exit_code: u8) -> !;
}
