//! Linux, macOS and other Unixes.

use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};

pub(super) fn open_at_once(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NONBLOCK);
}

pub(super) fn identity(file: &Metadata) -> Option<[u64; 2]> {
    Some([file.dev(), file.ino()])
}

pub(super) fn change_time(file: &Metadata) -> Option<[i64; 2]> {
    Some([file.ctime(), file.ctime_nsec()])
}

pub(super) fn permissions_of_new_files() -> Option<Permissions> {
    Some(Permissions::from_mode(0o666))
}

/// The standard library knows it.
pub(super) fn has_no_reader(_error: &io::Error) -> bool {
    false
}

pub(super) fn in_own_group(command: &mut Command) {
    command.process_group(0);
}

pub(super) fn kill_with_children(child: &mut Child) -> io::Result<()> {
    Ok(kill_process_group(Pid::from_child(child), Signal::KILL)?)
}

pub(super) fn allow_open_files(wanted: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current? < wanted {
        let raised = Rlimit { current: Some(maximum.map_or(wanted, |maximum| maximum.min(wanted))), maximum };
        // The limit is read below.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    getrlimit(Resource::Nofile).current
}

/// Linux alone has the file.
pub(super) fn peak_ram(process: Option<u32>) -> Option<u64> {
    let process = process.map_or_else(|| "self".to_owned(), |id| id.to_string());
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(feature = "signals")]
pub(super) use signals::{RELOAD, end_by, request_by_first, signals_that_stop, watch};

#[cfg(feature = "signals")]
mod signals {
    use std::io;
    use std::process;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    pub(in super::super) const RELOAD: Option<i32> = Some(SIGHUP);

    pub(in super::super) fn signals_that_stop() -> Vec<i32> {
        let mut signals = vec![SIGINT, SIGTERM];
        if cfg!(target_os = "linux") && !is_ignored(SIGHUP) {
            signals.push(SIGHUP);
        }
        signals
    }

    /// True if this process was started with `signal` ignored, or if that cannot be determined.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status
            .lines()
            .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
    }

    pub(in super::super) fn request_by_first(first: &Arc<AtomicUsize>) -> io::Result<()> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in signals_that_stop() {
            // Actions run in the order of their registration, so the first signal still finds `asked` unset.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            flag::register_usize(signal, Arc::clone(first), signal as usize)?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(())
    }

    pub(in super::super) fn watch(
        signals: &[i32],
    ) -> io::Result<impl FnOnce(&mut dyn FnMut(i32)) + Send + 'static> {
        let mut signals = Signals::new(signals)?;
        Ok(move |obey: &mut dyn FnMut(i32)| signals.forever().for_each(obey))
    }

    pub(in super::super) fn end_by(signal: i32) -> ! {
        let _ = emulate_default_handler(signal);
        process::exit(128 + signal)
    }
}
