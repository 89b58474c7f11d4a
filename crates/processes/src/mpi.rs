//! Messages sent with MPI.

use std::fmt;
use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use attentive_base::error::{Error, Result};
use mpi::environment::{Universe, processor_name};
use mpi::point_to_point::{Destination, Source};
use mpi::request::{LocalScope, Request};
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use mpi::{Rank, Tag, Threading, request};

use super::transport::{Message, Transport, numbered};

/// Maximum size of a message in bytes. MPI counts them in 31 bits.
const MESSAGE: usize = 1 << 30;
/// The exit code of a Rust program after a panic.
const PANIC: u8 = 101;
/// The time for which a waiting process polls without sleeping.
const READY: Duration = Duration::from_millis(200);
/// The time that it sleeps between polls afterwards.
const SLEEP: Duration = Duration::from_micros(50);

/// The processes of an MPI program.
pub(super) struct Mpi {
    world: SimpleCommunicator,
    /// Ends the use of MPI when dropped.
    _universe: Universe,
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, count) = (self.number(), self.count());
        write!(f, "Mpi({number} of {count})")
    }
}

impl Mpi {
    /// Starts MPI. Also returns the name of this machine.
    pub(super) fn start() -> Result<(Self, String)> {
        let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
            return Err(Error::usage("MPI has already been started in this process", "start it only once"));
        };
        let host = processor_name().unwrap_or_else(|_| "an unnamed machine".into());
        let mpi = Self { world: universe.world(), _universe: universe };
        Ok((mpi, host))
    }
}

impl Drop for Mpi {
    /// After a panic, the others would wait for this process forever.
    fn drop(&mut self) {
        if thread::panicking() {
            self.abort(PANIC);
        }
    }
}

/// A message under way, and the other process.
type Pending<'a, 's> = (usize, Request<'a, [u8], &'s LocalScope<'a>>);

impl Transport for Mpi {
    fn count(&self) -> usize {
        self.world.size() as usize
    }

    fn number(&self) -> usize {
        self.world.rank() as usize
    }

    fn exchange(
        &self,
        out: &[Message<'_>],
        into: &mut [(usize, &mut [u8])],
        work: &mut dyn FnMut(&mut dyn FnMut()),
        waiting: &mut dyn FnMut(&[usize]),
    ) {
        request::scope(|scope| {
            let mut pending: Vec<Pending<'_, '_>> = Vec::new();
            // This is dropped before the requests, which must not be dropped.
            let _guard = AbortOnPanic(self);
            let numbers = numbered(into.iter().map(|(process, _)| *process));
            for ((process, buffer), number) in into.iter_mut().zip(numbers) {
                let other = self.world.process_at_rank(*process as Rank);
                for part in buffer.chunks_mut(MESSAGE) {
                    let request = other.immediate_receive_into_with_tag(scope, part, number as Tag);
                    pending.push((*process, request));
                }
            }
            let numbers = numbered(out.iter().map(|message| message.to));
            let mut unsent: Vec<(&Message<'_>, usize)> = out.iter().zip(numbers).collect();
            let mut send = |pending: &mut Vec<_>| {
                unsent.retain(|(message, number)| {
                    let Some(bytes) = message.bytes() else {
                        return true;
                    };
                    let other = self.world.process_at_rank(message.to as Rank);
                    for part in bytes.chunks(MESSAGE) {
                        let request = other.immediate_send_with_tag(scope, part, *number as Tag);
                        pending.push((message.to, request));
                    }
                    false
                });
            };
            work(&mut || {
                send(&mut pending);
                // Testing any request lets MPI make progress on all of them.
                if let Some((process, request)) = pending.pop()
                    && let Err(request) = request.test()
                {
                    pending.push((process, request));
                }
            });
            send(&mut pending);
            assert!(unsent.is_empty(), "a message was not filled");
            finish(&mut pending, waiting);
        });
    }

    fn abort(&self, exit_code: u8) -> ! {
        self.world.abort(exit_code.into())
    }
}

/// Ends all processes if this one panics, since the others would wait for it.
struct AbortOnPanic<'a>(&'a Mpi);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort(PANIC);
        }
    }
}

/// Waits until all messages have been sent and received.
fn finish(pending: &mut Vec<Pending<'_, '_>>, waiting: &mut dyn FnMut(&[usize])) {
    let start = Instant::now();
    loop {
        for (process, request) in mem::take(pending) {
            if let Err(request) = request.test() {
                pending.push((process, request));
            }
        }
        if pending.is_empty() {
            return;
        }
        let waited = start.elapsed();
        if waited < READY {
            thread::yield_now();
            continue;
        }
        let mut missing: Vec<usize> = pending.iter().map(|(process, _)| *process).collect();
        missing.sort_unstable();
        missing.dedup();
        waiting(&missing);
        thread::sleep(SLEEP);
    }
}
