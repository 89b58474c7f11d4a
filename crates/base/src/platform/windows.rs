//! Windows. Its files have neither an inode nor permissions in the sense of Unix that the standard library
//! shows.

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::process::{Child, Command, Stdio};

/// Pipes are opened at once there.
pub(super) fn open_at_once(_options: &mut OpenOptions) {}

pub(super) fn identity(_file: &Metadata) -> Option<[u64; 2]> {
    None
}

pub(super) fn change_time(_file: &Metadata) -> Option<[i64; 2]> {
    None
}

pub(super) fn permissions_of_new_files() -> Option<Permissions> {
    None
}

/// The system knows the children of every process.
pub(super) fn in_own_group(_command: &mut Command) {}

pub(super) fn kill_with_children(child: &mut Child) -> io::Result<()> {
    let mut kill = Command::new("taskkill");
    kill.args(["/F", "/T", "/PID", &child.id().to_string()]);
    // It fails if the process has ended meanwhile, or is not there.
    let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    child.kill()
}

pub(super) fn allow_open_files(_wanted: u64) -> Option<u64> {
    None
}

pub(super) fn peak_ram(_process: Option<u32>) -> Option<u64> {
    None
}

#[cfg(feature = "signals")]
pub(super) use signals::{RELOAD, end_by, signals_that_stop, watch};

#[cfg(feature = "signals")]
mod signals {
    use std::io;
    use std::process;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use signal_hook::consts::{SIGBREAK, SIGINT, SIGTERM};
    use signal_hook::flag;

    /// The time between looks at the signals: nothing that is safe tells a thread of one.
    const PAUSE: Duration = Duration::from_millis(20);

    pub(in super::super) const RELOAD: Option<i32> = None;

    /// SIGTERM comes from this process alone.
    pub(in super::super) fn signals_that_stop() -> Vec<(i32, &'static str)> {
        vec![(SIGINT, "Ctrl-C"), (SIGTERM, "SIGTERM"), (SIGBREAK, "Ctrl-Break")]
    }

    pub(in super::super) fn watch(
        signals: &[i32],
    ) -> io::Result<impl FnOnce(&mut dyn FnMut(i32)) + Send + 'static> {
        let flags = signals.iter().map(|&signal| {
            let arrived = Arc::new(AtomicBool::new(false));
            flag::register(signal, Arc::clone(&arrived)).map(|_| (signal, arrived))
        });
        let flags: Vec<_> = flags.collect::<io::Result<_>>()?;
        Ok(move |obey: &mut dyn FnMut(i32)| {
            loop {
                for (signal, arrived) in &flags {
                    if arrived.swap(false, Ordering::SeqCst) {
                        obey(*signal);
                    }
                }
                thread::sleep(PAUSE);
            }
        })
    }

    pub(in super::super) fn end_by(signal: i32) -> ! {
        process::exit(128 + signal)
    }
}
