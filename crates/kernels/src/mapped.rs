//! Files mapped into memory.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};

use memmap2::{Mmap, MmapOptions};

/// The bytes of a file, read by the operating system when they are first used and shared by all processes that map it.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps `file`, which no process may change or truncate while it is mapped. Replacing it by another file of the same name is
    /// safe.
    ///
    /// # Errors
    /// A file that cannot be mapped, such as a pipe.
    pub fn open(file: &File) -> io::Result<Self> {
        // SAFETY: bytes of any value are valid. A model directory only ever replaces its files, and users must not change them,
        // which the documentation says.
        unsafe { Mmap::map(file) }.map(Self)
    }

    /// [`Mapped::open`] for the bytes `place` of the file.
    ///
    /// # Errors
    /// See [`Mapped::open`].
    pub fn part(file: &File, place: Range<u64>) -> io::Result<Self> {
        let len = usize::try_from(place.end - place.start).map_err(io::Error::other)?;
        // SAFETY: see above.
        unsafe { MmapOptions::new().offset(place.start).len(len).map(file) }.map(Self)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
