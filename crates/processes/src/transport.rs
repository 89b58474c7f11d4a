//! The transport of bytes between processes.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;

/// A connection of several processes.
pub(super) trait Transport: fmt::Debug {
    /// Returns the number of processes.
    fn count(&self) -> usize;

    /// Returns the number of this process.
    fn number(&self) -> usize;

    /// Runs `work`, sends each of `out` to its process and fills each of `into` from its process.
    ///
    /// `work` fills the messages that are not ready, and from time to time calls the function that it is
    /// given, which sends the messages that have become ready. Messages to a process arrive in the order of
    /// `out`, whichever were ready first, with the length with which they were sent. After `work`, until
    /// everything has been sent and received, calls `waiting` repeatedly with the processes for which it
    /// waits.
    ///
    /// # Panics
    /// Panics if `work` has not filled all messages.
    fn exchange(
        &self,
        out: &[Message<'_>],
        into: &mut [(usize, &mut [u8])],
        work: &mut dyn FnMut(&mut dyn FnMut()),
        waiting: &mut dyn FnMut(&[usize]),
    );

    /// Ends all processes by force.
    fn abort(&self, exit_code: u8) -> !;
}

/// A message to another process.
#[derive(Debug)]
pub struct Message<'a> {
    /// The number of the process.
    pub(super) to: usize,
    bytes: Bytes<'a>,
}

#[derive(Debug)]
enum Bytes<'a> {
    Ready(&'a [u8]),
    /// Empty until the message is ready.
    Later(OnceCell<Vec<u8>>),
}

impl<'a> Message<'a> {
    /// A message that is ready.
    pub(super) fn ready(to: usize, bytes: &'a [u8]) -> Self {
        Self { to, bytes: Bytes::Ready(bytes) }
    }

    /// Returns a message to process `to` that will be ready later.
    pub fn later(to: usize) -> Self {
        Self { to, bytes: Bytes::Later(OnceCell::new()) }
    }

    /// Makes the message ready.
    ///
    /// # Panics
    /// Panics if the message is already ready.
    pub fn fill(&self, bytes: Vec<u8>) {
        let filled = match &self.bytes {
            Bytes::Ready(_) => Err(bytes),
            Bytes::Later(cell) => cell.set(bytes),
        };
        assert!(filled.is_ok(), "a message is filled once");
    }

    /// The content of the message; `None` if it is not ready.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.bytes {
            Bytes::Ready(bytes) => Some(bytes),
            Bytes::Later(cell) => cell.get().map(Vec::as_slice),
        }
    }
}

/// Numbers the messages to these processes, separately for each process.
pub(super) fn numbered(processes: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut counts = HashMap::new();
    let number = |process| {
        let count = counts.entry(process).or_insert(0);
        *count += 1;
        *count - 1
    };
    processes.into_iter().map(number).collect()
}
