//! Stopping on request: the first SIGINT, SIGTERM or SIGHUP asks, the second stops at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A request to stop that another thread or a signal may make at any time. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// The signal that came first, 0 before any.
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Asks to stop, as signal number `signal` would: 2 for SIGINT, 15 for SIGTERM. Only the first request counts; 0 is
    /// no signal.
    ///
    /// ```
    /// use attentive::interrupt::Interrupt;
    ///
    /// let interrupt = Interrupt::none();
    /// let elsewhere = interrupt.clone();
    /// std::thread::spawn(move || elsewhere.request(2)).join().unwrap();
    /// assert_eq!(interrupt.requested(), Some(2));
    /// ```
    pub fn request(&self, signal: u8) {
        let (first, signal) = (0, usize::from(signal));
        // A request that comes second finds another value, and changes nothing.
        let _ = self
            .signal
            .compare_exchange(first, signal, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Takes over SIGINT (Ctrl-C), SIGTERM, and on Linux SIGHUP (the terminal was closed), for the rest of the process:
    /// the first of them is noted for [`Interrupt::requested`], the next ends the process at once with exit code 128 + its
    /// number. A SIGHUP that is ignored, as under `nohup`, stays ignored.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system does not let us handle a signal.
    #[cfg(feature = "cli")]
    pub fn install() -> crate::error::Result<Self> {
        use std::sync::atomic::AtomicBool;

        use signal_hook::flag;

        use crate::error::Error;

        let interrupt = Self::default();
        let asked = Arc::new(AtomicBool::new(false));
        for (signal, name) in signals() {
            // Actions run in the order of their registration, so the first signal finds `asked` still unset.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))
                .and_then(|_| {
                    flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize)
                })
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(Error::io("handle the signal", name))?;
        }
        Ok(interrupt)
    }

    /// One that no signal reaches: only [`Interrupt::request`] asks.
    pub fn none() -> Self {
        Self::default()
    }

    /// The number of the signal that asked to stop, once one has: 1 for SIGHUP, 2 for SIGINT, 15 for SIGTERM.
    pub fn requested(&self) -> Option<i32> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// The signals that ask to stop, and their names.
#[cfg(feature = "cli")]
fn signals() -> Vec<(i32, &'static str)> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let mut signals = vec![(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")];
    #[cfg(target_os = "linux")]
    {
        use signal_hook::consts::SIGHUP;
        if !is_ignored(SIGHUP) {
            signals.push((SIGHUP, "SIGHUP"));
        }
    }
    signals
}

/// True if this process was started with `signal` ignored, or if that cannot be found out.
#[cfg(all(target_os = "linux", feature = "cli"))]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
#[cfg(all(unix, feature = "cli"))]
mod tests {
    use std::process::Command;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::low_level::raise;

    use super::Interrupt;

    /// Set, to the signals to raise, in a test process that is to signal itself.
    const SIGNALS: &str = "ATTENTIVE_TEST_SIGNALS";

    /// The test that plays the signalled process.
    const CHILD: &str = "signalled_process";

    fn exit_code_after(signals: &str) -> Option<i32> {
        let (_, module) = module_path!().split_once("::").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", &format!("{module}::{CHILD}"), "--test-threads=1"])
            .env(SIGNALS, signals);
        child.output().unwrap().status.code()
    }

    /// Does nothing unless `exit_code_after` started it; then exits with what was requested after the last signal.
    #[test]
    fn signalled_process() {
        let Ok(signals) = std::env::var(SIGNALS) else {
            return;
        };
        let interrupt = Interrupt::install().unwrap();
        assert_eq!(interrupt.requested(), None);
        for signal in signals.split_whitespace() {
            raise(signal.parse().unwrap()).unwrap();
        }
        std::process::exit(interrupt.requested().unwrap_or(0));
    }

    #[test]
    fn the_first_signal_is_noted_and_the_process_goes_on() {
        assert_eq!(exit_code_after(""), Some(0));
        assert_eq!(exit_code_after(&SIGINT.to_string()), Some(2));
        assert_eq!(exit_code_after(&SIGTERM.to_string()), Some(15));
    }

    #[test]
    fn the_second_signal_stops_at_once() {
        assert_eq!(exit_code_after(&format!("{SIGINT} {SIGINT}")), Some(130));
        assert_eq!(exit_code_after(&format!("{SIGINT} {SIGTERM}")), Some(143));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_closed_terminal_is_a_request_too() {
        use signal_hook::consts::SIGHUP;
        assert_eq!(exit_code_after(&SIGHUP.to_string()), Some(1));
        assert_eq!(exit_code_after(&format!("{SIGINT} {SIGHUP}")), Some(129));
    }

    #[test]
    fn none_never_fires() {
        assert_eq!(Interrupt::none().requested(), None);
    }
}
