//! Windows. Its files have neither an inode nor permissions in the sense of Unix that the standard library
//! shows.

use std::io;
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};

pub(super) use super::not_unix::*;

pub(super) fn has_no_reader(error: &io::Error) -> bool {
    const ERROR_PIPE_NOT_CONNECTED: i32 = 233;
    error.raw_os_error() == Some(ERROR_PIPE_NOT_CONNECTED)
}

/// Windows knows the children of every process; in a group of its own, a process is not told of Ctrl-C.
pub(super) fn in_own_group(command: &mut Command) {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

pub(super) fn kill_with_children(child: &mut Child) -> io::Result<()> {
    let mut kill = Command::new("taskkill");
    kill.args(["/F", "/T", "/PID", &child.id().to_string()]);
    // It fails if the process has ended meanwhile, or is not there.
    let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    child.kill()
}

#[cfg(feature = "signals")]
pub(super) use signals::{RELOAD, end_by, request_by_first, signals_that_stop, watch};

#[cfg(feature = "signals")]
mod signals {
    use std::io;
    use std::process;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};
    use std::thread;

    /// Ctrl-C and Ctrl-Break. The end of a console or a session counts, too, but Windows waits for nobody then.
    const SIGINT: i32 = 2;

    pub(in super::super) const RELOAD: Option<i32> = None;

    pub(in super::super) fn signals_that_stop() -> Vec<i32> {
        vec![SIGINT]
    }

    pub(in super::super) fn request_by_first(first: &Arc<AtomicUsize>) -> io::Result<()> {
        let (first, arrivals) = (Arc::clone(first), arrivals()?);
        let wait = move || {
            for () in arrivals {
                if first.swap(SIGINT as usize, Ordering::SeqCst) != 0 {
                    process::exit(128 + SIGINT);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
    }

    pub(in super::super) fn watch(
        _signals: &[i32],
    ) -> io::Result<impl FnOnce(&mut dyn FnMut(i32)) + Send + 'static> {
        let arrivals = arrivals()?;
        Ok(move |obey: &mut dyn FnMut(i32)| arrivals.into_iter().for_each(|()| obey(SIGINT)))
    }

    pub(in super::super) fn end_by(signal: i32) -> ! {
        process::exit(128 + signal)
    }

    /// Each Ctrl-C from now on. All who wait for it are told.
    fn arrivals() -> io::Result<Receiver<()>> {
        static WAITING: Mutex<Vec<Sender<()>>> = Mutex::new(Vec::new());
        static HANDLED: OnceLock<Result<(), String>> = OnceLock::new();

        let tell = || {
            let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            for sender in waiting.iter() {
                // Who does not wait any more need not know.
                let _ = sender.send(());
            }
        };
        let (sender, receiver) = channel();
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        let handle = || ctrlc::set_handler(tell).map_err(|error| error.to_string());
        HANDLED.get_or_init(handle).clone().map_err(io::Error::other)?;
        Ok(receiver)
    }
}
