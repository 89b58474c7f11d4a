//! Removal of temporary files when a signal ends the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use attentive_base::interrupt;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// Removes `path`, if it still exists, when SIGINT, SIGTERM or SIGHUP ends the program.
pub(super) fn on_signal(path: &Path) {
    files().push(path.to_path_buf());
    WATCH.call_once(|| {
        let signals = interrupt::signals().into_iter().map(|(signal, _)| signal);
        // Without a handler, the signal has its usual effect.
        if let Ok(signals) = Signals::new(signals) {
            thread::spawn(|| end(signals));
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
