//! Removal of temporary files when a signal ends the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use attentive_base::error::Error;
use attentive_base::essential::essential;
use attentive_base::interrupt;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::message;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// Removes `path`, if it still exists, when SIGINT, SIGTERM or SIGHUP ends the program.
pub(super) fn on_signal(path: &Path) {
    files().push(path.to_path_buf());
    WATCH.call_once(|| {
        let signals = interrupt::signals().into_iter().map(|(signal, _)| signal);
        // Without a handler, the signal has its usual effect.
        if let Ok(signals) = Signals::new(signals)
            && let Err(error) = essential("cleanup", || end(signals))
        {
            // From now on, no signal would end the program.
            message::error(&Error::io("start a thread of", "the program")(error));
            process::exit(1);
        }
    });
}

fn end(mut signals: Signals) {
    for signal in signals.forever() {
        for file in files().iter() {
            // The file has been renamed if the output was complete.
            let _ = fs::remove_file(file);
        }
        let _ = emulate_default_handler(signal);
    }
}

fn files() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
