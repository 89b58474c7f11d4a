//! The environment that the launcher of an MPI program gives its processes.

use std::env;
use std::time::Duration;

use attentive_base::error::{Error, Result};

use super::Processes;

/// Variables that launchers set: Open MPI's `mpirun`, MPICH and its relatives, and launchers that use PMIx,
/// such as `srun --mpi=pmix`.
const LAUNCHERS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"];
/// Variables with the number of processes on this machine: Open MPI, MPICH, Slurm.
const ON_THIS_MACHINE: [&str; 3] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"];

/// True if an MPI launcher started this process.
pub(super) fn is_present() -> bool {
    LAUNCHERS.iter().any(|name| env::var_os(name).is_some())
}

/// Returns the number of processes that the launcher started on this machine; 1 without a launcher or if the
/// number is unknown.
pub fn n_on_this_machine() -> usize {
    if is_present() { number(&ON_THIS_MACHINE).unwrap_or(1) } else { 1 }
}

#[cfg(feature = "mpi")]
pub(super) fn connect(timeout: Duration, lost: fn(&Error)) -> Result<Processes> {
    let (mpi, host) = super::mpi::Mpi::start()?;
    Ok(Processes::connected(mpi, host, timeout, lost))
}

/// Without MPI, nothing connects processes, so there may be only one.
#[cfg(not(feature = "mpi"))]
pub(super) fn connect(_timeout: Duration, _lost: fn(&Error)) -> Result<Processes> {
    let n = number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"]);
    match n.unwrap_or(1) {
        0 | 1 => Ok(Processes::alone()),
        n => Err(Error::usage(
            format!("this is one of {n} processes, but the program was built without MPI"),
            "build it with the Cargo feature `mpi`, or start one process",
        )),
    }
}

fn number(names: &[&str]) -> Option<usize> {
    let mut values = names.iter().filter_map(|name| env::var(name).ok());
    values.find_map(|value| value.parse().ok())
}
