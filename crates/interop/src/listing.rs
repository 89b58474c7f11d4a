//! Files and directories, and their names.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};

/// Returns the files in the directory `path`, in the order of their names, or the file `path` itself.
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

/// Returns the last part of a path.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the name of the model in the directory `dir`: the directory's name or, in the cache of Hugging
/// Face, where the path is `models--OWNER--NAME/snapshots/VERSION`, NAME.
pub fn name_of(dir: &Path) -> String {
    let mut names = dir.iter().rev().map(OsStr::to_string_lossy);
    let own = names.next().unwrap_or_default();
    match (names.next(), names.next()) {
        (Some(parent), Some(model)) if parent == "snapshots" => {
            model.rsplit("--").next().unwrap_or_default().to_owned()
        }
        _ => own.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_have_the_names_of_their_models() {
        for (dir, name) in [
            ("/a/opus-mt-en-de", "opus-mt-en-de"),
            ("/a/snapshots", "snapshots"),
            ("/c/models--org--opus-mt-en-de/snapshots/0a1b", "opus-mt-en-de"),
            ("/c/my--model", "my--model"),
        ] {
            assert_eq!(name_of(Path::new(dir)), name);
        }
    }
}
