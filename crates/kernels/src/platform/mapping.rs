//! Files in memory.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};

/// The bytes of a file, or of a part of it. Those of a whole file are aligned to 64.
#[derive(Debug)]
pub(crate) struct Mapping(Bytes);

#[cfg(not(target_family = "wasm"))]
type Bytes = memmap2::Mmap;

#[cfg(target_family = "wasm")]
type Bytes = Copied;

impl Mapping {
    /// Maps the bytes `range` of `file`, or all; copies them where files cannot be mapped.
    ///
    /// # Safety
    /// No other process changes the file, or its readers check what they have read.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) unsafe fn of(file: &File, range: Option<Range<u64>>) -> io::Result<Self> {
        let mut options = memmap2::MmapOptions::new();
        if let Some(range) = range {
            options.offset(range.start).len(len_of(&range)?);
        }
        // SAFETY: the caller upholds the contract.
        unsafe { options.map(file) }.map(Self)
    }

    /// See above.
    #[cfg(target_family = "wasm")]
    pub(crate) unsafe fn of(file: &File, range: Option<Range<u64>>) -> io::Result<Self> {
        let range = range.map_or_else(|| file.metadata().map(|found| 0..found.len()), Ok)?;
        Copied::of(file, range).map(Self)
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

fn len_of(range: &Range<u64>) -> io::Result<usize> {
    usize::try_from(range.end - range.start).map_err(io::Error::other)
}

/// A copy of bytes of a file.
#[cfg(target_family = "wasm")]
#[derive(Debug)]
struct Copied {
    lines: Vec<CacheLine>,
    len: usize,
}

#[cfg(target_family = "wasm")]
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct CacheLine(#[allow(dead_code)] [u8; 64]);

#[cfg(target_family = "wasm")]
impl Copied {
    fn of(mut file: &File, range: Range<u64>) -> io::Result<Self> {
        use std::io::{Read, Seek, SeekFrom};
        let len = len_of(&range)?;
        let mut lines = vec![CacheLine([0; 64]); len.div_ceil(64)];
        // SAFETY: lines are bytes without padding.
        let bytes = unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), len) };
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(bytes)?;
        Ok(Self { lines, len })
    }
}

#[cfg(target_family = "wasm")]
impl Deref for Copied {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: lines are bytes without padding, and there are at least as many.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}
