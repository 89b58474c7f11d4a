//! A checksum that another thread computes while a file is read.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::panic;
use std::thread::{self, JoinHandle};

use attentive_kernels::mapped::Mapped;
use sha2::{Digest, Sha256};

/// Bytes that are mapped and hashed at a time.
const PART: usize = 4 << 20;

/// The SHA-256 of a file, which has been begun.
#[derive(Debug)]
pub(super) struct Checksum(JoinHandle<io::Result<Sha256>>);

impl Checksum {
    /// Begins to add the bytes `place` of `file` to `hash`.
    ///
    /// # Errors
    /// A file that cannot be shared with a thread, or no more threads.
    pub(super) fn start(file: &File, place: Range<u64>, mut hash: Sha256) -> io::Result<Self> {
        let file = file.try_clone()?;
        let work = move || {
            for start in place.clone().step_by(PART) {
                let end = place.end.min(start + PART as u64);
                hash.update(&*Mapped::part(&file, start..end)?);
            }
            Ok(hash)
        };
        thread::Builder::new()
            .name("checksum".into())
            .spawn(work)
            .map(Self)
    }

    /// The hash with these bytes.
    ///
    /// # Errors
    /// A file that cannot be mapped.
    pub(super) fn wait(self) -> io::Result<Sha256> {
        let done = self.0.join();
        done.unwrap_or_else(|problem| panic::resume_unwind(problem))
    }
}
