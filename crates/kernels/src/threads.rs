//! The threads among which work is divided.
//!
//! All work of a process shares one set of threads, which [`Threads::start`] starts, or else the first work
//! that is large enough. A thread that works beside others, each with work of its own, does all of it
//! [alone](Threads::alone). Results never depend on the number of threads.

use std::cell::Cell;
use std::num::NonZeroUsize;

use attentive_base::platform::HAS_THREADS;
use rayon::prelude::*;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};

thread_local! {
    /// True while this thread works alone.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// The threads among which work is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads(usize);

impl Threads {
    /// Starts `count` threads for all work of the process.
    ///
    /// # Errors
    /// Fails if the process has threads already, or the system has no more.
    pub fn start(count: NonZeroUsize) -> Result<Self, ThreadPoolBuildError> {
        let builder = ThreadPoolBuilder::new().num_threads(count.get());
        builder.build_global().map(|()| Self(count.get()))
    }

    /// Starts `count` threads for all work of the process, of which the calling one is the first. It then
    /// works itself instead of waking another thread and waiting for it. Other threads must not divide work:
    /// nobody may be there to do it. If they work, they do so [alone](Threads::alone).
    ///
    /// # Errors
    /// Fails if the process has threads already, or the system has no more.
    pub fn start_with_caller(count: NonZeroUsize) -> Result<Self, ThreadPoolBuildError> {
        let builder = ThreadPoolBuilder::new().num_threads(count.get());
        let builder = builder.use_current_thread();
        builder.build_global().map(|()| Self(count.get()))
    }

    /// Returns the threads among which work on this thread is divided. If the process has none yet, it starts
    /// as many as it has CPUs.
    #[inline]
    pub fn current() -> Self {
        if !HAS_THREADS || ALONE.get() { Self(1) } else { Self(rayon::current_num_threads()) }
    }

    /// Returns the number of threads, at least 1.
    pub fn count(self) -> usize {
        self.0
    }

    /// Calls `work`, which is not divided, but done by this thread alone.
    pub fn alone<R>(work: impl FnOnce() -> R) -> R {
        /// Restores the state of the thread, even if the work panics.
        struct Before(bool);

        impl Drop for Before {
            fn drop(&mut self) {
                ALONE.set(self.0);
            }
        }

        let _before = Before(ALONE.replace(true));
        work()
    }

    /// Calls `one` for each of `items` on these threads, and returns the results in the order of the items.
    pub fn map<T: Send, R: Send>(
        self,
        items: impl IntoIterator<Item = T>,
        one: impl Fn(T) -> R + Sync + Send,
    ) -> Vec<R> {
        let items = items.into_iter();
        if HAS_THREADS && self.0 > 1 {
            items.collect::<Vec<T>>().into_par_iter().map(one).collect()
        } else {
            items.map(one).collect()
        }
    }

    /// Calls `one` for each of `items` on these threads.
    pub fn for_each<T: Send>(self, items: impl IntoIterator<Item = T>, one: impl Fn(T) + Sync + Send) {
        self.map(items, one);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::thread;

    use super::*;

    #[test]
    fn work_alone_stays_on_its_thread() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        let all = || Threads::current().count();
        let ids = || Threads::current().map(0..100, |_| thread::current().id());
        pool.install(|| {
            assert_eq!(all(), 3);
            Threads::alone(|| {
                assert_eq!(all(), 1);
                assert!(Threads::alone(ids).iter().all(|id| *id == thread::current().id()));
                assert_eq!(all(), 1);
            });
            assert_eq!(all(), 3);
            assert!(catch_unwind(|| Threads::alone(|| panic!("once"))).is_err());
            assert_eq!(all(), 3);
        });
    }

    #[test]
    fn results_are_in_order() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
        for count in [0, 1, 2, 1000] {
            let expected: Vec<usize> = (0..count).map(|number| 3 * number).collect();
            let triple = || Threads::current().map(0..count, |number| 3 * number);
            assert_eq!(pool.install(triple), expected);
            assert_eq!(Threads::alone(triple), expected);
        }
    }
}
