//! Threads without which the process cannot go on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::thread;

/// Starts a thread called `name` that does `work`. If it panics, which the panic hook reports, the process
/// ends with exit code 1: without a thread that obeys signals, for example, it could not be stopped any more.
///
/// # Errors
/// The system has no more threads.
pub fn essential(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let watched = move || {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            process::exit(1);
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(watched).map(drop)
}
