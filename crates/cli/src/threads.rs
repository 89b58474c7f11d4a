//! The number of compute threads.

use std::num::NonZeroUsize;
use std::thread;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_kernels::threads::Threads;
use attentive_processes::n_on_this_machine;
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use super::message;

/// The maximum number of threads, unless the machine has more CPUs.
const MAX_THREADS: NonZeroUsize = NonZeroUsize::new(64).expect("not 0");

/// The number of threads that the environment sets.
fn default_count() -> Option<NonZeroUsize> {
    std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok()
}

/// Starts the threads of all work, including this one if all work is called from it (`from_this_one`).
/// Without a choice, the processes on this machine share its CPUs. Returns the choice, limited to the
/// maximum.
pub(super) fn choose(choice: Option<NonZeroUsize>, from_this_one: bool) -> Result<Option<NonZeroUsize>> {
    let cpus = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let asked = match (choice, n_on_this_machine()) {
        (None, 1) if !from_this_one => return Ok(None),
        (None, 1) => default_count().unwrap_or(cpus),
        (Some(asked), _) => asked,
        // Launchers often give each process CPUs of its own.
        (None, n) => {
            let some = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
            let all = System::new_with_specifics(some);
            let all = all.map_or(cpus.get(), |system| system.cpus().len());
            NonZeroUsize::new(all / n).map_or(NonZeroUsize::MIN, |share| share.min(cpus))
        }
    };
    let threads = asked.min(cpus.max(MAX_THREADS));
    if threads < asked {
        message::warning(format_args!(
            "`--threads {asked}`: using {threads} threads, the most allowed on a machine with {}",
            count(cpus.get(), "CPU")
        ));
    }
    let refused = |error| {
        let problem = format!("cannot start {}: {error}", count(threads.get(), "thread"));
        Error::usage(problem, "use fewer threads: `--threads 1`, for example")
    };
    let started = if from_this_one { Threads::start_with_caller(threads) } else { Threads::start(threads) };
    started.map_err(refused)?;
    Ok(choice.and(Some(threads)))
}
