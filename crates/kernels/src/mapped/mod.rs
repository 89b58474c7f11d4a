//! Files mapped into memory.
//!
//! A file that is truncated while it is mapped loses pages; touching one of them raises SIGBUS, which would
//! end the process without a word. A file that is overwritten in place changes under its readers.
//! [`Mapped::check`] tells both.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use attentive_base::platform;

use crate::platform::{Mapping, MappingGuard};

/// What happens if a part of the file cannot be read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfLost {
    /// The process ends with a message that names the file.
    End,
    /// The part reads as zeros, and [`Mapped::check`] fails from then on. For readers that call it before
    /// they rely on what they have read.
    Zeros,
}

/// The bytes of a file, read by the operating system when they are first used and shared by all processes
/// that map it.
#[derive(Debug)]
pub struct Mapped {
    /// Dropped before the map, so that its address is known as long as it is mapped.
    guard: MappingGuard,
    map: Mapping,
    path: PathBuf,
    /// The file when it was last known to be unchanged.
    state: Mutex<Option<FileState>>,
}

/// What tells whether a file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    len: u64,
    modified: Option<SystemTime>,
    identity: Option<[u64; 2]>,
}

impl Mapped {
    /// Maps `file`, which was opened at `path`. No process should change or truncate it while it is mapped;
    /// replacing it by another file of the same name is safe.
    ///
    /// # Errors
    /// A file that cannot be mapped, such as a pipe.
    pub fn open(file: &File, path: &Path, if_lost: IfLost) -> io::Result<Self> {
        // SAFETY: bytes of any value are valid, and lost pages are handled by `MappingGuard`. A model
        // directory only ever replaces its files, and users must not change them, which the documentation
        // says.
        let map = unsafe { Mapping::of(file, None) }?;
        Self::guarded(map, file, path, if_lost)
    }

    /// [`Mapped::open`] for the bytes `range` of the file.
    ///
    /// # Errors
    /// See [`Mapped::open`].
    pub fn part(file: &File, path: &Path, range: Range<u64>, if_lost: IfLost) -> io::Result<Self> {
        // SAFETY: bytes of any value are valid, lost pages are handled by `MappingGuard`, and files are
        // replaced but not changed; see [`Self::open`].
        let map = unsafe { Mapping::of(file, Some(range)) }?;
        Self::guarded(map, file, path, if_lost)
    }

    fn guarded(map: Mapping, file: &File, path: &Path, if_lost: IfLost) -> io::Result<Self> {
        // Of parts of a file, the pages begin before the first byte.
        Ok(Self {
            guard: MappingGuard::over(&map, path, if_lost),
            map,
            path: path.to_path_buf(),
            state: Mutex::new(Some(FileState::of(&file.metadata()?))),
        })
    }

    /// Returns the path at which the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether the file may have been changed since it was mapped: it was truncated, or has another
    /// size or time of modification. A file that was replaced by another one, or deleted, is unchanged. If it
    /// may, `is_same` decides by the bytes; after a part was lost, it is not asked.
    ///
    /// # Errors
    /// [`Changed`] if it was changed.
    pub fn check(&self, is_same: impl FnOnce(&[u8]) -> bool) -> Result<(), Changed> {
        if self.guard.has_lost() {
            return Err(Changed);
        }
        let now = match fs::metadata(&self.path) {
            Ok(metadata) => FileState::of(&metadata),
            Err(_) => return Ok(()),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            Some(then) if then.is_of_same_file(&now) && then != now => {}
            Some(_) => return Ok(()),
            None => return Err(Changed),
        }
        // Behind its new end, a file that became shorter seems to have zeros.
        let is_shorter = state.is_some_and(|then| now.len < then.len);
        let is_same = !is_shorter && is_same(&self.map) && !self.guard.has_lost();
        *state = is_same.then_some(now);
        if is_same { Ok(()) } else { Err(Changed) }
    }
}

/// The answer of [`Mapped::check`]: what was read since the last check may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            identity: platform::identity(metadata),
        }
    }

    /// False if the file of this state was replaced by that of `other`, or if nothing tells: Windows refuses
    /// to truncate a file that is mapped.
    fn is_of_same_file(&self, other: &Self) -> bool {
        self.identity.is_some() && self.identity == other.identity
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
