//! The number of compute threads.

use std::num::NonZeroUsize;
use std::thread;

use attentive::count::count;
use attentive::error::{Error, Result};

use super::message;

/// The maximum number of threads, unless the machine has more CPUs.
const MOST: usize = 64;

/// Sets up the thread pool that all kernels share.
pub(super) fn choose(threads: Option<NonZeroUsize>) -> Result<()> {
    let Some(asked) = threads else {
        return Ok(());
    };
    let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let most = cpus.max(MOST);
    let threads = asked.get().min(most);
    if threads < asked.get() {
        message::warning(format_args!(
            "`--threads {asked}`: using {threads} threads, the most allowed on a machine with {}",
            count(cpus, "CPU")
        ));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| {
            Error::usage(
                format!("`--threads {threads}`: {error}"),
                "use fewer threads",
            )
        })
}
