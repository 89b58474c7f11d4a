//! Work beside other work.

use std::panic;
use std::thread;

use crate::platform::HAS_THREADS;

/// The results of both pieces of work, of which another thread does the first if there are threads.
///
/// # Panics
/// If one of them does.
///
/// ```
/// use attentive_base::beside::both;
///
/// assert_eq!(both(|| 1 + 1, || "two"), (2, "two"));
/// ```
pub fn both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if !HAS_THREADS {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|problem| panic::resume_unwind(problem)), second)
    })
}
