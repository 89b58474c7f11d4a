//! The weights of a model directory and their provenance, which change together.
//!
//! The two are separate files, as in every version of the format, and two files cannot be renamed at once.
//! Therefore the provenance decides: it holds the SHA-256 of its weights. New weights are first written under
//! a temporary name, then the provenance is replaced, then the weights are renamed. Between the last two
//! steps the weights named by the provenance are under the temporary name, where [`read`] finds them and
//! [`finish_replacing`] renames them. A reader thus never combines provenance and weights of different
//! checkpoints.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};

use super::atomic::{self, ContentWriter};
use super::{Provenance, SafetensorsFile, StoredWeights, files, missing, read_json, sums, to_json};

/// Number of attempts to read while a run replaces the files.
const ATTEMPTS: usize = 3;

/// Replaces the weights in `dir` by `content`, whose SHA-256 is in `provenance`. The new provenance of the
/// directory also has the checksums of its configuration and tokenizers.
pub(super) fn replace(dir: &Path, provenance: &Provenance, content: &ContentWriter<'_>) -> Result<()> {
    let (weights, pending) = paths(dir);
    let mut provenance = provenance.clone();
    provenance.sha256.extend(sums::in_dir(dir)?);
    let provenance = to_json(&provenance)?;
    let written = atomic::write_synced(&pending, content).map_err(Error::io("write", &weights));
    let outcome = written
        .and_then(|()| atomic::write_file(&dir.join(files::PROVENANCE), &provenance))
        .and_then(|()| put_in_place(dir));
    if outcome.is_err() {
        // Best effort: the failure to report is the first one.
        let _ = finish_replacing(dir);
    }
    outcome
}

/// Completes a replacement interrupted by a kill or power failure: weights under the temporary name are
/// renamed if the provenance names them, and removed otherwise.
///
/// # Errors
/// [`Error::Io`] if a file cannot be renamed or removed.
pub fn finish_replacing(dir: &Path) -> Result<()> {
    let (_, pending) = paths(dir);
    if !pending.exists() {
        return Ok(());
    }
    let provenance = read_json::<Provenance>(&dir.join(files::PROVENANCE));
    let expected = provenance.ok().and_then(|mut provenance| provenance.sha256.remove(files::WEIGHTS));
    let found = SafetensorsFile::open(&pending, None).and_then(SafetensorsFile::digest);
    match (expected, found) {
        (Some(expected), Ok(found)) if expected == found => put_in_place(dir),
        _ => fs::remove_file(&pending).map_err(Error::io("remove", &pending)),
    }
}

/// Returns the provenance of the weights in `dir`, and the result of `read` on them. `read` is called again
/// if another process replaces the files meanwhile.
///
/// # Errors
/// Fails if a file is missing or damaged, if the weights do not match the provenance (as far as `read`
/// checks), or if `read` fails.
pub(super) fn read<T>(dir: &Path, read: impl Fn(StoredWeights) -> Result<T>) -> Result<(Provenance, T)> {
    let (weights, pending) = paths(dir);
    let provenance_path = dir.join(files::PROVENANCE);
    let mut provenance: Provenance = read_json(&provenance_path)?;
    let mut attempt = 1;
    loop {
        let open = |path| StoredWeights::open(path, dir, &provenance);
        // Pending weights first: if there are none, the weights of this provenance are already in place.
        if provenance.sha256_of(files::WEIGHTS).is_some()
            && let Ok(found) = open(&pending).and_then(&read)
        {
            return Ok((provenance, found));
        }
        let error = match open(&weights).and_then(&read) {
            Ok(found) => return Ok((provenance, found)),
            Err(error) => error,
        };
        let latest: Provenance = read_json(&provenance_path)?;
        if latest == provenance || attempt == ATTEMPTS {
            return Err(match error {
                Error::Io { source, path, .. } if source.kind() == io::ErrorKind::NotFound => missing(&path),
                error => error,
            });
        }
        provenance = latest;
        attempt += 1;
    }
}

/// Renames the weights. The renames must reach the disk in order, so the folder is synced between them.
fn put_in_place(dir: &Path) -> Result<()> {
    let (weights, pending) = paths(dir);
    atomic::sync_folder(dir)
        .and_then(|()| fs::rename(&pending, &weights))
        .and_then(|()| atomic::sync_folder(dir))
        .map_err(Error::io("write", &weights))
}

/// The weights, and their temporary name.
fn paths(dir: &Path) -> (PathBuf, PathBuf) {
    let weights = dir.join(files::WEIGHTS);
    let pending = atomic::temporary(&weights);
    (weights, pending)
}

#[cfg(test)]
mod tests {
    use attentive_model::model::Parameter;

    use super::*;
    use crate::weights;

    fn weights_of(value: f32) -> Vec<Parameter> {
        vec![Parameter { name: "a".into(), shape: vec![2], values: vec![value; 2] }]
    }

    fn provenance(step: u64, parameters: &[Parameter]) -> Provenance {
        let sha256 = weights::sha256(parameters).expect("hash");
        Provenance { step, sha256: [(files::WEIGHTS.to_owned(), sha256)].into(), ..Provenance::default() }
    }

    /// Returns the update according to the provenance, and a value of the weights.
    fn current(dir: &Path) -> (u64, f32) {
        let expected = [("a".into(), vec![2])];
        let (provenance, parameters) = read(dir, |stored| stored.parameters(&expected)).expect("whole");
        (provenance.step, parameters[0].values[0])
    }

    fn put(dir: &Path, step: u64) {
        let parameters = weights_of(step as f32);
        replace(dir, &provenance(step, &parameters), &|path| weights::write(path, &parameters))
            .expect("write");
    }

    #[test]
    fn a_stop_at_any_step_leaves_a_consistent_pair() {
        let folder = tempfile::tempdir().expect("tempdir");
        let dir = folder.path();
        let (_, pending) = paths(dir);
        put(dir, 1);
        assert_eq!(current(dir), (1, 1.0));
        // Half of the new weights, then all of them.
        let new = weights_of(2.0);
        fs::write(&pending, b"half").expect("write");
        assert_eq!(current(dir), (1, 1.0));
        weights::write(&pending, &new).expect("write");
        assert_eq!(current(dir), (1, 1.0));
        // The provenance is new.
        let text = to_json(&provenance(2, &new)).expect("JSON");
        atomic::write_file(&dir.join(files::PROVENANCE), &text).expect("write");
        assert_eq!(current(dir), (2, 2.0));
        finish_replacing(dir).expect("rename");
        assert!(!pending.exists());
        assert_eq!(current(dir), (2, 2.0));
    }

    #[test]
    fn damaged_weights_are_read_again_only_if_they_were_replaced() {
        let folder = tempfile::tempdir().expect("tempdir");
        let dir = folder.path();
        let (path, _) = paths(dir);
        put(dir, 1);
        weights::write(&path, &weights_of(2.0)).expect("write");
        let count = std::cell::Cell::new(0);
        let counted = |replaced: bool| {
            count.set(0);
            read(dir, |stored| {
                count.set(count.get() + 1);
                let digest = stored.digest();
                if replaced && count.get() == 1 {
                    put(dir, 3);
                }
                digest
            })
        };
        counted(false).expect_err("damaged");
        assert_eq!(count.get(), 1);
        let (provenance, _) = counted(true).expect("replaced by whole weights");
        assert_eq!((provenance.step, count.get()), (3, 2));
    }

    #[test]
    fn weights_that_no_provenance_names_are_removed() {
        let folder = tempfile::tempdir().expect("tempdir");
        let dir = folder.path();
        put(dir, 1);
        let (_, pending) = paths(dir);
        weights::write(&pending, &weights_of(2.0)).expect("write");
        finish_replacing(dir).expect("remove");
        assert!(!pending.exists());
        assert_eq!(current(dir), (1, 1.0));
    }
}
