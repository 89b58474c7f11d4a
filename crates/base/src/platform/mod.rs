//! What depends on the operating system. That which needs `unsafe` stands in the module of the same name in
//! `attentive-kernels`.

#[cfg(not(unix))]
mod not_unix;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(any(unix, windows)), path = "other.rs")]
mod system;

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::process::{Child, Command};

/// True where a process can start threads. Web pages cannot.
pub const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// Lets `options` open a pipe at once, without waiting for its writer.
pub fn open_at_once(options: &mut OpenOptions) {
    system::open_at_once(options);
}

/// Returns the device and the inode of a file, which tell it from the others; `None` where the system has
/// none.
pub fn identity(file: &Metadata) -> Option<[u64; 2]> {
    system::identity(file)
}

/// Returns when a file, or its name or permissions, changed last, in seconds and nanoseconds; `None` where the
/// system does not tell.
pub fn change_time(file: &Metadata) -> Option<[i64; 2]> {
    system::change_time(file)
}

/// Returns the permissions of a new file that any program may read, before the system reduces them to what
/// the user wants; `None` where there are no such permissions.
pub fn permissions_of_new_files() -> Option<Permissions> {
    system::permissions_of_new_files()
}

/// Returns true if `error` means that the reader of a pipe has closed it.
pub fn has_no_reader(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || system::has_no_reader(error)
}

/// Lets [`kill_with_children`] end the processes that `command` will start, too, and no Ctrl-C in a terminal
/// reach them.
pub fn in_own_group(command: &mut Command) {
    system::in_own_group(command);
}

/// Ends a process that was started [`in_own_group`], and those that it has started.
///
/// # Errors
/// Those of the system.
pub fn kill_with_children(child: &mut Child) -> io::Result<()> {
    system::kill_with_children(child)
}

/// Asks the system for `wanted` open files of this process, and returns how many it allows; `None` where there
/// is no limit.
pub fn allow_open_files(wanted: u64) -> Option<u64> {
    system::allow_open_files(wanted)
}

/// Returns the most RAM, in bytes, that a process has taken so far, this one by default; `None` where the
/// system does not tell.
pub fn peak_ram(process: Option<u32>) -> Option<u64> {
    system::peak_ram(process)
}

/// Signals of the system. Windows has Ctrl-C and Ctrl-Break, both of which are SIGINT here.
#[cfg(feature = "signals")]
pub mod signals {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::system;

    /// The signal that asks a server to read its files again, where there is one: SIGHUP.
    pub const RELOAD: Option<i32> = system::RELOAD;

    /// Returns the signals that ask a process to stop. On Linux, SIGHUP is one of them unless
    /// it is ignored, as under `nohup`.
    pub fn that_stop() -> Vec<i32> {
        system::signals_that_stop()
    }

    /// Lets the first of the [signals that stop](that_stop) write its number to `first`, for the rest of the
    /// process; the next one ends the process at once with exit code 128 + its number.
    ///
    /// # Errors
    /// The system refuses to install a handler.
    pub fn request_by_first(first: &Arc<AtomicUsize>) -> io::Result<()> {
        system::request_by_first(first)
    }

    /// Handles `signals` from now on. What this returns calls `obey` with each of them that arrives, and never
    /// returns.
    ///
    /// # Errors
    /// The system refuses to install a handler.
    pub fn watch(signals: &[i32]) -> io::Result<impl FnOnce(&mut dyn FnMut(i32)) + Send + 'static> {
        system::watch(signals)
    }

    /// Ends this process as `signal` would without a handler.
    pub fn end_by(signal: i32) -> ! {
        system::end_by(signal)
    }
}
