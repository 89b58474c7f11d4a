//! Readers that fail when one record takes too many bytes.

use std::io::{self, Read};

use crate::reading::interruptible_file::InterruptibleFile;
use crate::reading::lines::MAX_RECORD_BYTES;
use crate::reading::source_file::{Hashed, SourceFile, Unpacked};

use std::path::{Path, PathBuf};

/// Reads a file of records, which is decompressed if need be. A record of more than [`MAX_RECORD_BYTES`] is
/// an error, so that a reader that keeps one record in RAM stays within that.
#[derive(Debug)]
pub(crate) struct BoundedReader {
    inner: Unpacked<Hashed<InterruptibleFile>>,
    /// The number of bytes that the current record may still have.
    left: usize,
    /// Whether the number of quotation marks so far is odd.
    is_quoting: bool,
}

impl BoundedReader {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let inner = Unpacked::new(Hashed::new(InterruptibleFile::open(path)?));
        Ok(Self { inner, left: MAX_RECORD_BYTES, is_quoting: false })
    }

    /// Begins a record.
    pub(crate) fn begin(&mut self) {
        self.left = MAX_RECORD_BYTES;
    }

    /// True if a quotation mark of what has been read has no counterpart.
    pub(crate) fn is_quoting(&self) -> bool {
        self.is_quoting
    }

    /// The identity of the file, once all of it has been read.
    pub(crate) fn finish(self, path: PathBuf) -> Option<SourceFile> {
        Some(self.inner.into_inner()?.finish(path))
    }
}

impl Read for BoundedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read).ok_or_else(|| {
            io::Error::other(format!("a record has more than {} MiB", MAX_RECORD_BYTES >> 20))
        })?;
        self.is_quoting ^= buffer[..read].iter().filter(|&&byte| byte == b'"').count() % 2 == 1;
        Ok(read)
    }
}
