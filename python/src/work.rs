//! Work without the interpreter's lock, which Ctrl-C interrupts.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use attentive::Result;
use attentive::interrupt::Interrupt;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::threads::ThreadCount;

/// The time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// The number of the signal by which work is interrupted.
pub(crate) const SIGINT: u8 = 2;

/// Calls `work` on `threads`. If a signal's handler raises an exception meanwhile, as Ctrl-C does, the work
/// is interrupted, and the result is this exception.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: ThreadCount,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let interrupt = Interrupt::none();
    let (outcome, raised) = stoppable(py, threads, &interrupt, || interrupt.during(work));
    match raised {
        Some(raised) => Err(raised),
        None => outcome.map_err(|error| exception(py, &error)),
    }
}

/// Calls `work` on `threads`, and requests a stop of `interrupt` if a signal's handler raises an exception
/// meanwhile, which is returned beside the result.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    threads: ThreadCount,
    interrupt: &Interrupt,
    work: impl FnOnce() -> Result<T> + Send,
) -> (Result<T>, Option<PyErr>) {
    // A callback of other work runs on one of its threads, which has to do this work too.
    if rayon::current_thread_index().is_some() {
        return (py.detach(work), None);
    }
    let mut raised = None;
    let outcome = py.detach(|| {
        threads
            .pool()?
            .in_place_scope(|scope| {
                let (sender, receiver) = mpsc::sync_channel(1);
                scope.spawn(move |_| {
                    // Only a panic, which the scope passes on, can have taken the receiver away.
                    let _ = sender.send(work());
                });
                loop {
                    match receiver.recv_timeout(LOOK) {
                        Ok(outcome) => return Some(outcome),
                        Err(RecvTimeoutError::Disconnected) => return None,
                        Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                            raised = Python::attach(|py| py.check_signals()).err();
                            if raised.is_some() {
                                interrupt.request(SIGINT);
                            }
                        }
                        Err(RecvTimeoutError::Timeout) => {}
                    }
                }
            })
            .expect("the scope passes on a panic")
    });
    (outcome, raised)
}
