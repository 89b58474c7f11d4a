//! The threads that compute.

use std::collections::HashMap;
use std::mem;
use std::process;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;

use attentive::error::{Error, Result};
use attentive_kernels::team;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A number of threads; results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadCount(usize);

/// The pools of a process, by their numbers of threads. All models share them.
#[derive(Default)]
struct Pools {
    process: u32,
    by_size: HashMap<usize, Arc<ThreadPool>>,
}

static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Mutex::default);

impl ThreadCount {
    /// `choice`, or one thread for each CPU that this process may use.
    ///
    /// # Errors
    /// [`Error::Usage`] for no thread.
    pub(crate) fn new(choice: Option<usize>) -> Result<Self> {
        let cpus = || thread::available_parallelism().map_or(1, usize::from);
        match choice.unwrap_or_else(cpus) {
            0 => Err(Error::usage("no model works with 0 threads", "use at least 1")),
            count => Ok(Self(count)),
        }
    }

    pub(crate) fn count(self) -> usize {
        self.0
    }

    /// The pool of these threads. A process that was forked has none of the threads of its parent, and gets
    /// others.
    pub(crate) fn pool(self) -> Result<Arc<ThreadPool>> {
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        if pools.process != process::id() {
            if pools.process != 0 {
                team::disband();
            }
            // Nobody would answer if the parent's threads were told to end.
            mem::forget(mem::take(&mut pools.by_size));
            pools.process = process::id();
        }
        if let Some(pool) = pools.by_size.get(&self.0) {
            return Ok(Arc::clone(pool));
        }
        let pool = Arc::new(self.own()?);
        pools.by_size.insert(self.0, Arc::clone(&pool));
        Ok(pool)
    }

    /// A pool of as many threads that does no other work.
    pub(crate) fn own(self) -> Result<ThreadPool> {
        let builder = ThreadPoolBuilder::new().num_threads(self.0);
        builder.build().map_err(|error| {
            let problem = format!("{} threads cannot be started: {error}", self.0);
            Error::usage(problem, "use fewer")
        })
    }
}
