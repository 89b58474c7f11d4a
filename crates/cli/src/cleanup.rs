//! Removal of temporary files when a signal ends the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use attentive_base::error::Error;
use attentive_base::essential::essential;
use attentive_base::platform::signals;

use super::message;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// Removes `path`, if it still exists, when a signal such as Ctrl-C ends the program.
pub(super) fn on_signal(path: &Path) {
    files().push(path.to_path_buf());
    WATCH.call_once(|| {
        // Without a handler, the signal has its usual effect.
        if let Ok(watch) = signals::watch(&signals::that_stop())
            && let Err(error) = essential("cleanup", || watch(&mut end))
        {
            // From now on, no signal would end the program.
            message::error(&Error::io("start a thread of", "the program")(error));
            process::exit(1);
        }
    });
}

fn end(signal: i32) {
    for file in files().iter() {
        // The file has been renamed if the output was complete.
        let _ = fs::remove_file(file);
    }
    signals::end_by(signal)
}

fn files() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
