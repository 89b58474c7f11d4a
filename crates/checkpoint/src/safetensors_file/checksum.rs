//! A checksum that another thread computes while a file is read.

use std::fs::File;
use std::io;
use std::mem;
use std::ops::Range;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use attentive_base::platform::HAS_THREADS;
use attentive_kernels::mapped::{IfLost, Mapped};
use sha2::{Digest, Sha256};

/// Bytes that are mapped and hashed at a time.
const PART: usize = 4 << 20;

/// The SHA-256 of a file, which has been begun. Dropping it ends the work.
#[derive(Debug)]
pub(super) struct Checksum {
    work: Work,
    is_needed: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Work {
    Begun(JoinHandle<io::Result<Sha256>>),
    Done(io::Result<Sha256>),
    Taken,
}

impl Checksum {
    /// Begins to add the bytes `range` of `file`, which was opened at `path`, to `hash`. What cannot be read
    /// any more counts as zeros, so that the checksum is wrong.
    ///
    /// # Errors
    /// A file that cannot be shared with a thread, or no more threads.
    pub(super) fn start(file: &File, path: &Path, range: Range<u64>, hash: Sha256) -> io::Result<Self> {
        let is_needed = Arc::new(AtomicBool::new(true));
        if !HAS_THREADS {
            let work = Work::Done(with_bytes(hash, file, path, range, &is_needed));
            return Ok(Self { work, is_needed });
        }
        let (file, path, still_needed) = (file.try_clone()?, path.to_path_buf(), is_needed.clone());
        let work = move || with_bytes(hash, &file, &path, range, &still_needed);
        let thread = thread::Builder::new().name("checksum".into()).spawn(work)?;
        Ok(Self { work: Work::Begun(thread), is_needed })
    }

    /// The hash with these bytes.
    ///
    /// # Errors
    /// A file that cannot be mapped.
    pub(super) fn wait(mut self) -> io::Result<Sha256> {
        match mem::replace(&mut self.work, Work::Taken) {
            Work::Begun(thread) => thread.join().unwrap_or_else(|problem| panic::resume_unwind(problem)),
            Work::Done(hash) => hash,
            Work::Taken => unreachable!("the work is taken only here and when it is dropped"),
        }
    }
}

/// `hash` with the bytes `range` of `file`, or with some of them if they are no longer needed.
fn with_bytes(
    mut hash: Sha256,
    file: &File,
    path: &Path,
    range: Range<u64>,
    is_needed: &AtomicBool,
) -> io::Result<Sha256> {
    for start in range.clone().step_by(PART) {
        if !is_needed.load(Ordering::Relaxed) {
            break;
        }
        let end = range.end.min(start + PART as u64);
        hash.update(&*Mapped::part(file, path, start..end, IfLost::Zeros)?);
    }
    Ok(hash)
}

impl Drop for Checksum {
    fn drop(&mut self) {
        self.is_needed.store(false, Ordering::Relaxed);
        if let Work::Begun(thread) = mem::replace(&mut self.work, Work::Taken) {
            // What happened in it no longer matters.
            let _ = thread.join();
        }
    }
}
