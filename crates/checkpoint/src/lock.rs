//! A lock that prevents two processes from writing to the same directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;

use attentive_base::error::{Error, Result};
use same_file::Handle;
use sysinfo::System;

/// The name of the lock file in a run directory.
pub const LOCK: &str = ".lock";

/// Reserves a directory for this process until dropped.
///
/// The operating system releases the lock however the process ends, so a killed process leaves nothing to
/// clean up. The lock file names the process, for the error message shown by others; Windows lets nobody read
/// a locked file.
#[derive(Debug)]
pub struct Lock {
    /// Open until this is dropped.
    file: Option<File>,
    path: PathBuf,
    /// The folders created for the lock file, innermost first.
    created: Vec<PathBuf>,
}

impl Lock {
    /// Locks the directory `dir` with the file [`LOCK`] in it, creating the directory if it is missing. When
    /// the lock is dropped, folders that it created are removed if they are empty.
    ///
    /// # Errors
    /// [`Error::Usage`] if another process, or another lock of this process, holds it; [`Error::Io`] if the
    /// lock file cannot be written.
    pub fn acquire(dir: &Path) -> Result<Self> {
        Self::by_file(&dir.join(LOCK), dir)
    }

    /// Locks `dir`, which need not exist, with the file `DIR.lock` beside it.
    ///
    /// # Errors
    /// As for [`Lock::acquire`].
    pub fn beside(dir: &Path) -> Result<Self> {
        Self::by_file(&dir.with_added_extension("lock"), dir)
    }

    /// Locks `dir`, which need not exist, with the file `path` outside it.
    ///
    /// # Errors
    /// As for [`Lock::acquire`].
    pub(super) fn by_file(path: &Path, dir: &Path) -> Result<Self> {
        let created = create_folders(path.parent().unwrap_or(Path::new("")))?;
        let lock = Self::open(path, dir);
        if lock.is_err() {
            remove_empty(&created);
        }
        lock.map(|file| Self { file: Some(file), path: path.to_path_buf(), created })
    }

    fn open(path: &Path, dir: &Path) -> Result<File> {
        loop {
            let failed = |error| Error::io("lock", path)(error);
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held(&mut file, dir)),
                // Some network file systems do not support locks; training works there without one.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            let owner = owner();
            file.set_len(0).and_then(|()| file.write_all(owner.as_bytes())).map_err(failed)?;
            // The process that held the lock may have removed the file between opening and locking, and a
            // third process may have created another. In that case the locked file is not the one at `path`.
            let ours = file.try_clone().and_then(Handle::from_file).map_err(failed)?;
            match Handle::from_path(path) {
                Ok(there) if there != ours => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => return Ok(file),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Best effort, before unlocking: a leftover lock file that is not locked does no harm.
        let _ = fs::remove_file(&self.path);
        if let Some(file) = self.file.take() {
            let _ = file.unlock();
        }
        // The file is closed: on Windows, its folder cannot go before.
        remove_empty(&self.created);
    }
}

/// The contents of the lock file.
fn owner() -> String {
    let host = System::host_name().unwrap_or_else(|_| "an unknown host".into());
    format!("process {} on {host}\n", process::id())
}

fn held(file: &mut File, dir: &Path) -> Error {
    const MAX_BYTES: u64 = 300;
    let mut owner = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_BYTES).read_to_string(&mut owner));
    let owner = match owner.trim() {
        owner if read.is_ok() && !owner.is_empty() => owner,
        _ => "another process",
    };
    Error::usage(
        format!("`{}` is in use: {owner} is writing to it", dir.display()),
        "wait until that process has ended, stop it, or choose another directory",
    )
}

/// Creates `folder` and its parents, and returns those that were missing, innermost first.
fn create_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_path_buf)
        .collect();
    if !missing.is_empty() {
        fs::create_dir_all(folder).map_err(|error| {
            remove_empty(&missing);
            Error::io("create", folder)(error)
        })?;
    }
    Ok(missing)
}

fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        if fs::remove_dir(folder).is_err() && folder.exists() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_reports_the_owner() {
        let folder = tempfile::tempdir().expect("tempdir");
        let dir = folder.path().join("runs/a");
        let lock = Lock::acquire(&dir).expect("it is free");
        let error = Lock::acquire(&dir).expect_err("it is held").to_string();
        let owner = format!("is in use: process {} on ", process::id());
        assert!(error.contains(&owner), "{error}");
        drop(lock);
        assert!(!folder.path().join("runs").exists());
    }

    #[test]
    fn a_lock_file_without_a_lock_is_taken_over() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join(LOCK);
        fs::write(&path, "process 1 on a host with a very long name indeed\n").expect("write");
        let lock = Lock::acquire(folder.path()).expect("it is free");
        assert_eq!(fs::read_to_string(&path).expect("read"), owner());
        drop(lock);
        assert!(!path.exists());
        assert!(folder.path().exists());
    }

    #[test]
    fn a_folder_with_files_stays() {
        let folder = tempfile::tempdir().expect("tempdir");
        let dir = folder.path().join("run");
        let lock = Lock::acquire(&dir).expect("it is free");
        fs::write(dir.join("config.toml"), "").expect("write");
        drop(lock);
        assert!(dir.join("config.toml").exists());
    }
}
