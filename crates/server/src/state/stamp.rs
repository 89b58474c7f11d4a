//! Detection of changes to the files of a model.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use attentive_base::platform;
use attentive_checkpoint::{LOCK, files};

/// The file system's metadata of each file in a model directory, in the order of their names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<(OsString, Known)>);

/// The metadata of a file. Each write or replacement changes at least one field.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    len: u64,
    modified: Option<SystemTime>,
    identity: Option<[u64; 2]>,
    changed: Option<[i64; 2]>,
}

impl Stamp {
    /// Reads the stamp of the model directory `dir`. Files that a training run uses only as its log are
    /// ignored.
    pub(crate) fn of(dir: &Path) -> io::Result<Self> {
        let mut known = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            // Links are followed.
            let metadata = fs::metadata(entry.path())?;
            if metadata.is_file() && name != files::METRICS && name != LOCK {
                known.push((name, Known::of(&metadata)));
            }
        }
        known.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self(known))
    }
}

impl Known {
    fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            identity: platform::identity(metadata),
            changed: platform::change_time(metadata),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_shows() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let stamp = || Stamp::of(dir).unwrap();
        fs::write(dir.join("config.toml"), "a").unwrap();
        let first = stamp();
        fs::write(dir.join(files::METRICS), "a").unwrap();
        assert_eq!(stamp(), first);
        fs::write(dir.join("tokenizer.json"), "a").unwrap();
        let second = stamp();
        assert_ne!(second, first);
        // Another file of the same size in its place.
        fs::write(dir.join("new"), "b").unwrap();
        fs::rename(dir.join("new"), dir.join("config.toml")).unwrap();
        assert_ne!(stamp(), second);
        assert!(Stamp::of(&dir.join("missing")).is_err());
    }
}
