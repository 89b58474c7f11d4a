//! The number of compute threads.

use std::num::NonZeroUsize;
use std::thread;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_processes::n_on_this_machine;
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use super::message;

/// The maximum number of threads, unless the machine has more CPUs.
const MOST: usize = 64;

/// Sets up the thread pool that all kernels share. Without a choice, the processes on this machine share its CPUs. Returns the
/// choice, limited to the maximum.
pub(super) fn choose(choice: Option<NonZeroUsize>) -> Result<Option<NonZeroUsize>> {
    let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let asked = match (choice, n_on_this_machine()) {
        (None, 1) => return Ok(None),
        (Some(asked), _) => asked,
        // Launchers often give each process CPUs of its own.
        (None, n) => {
            let some = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
            let all = System::new_with_specifics(some).map_or(cpus, |system| system.cpus().len());
            NonZeroUsize::new(cpus.min(all / n)).unwrap_or(NonZeroUsize::MIN)
        }
    };
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
        .map(|()| choice.and(NonZeroUsize::new(threads)))
        .map_err(|error| {
            Error::usage(
                format!("`--threads {threads}`: {error}"),
                "use fewer threads",
            )
        })
}
