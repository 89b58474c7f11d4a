//! A checksum that another thread computes while a file is read.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use attentive_kernels::mapped::{IfLost, Mapped};
use sha2::{Digest, Sha256};

/// Bytes that are mapped and hashed at a time.
const PART: usize = 4 << 20;

/// The SHA-256 of a file, which has been begun. Dropping it ends the work.
#[derive(Debug)]
pub(super) struct Checksum {
    /// `None` once it has ended.
    thread: Option<JoinHandle<io::Result<Sha256>>>,
    is_needed: Arc<AtomicBool>,
}

impl Checksum {
    /// Begins to add the bytes `range` of `file`, which was opened at `path`, to `hash`. What cannot be read
    /// any more counts as zeros, so that the checksum is wrong.
    ///
    /// # Errors
    /// A file that cannot be shared with a thread, or no more threads.
    pub(super) fn start(file: &File, path: &Path, range: Range<u64>, mut hash: Sha256) -> io::Result<Self> {
        let (file, path) = (file.try_clone()?, path.to_path_buf());
        let is_needed = Arc::new(AtomicBool::new(true));
        let still_needed = is_needed.clone();
        let work = move || {
            for start in range.clone().step_by(PART) {
                if !still_needed.load(Ordering::Relaxed) {
                    break;
                }
                let end = range.end.min(start + PART as u64);
                hash.update(&*Mapped::part(&file, &path, start..end, IfLost::Zeros)?);
            }
            Ok(hash)
        };
        let thread = thread::Builder::new().name("checksum".into()).spawn(work)?;
        Ok(Self { thread: Some(thread), is_needed })
    }

    /// The hash with these bytes.
    ///
    /// # Errors
    /// A file that cannot be mapped.
    pub(super) fn wait(mut self) -> io::Result<Sha256> {
        let thread = self.thread.take().expect("it is taken only here and when dropped");
        let done = thread.join();
        done.unwrap_or_else(|problem| panic::resume_unwind(problem))
    }
}

impl Drop for Checksum {
    fn drop(&mut self) {
        self.is_needed.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What happened in it no longer matters.
            let _ = thread.join();
        }
    }
}
