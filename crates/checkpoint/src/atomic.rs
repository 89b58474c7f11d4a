//! Files and folders that are either complete or absent: written under a temporary name, synced, then
//! renamed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::folder_of;

/// The prefix of temporary names, by which leftovers of a killed process are recognized.
const TEMPORARY: &str = ".tmp-";

/// The content of a file: a function that writes it to the given path.
pub type ContentWriter<'a> = dyn Fn(&Path) -> io::Result<()> + 'a;

/// Writes `path` so that at any instant it holds either the old or the new content.
pub fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    write_with(path, &|path| fs::write(path, content))
}

/// Like [`write_file`], for content that is never held in RAM as a whole.
pub fn write_with(path: &Path, content: &ContentWriter<'_>) -> Result<()> {
    let temporary = temporary(path);
    let outcome = write_synced(&temporary, content)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(folder_of(path)));
    if outcome.is_err() {
        // Best effort: the failure to report is the first one.
        let _ = fs::remove_file(&temporary);
    }
    outcome.map_err(Error::io("write", path))
}

/// Writes the folder `path`, which must not exist, so that it appears with all `files` or not at all.
pub fn write_folder(path: &Path, files: &[(&str, &ContentWriter<'_>)]) -> Result<()> {
    let temporary = temporary(path);
    let outcome = remove_if_there(&temporary)
        .and_then(|()| fs::create_dir_all(&temporary))
        .and_then(|()| {
            files.iter().try_for_each(|(name, content)| {
                let file = temporary.join(name);
                file.parent().map_or(Ok(()), fs::create_dir_all)?;
                write_synced(&file, content)
            })
        })
        .and_then(|()| sync_folder(&temporary))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(folder_of(path)));
    if outcome.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    outcome.map_err(Error::io("write", path))
}

/// Removes the folder `path`, if there is one: as a whole, since it has another name before its files go.
/// What is left if the process is killed goes with the next folder of this name, or by
/// [`remove_unfinished`].
pub fn remove_folder(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let temporary = temporary(path);
    let outcome = remove_if_there(&temporary)
        .and_then(|()| fs::rename(path, &temporary))
        .and_then(|()| sync_folder(folder_of(path)))
        .and_then(|()| fs::remove_dir_all(&temporary));
    outcome.map_err(Error::io("remove", path))
}

/// Removes the leftovers of interrupted writes in `folder`.
pub fn remove_unfinished(folder: &Path) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(Error::io("read", folder))?,
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            let path = entry.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// The temporary name under which `path` is written.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{TEMPORARY}{name}"))
}

/// Copies the content of a file, but not its permissions.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?).map(|_| ())
}

/// Gives a file another name, which must be free; copies it on file systems without hard links.
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| copy(from, to))
}

/// Writes a file and waits until it is on disk.
pub(super) fn write_synced(path: &Path, content: &ContentWriter<'_>) -> io::Result<()> {
    content(path)?;
    File::options().write(true).open(path)?.sync_all()
}

/// Makes renames in `folder` survive a power failure. Systems on which a folder cannot be opened as a file do
/// not need it.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

fn remove_if_there(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("kept");
        write_file(&path, b"old").expect("first write");
        // A folder in the temporary file's place makes the second write fail.
        fs::create_dir(folder.path().join(".tmp-kept")).expect("create");
        assert!(write_file(&path, b"new").is_err());
        assert_eq!(fs::read(&path).expect("read"), b"old");
    }

    #[test]
    fn unfinished_writes_are_removed() {
        let folder = tempfile::tempdir().expect("tempdir");
        fs::create_dir(folder.path().join(".tmp-step")).expect("create");
        fs::write(folder.path().join(".tmp-last"), b"half").expect("write");
        fs::write(folder.path().join("last"), b"whole").expect("write");
        remove_unfinished(folder.path()).expect("sweep");
        let left: Vec<_> = fs::read_dir(folder.path()).expect("read").flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].file_name(), "last");
    }

    #[test]
    fn a_folder_appears_complete() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("step-1");
        // Leftovers of a killed process under the temporary name do not end up in the new folder.
        fs::create_dir(folder.path().join(".tmp-step-1")).expect("create");
        fs::write(folder.path().join(".tmp-step-1/c"), b"old").expect("write");
        let files: [(&str, &ContentWriter<'_>); 2] =
            [("a", &|path| fs::write(path, b"1")), ("b", &|path| fs::write(path, b"2"))];
        write_folder(&path, &files).expect("write");
        assert_eq!(fs::read(path.join("b")).expect("read"), b"2");
        assert!(!path.join("c").exists());
        assert!(!folder.path().join(".tmp-step-1").exists());
    }
}
