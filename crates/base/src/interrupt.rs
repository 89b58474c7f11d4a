//! Graceful interruption: the first SIGINT, SIGTERM or SIGHUP (on Windows, Ctrl-C or Ctrl-Break) requests a
//! stop, the second ends the process immediately.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};

thread_local! {
    /// The interrupt of the work on this thread.
    static CURRENT: RefCell<Interrupt> = RefCell::default();
}

/// A stop request that another thread or a signal can make at any time. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// The first signal, or 0.
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Requests a stop as if by signal number `signal`: 2 for SIGINT, 15 for SIGTERM. Only the first request
    /// counts; 0 is not a signal.
    ///
    /// ```
    /// use attentive_base::interrupt::Interrupt;
    ///
    /// let interrupt = Interrupt::none();
    /// let elsewhere = interrupt.clone();
    /// std::thread::spawn(move || elsewhere.request(2)).join().unwrap();
    /// assert_eq!(interrupt.requested(), Some(2));
    /// ```
    pub fn request(&self, signal: u8) {
        let (first, signal) = (0, usize::from(signal));
        // A second request finds another value and changes nothing.
        let _ = self.signal.compare_exchange(first, signal, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Handles the [signals that stop](crate::platform::signals::that_stop), such as SIGINT (Ctrl-C), for the
    /// rest of the process: the first one is reported by [`Interrupt::requested`]; the next one ends the
    /// process immediately with exit code 128 + its number.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses to install a signal handler.
    #[cfg(feature = "signals")]
    pub fn install() -> Result<Self> {
        let interrupt = Self::default();
        let failed = Error::io("handle signals of", "the program");
        crate::platform::signals::request_by_first(&interrupt.signal).map_err(failed)?;
        Ok(interrupt)
    }

    /// Returns an interrupt without signal handlers: only [`Interrupt::request`] requests a stop.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the number of the first signal: 1 for SIGHUP, 2 for SIGINT, 15 for SIGTERM; `None` before any
    /// request.
    pub fn requested(&self) -> Option<i32> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }

    /// Calls `work`. A request ends all translation, evaluation and other inference that it does on this
    /// thread with [`Error::Interrupted`]; training has an interrupt of its own, since it saves before it
    /// stops.
    ///
    /// ```
    /// use attentive_base::interrupt::Interrupt;
    ///
    /// let interrupt = Interrupt::none();
    /// interrupt.request(2);
    /// interrupt.during(|| Interrupt::check().unwrap_err());
    /// assert!(Interrupt::check().is_ok());
    /// ```
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the interrupt of the work around it, even after a panic.
        struct Outer(Interrupt);
        impl Drop for Outer {
            fn drop(&mut self) {
                CURRENT.set(std::mem::take(&mut self.0));
            }
        }
        let _outer = Outer(CURRENT.replace(self.clone()));
        work()
    }

    /// Returns the interrupt of the work on this thread: that of the innermost [`Interrupt::during`], or one
    /// that nothing requests.
    pub fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Ends work that saves nothing if a stop is requested of the [current](Interrupt::current) interrupt.
    ///
    /// # Errors
    /// [`Error::Interrupted`]
    pub fn check() -> Result<()> {
        match Self::current().requested() {
            Some(signal) => Err(Error::Interrupted { signal, saved: "nothing was saved".into() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[cfg(all(unix, feature = "signals"))]
mod tests {
    use std::process::Command;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::low_level::raise;

    use super::Interrupt;
    use crate::platform::signals;

    /// Environment variable with the signals that a test process sends to itself.
    const SIGNALS: &str = "ATTENTIVE_TEST_SIGNALS";

    /// The test that runs as the signaled process.
    const CHILD: &str = "signaled_process";

    fn exit_code_after(signals: &str) -> Option<i32> {
        let (_, module) = module_path!().split_once("::").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", &format!("{module}::{CHILD}"), "--test-threads=1"]).env(SIGNALS, signals);
        child.output().unwrap().status.code()
    }

    /// Does nothing unless started by `exit_code_after`; then exits with the value requested after the last
    /// signal.
    #[test]
    fn signaled_process() {
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
    fn the_first_signal_is_recorded_and_the_process_continues() {
        assert_eq!(exit_code_after(""), Some(0));
        assert_eq!(exit_code_after(&SIGINT.to_string()), Some(2));
        assert_eq!(exit_code_after(&SIGTERM.to_string()), Some(15));
    }

    #[test]
    fn the_second_signal_stops_immediately() {
        assert_eq!(exit_code_after(&format!("{SIGINT} {SIGINT}")), Some(130));
        assert_eq!(exit_code_after(&format!("{SIGINT} {SIGTERM}")), Some(143));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn sighup_requests_a_stop_unless_it_is_ignored() {
        use signal_hook::consts::SIGHUP;
        // Under `nohup`, tests ignore it too.
        let (alone, second) =
            if !signals::that_stop().contains(&SIGHUP) { (0, SIGINT) } else { (1, 128 + SIGHUP) };
        assert_eq!(exit_code_after(&SIGHUP.to_string()), Some(alone));
        assert_eq!(exit_code_after(&format!("{SIGINT} {SIGHUP}")), Some(second));
    }

    #[test]
    fn work_has_the_innermost_interrupt_even_after_a_panic() {
        let [outer, inner] = [Interrupt::none(), Interrupt::none()];
        inner.request(15);
        outer.during(|| {
            assert!(Interrupt::check().is_ok());
            let stopped = inner.during(|| Interrupt::check().unwrap_err());
            assert_eq!(stopped.exit_code(), 143);
            let panicking = || inner.during(|| panic!("on purpose"));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).unwrap_err();
            assert!(Interrupt::check().is_ok());
        });
        outer.request(2);
        assert!(Interrupt::check().is_ok());
    }

    #[test]
    fn an_interrupt_without_handlers_never_fires() {
        assert_eq!(Interrupt::none().requested(), None);
    }
}
