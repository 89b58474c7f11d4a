//! The files of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The files in the directory `path`, in the order of their names, or the file `path` itself.
///
/// # Errors
/// [`Error::Io`] if there is no such file or directory, or it cannot be read.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let is_dir = fs::metadata(path).map(|metadata| metadata.is_dir());
    if !is_dir.map_err(Error::io("read", path))? {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = fs::read_dir(path).map_err(Error::io("read", path))?;
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let files: std::io::Result<Vec<PathBuf>> = files.collect();
    let mut files = files.map_err(Error::io("read", path))?;
    files.sort();
    Ok(files)
}

/// The last part of a path.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
