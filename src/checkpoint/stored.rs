//! Reads parameters in the safetensors format.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use sha2::{Digest, Sha256};

use super::names::old_names;
use super::{atomic, weights};
use crate::error::{Error, Result};
use crate::model::Parameter;

/// Size of the header length at the start of a file.
const LENGTH_BYTES: u64 = 8;

/// The maximum header size that the format allows.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Size of the chunks that are read, then hashed while in the cache.
const CHUNK_BYTES: usize = 1 << 18;

/// An open safetensors file with a header consistent with its length. Its tensors have not been read yet.
#[derive(Debug)]
pub struct Stored {
    file: File,
    path: PathBuf,
    /// In file order; they fill the file without gaps.
    tensors: Vec<(String, TensorInfo)>,
    /// The hash of what has been read so far.
    hash: Sha256,
    /// The expected SHA-256 of the file, if known.
    sha256: Option<String>,
}

impl Stored {
    /// Opens the file `path`, whose expected SHA-256 is `sha256` if known, and reads its header. The checksum is
    /// compared once the file has been read to its end.
    ///
    /// # Errors
    /// A file that is missing, not a regular file, or truncated; a header that is damaged or inconsistent with the
    /// file's length.
    pub fn open(path: &Path, sha256: Option<&str>) -> Result<Self> {
        let mut file = atomic::open(path).map_err(Error::io("read", path))?;
        let len = file.metadata().map_err(Error::io("read", path))?.len();
        let damaged = |problem: String| not_whole(path, &problem, len);
        let mut hash = Sha256::new();
        let mut read = |bytes: u64| -> Result<Vec<u8>> {
            let mut buffer = Vec::new();
            let outcome = file.by_ref().take(bytes).read_to_end(&mut buffer);
            outcome.map_err(Error::io("read", path))?;
            hash.update(&buffer);
            Ok(buffer)
        };
        let Ok(length) = <[u8; LENGTH_BYTES as usize]>::try_from(read(LENGTH_BYTES)?) else {
            return Err(damaged("its header is missing".into()));
        };
        let header_len = u64::from_le_bytes(length);
        if header_len > MAX_HEADER_BYTES.min(len.saturating_sub(LENGTH_BYTES)) {
            let problem = format!("it declares a header of {header_len} bytes");
            return Err(damaged(problem));
        }
        let metadata: Metadata = serde_json::from_slice(&read(header_len)?)
            .map_err(|error| damaged(format!("in its header: {error}")))?;
        let data_len = metadata.data_len() as u64;
        if len - LENGTH_BYTES - header_len != data_len {
            return Err(damaged(format!(
                "its header declares {data_len} bytes of data"
            )));
        }
        let tensor = |name: String| metadata.info(&name).cloned().map(|info| (name, info));
        Ok(Self {
            tensors: metadata
                .offset_keys()
                .into_iter()
                .filter_map(tensor)
                .collect(),
            path: path.to_path_buf(),
            sha256: sha256.map(str::to_owned),
            file,
            hash,
        })
    }

    /// Checks by the header that the file holds exactly the parameters `expected` (name and shape).
    ///
    /// # Errors
    /// A parameter that is missing, unexpected or of the wrong shape; a number type other than F32.
    pub fn check(&self, expected: &[(String, Vec<usize>)]) -> Result<()> {
        self.places(expected).map(|_| ())
    }

    /// For each tensor, in file order, its index in `expected`.
    fn places(&self, expected: &[(String, Vec<usize>)]) -> Result<Vec<usize>> {
        let mut left: HashMap<&str, usize> = (self
            .tensors
            .iter()
            .enumerate()
            .map(|(index, (name, _))| (name.as_str(), index)))
        .collect();
        let mut places = vec![0; self.tensors.len()];
        for (place, (name, shape)) in expected.iter().enumerate() {
            let names = std::iter::once(name.clone()).chain(old_names(name));
            let found = names
                .into_iter()
                .find_map(|name| left.remove(name.as_str()));
            let index = found
                .ok_or_else(|| self.mismatch(format!("parameter `{name}` {shape:?} is missing")))?;
            let info = &self.tensors[index].1;
            if info.shape != *shape {
                return Err(self.mismatch(format!(
                    "parameter `{name}` has shape {:?}, expected {shape:?} by the configuration",
                    info.shape
                )));
            }
            if info.dtype != Dtype::F32 {
                let found = info.dtype;
                let problem = format!("parameter `{name}` holds {found:?}, expected F32");
                return Err(self.mismatch(problem));
            }
            places[index] = place;
        }
        match left.keys().min() {
            Some(name) => Err(self.mismatch(format!(
                "parameter `{name}` is not part of the configured model"
            ))),
            None => Ok(places),
        }
    }

    /// Reads exactly the parameters `expected` (name and shape), in that order. Allocates only after [`Stored::check`]
    /// has passed, for one copy of the values.
    ///
    /// # Errors
    /// Those of [`Stored::check`]; a wrong checksum.
    pub fn parameters(mut self, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        let places = self.places(expected)?;
        let mut values: Vec<Arc<Vec<f32>>> = vec![Arc::default(); expected.len()];
        // Hashing takes longer than reading, so another thread does it.
        let (sender, receiver) = mpsc::channel::<Arc<Vec<f32>>>();
        let mut hash = std::mem::take(&mut self.hash);
        let hash = thread::scope(|scope| {
            let hashing = scope.spawn(move || {
                for values in receiver {
                    hash_values(&mut hash, &values);
                }
                hash
            });
            let read = places
                .into_iter()
                .enumerate()
                .try_for_each(|(index, place)| {
                    let read = Arc::new(self.read_values(index)?);
                    values[place] = read.clone();
                    // The other thread only stops early if it panics, which is passed on below.
                    let _ = sender.send(read);
                    Ok(())
                });
            drop(sender);
            let hash = hashing
                .join()
                .unwrap_or_else(|problem| panic::resume_unwind(problem));
            read.map(|()| hash)
        })?;
        self.hash = hash;
        self.finish()?;
        let named = expected.iter().zip(values);
        Ok(named
            .map(|((name, shape), values)| Parameter {
                name: name.clone(),
                shape: shape.clone(),
                values: Arc::unwrap_or_clone(values),
            })
            .collect())
    }

    /// Reads the values of tensor `index`, the next in the file, without hashing them.
    fn read_values(&mut self, index: usize) -> Result<Vec<f32>> {
        let (start, end) = self.tensors[index].1.data_offsets;
        let mut values = vec![0.0; (end - start) / size_of::<f32>()];
        let read = self.file.read_exact(bytemuck::cast_slice_mut(&mut values));
        read.map_err(Error::io("read", &self.path))?;
        if cfg!(target_endian = "big") {
            let native = |value: &mut f32| *value = f32::from_bits(value.to_bits().swap_bytes());
            values.iter_mut().for_each(native);
        }
        Ok(values)
    }

    /// Calls `each` with the index in `expected` and the values of every parameter, in file order. The results are
    /// valid only if no error is returned.
    ///
    /// # Errors
    /// Those of [`Stored::parameters`].
    pub(super) fn read_each(
        mut self,
        expected: &[(String, Vec<usize>)],
        mut each: impl FnMut(usize, Vec<f32>),
    ) -> Result<()> {
        let places = self.places(expected)?;
        for (index, place) in places.into_iter().enumerate() {
            let values = self.read_values(index)?;
            hash_values(&mut self.hash, &values);
            each(place, values);
        }
        self.finish().map(|_| ())
    }

    /// The SHA-256 of the whole file, in hexadecimal.
    ///
    /// # Errors
    /// An unexpected checksum; a file that cannot be read.
    pub(super) fn digest(mut self) -> Result<String> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut left = self
            .tensors
            .last()
            .map_or(0, |(_, info)| info.data_offsets.1);
        while left > 0 {
            let len = left.min(CHUNK_BYTES);
            self.read_hashed(&mut chunk[..len])?;
            left -= len;
        }
        self.finish()
    }

    fn read_hashed(&mut self, bytes: &mut [u8]) -> Result<()> {
        for chunk in bytes.chunks_mut(CHUNK_BYTES) {
            let read = self.file.read_exact(chunk);
            read.map_err(Error::io("read", &self.path))?;
            self.hash.update(chunk);
        }
        Ok(())
    }

    /// Compares the checksum once the whole file has been read.
    fn finish(self) -> Result<String> {
        let found = weights::hexadecimal(self.hash);
        if let Some(expected) = &self.sha256 {
            check_sha256(&self.path, &found, expected)?;
        }
        Ok(found)
    }

    fn mismatch(&self, problem: String) -> Error {
        Error::Model {
            path: self.path.clone(),
            problem,
            hint: Some("weights, `config.toml` and tokenizer must come from the same run".into()),
        }
    }
}

/// Adds the bytes of `values`, as they are in the file, to `hash`.
fn hash_values(hash: &mut Sha256, values: &[f32]) {
    if cfg!(target_endian = "little") {
        return hash.update(bytemuck::cast_slice(values));
    }
    values
        .iter()
        .for_each(|value| hash.update(value.to_le_bytes()));
}

/// Refuses the file `path` with the SHA-256 `found` unless it is `expected`.
pub(super) fn check_sha256(path: &Path, found: &str, expected: &str) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Model {
        path: path.to_path_buf(),
        problem: format!(
            "damaged, or from another run: its SHA-256 is {found}, but `provenance.json` expects {expected}"
        ),
        hint: Some(
            "copy both files again, or use a checkpoint of the run; if you replaced the file on purpose, delete its \
             entry under `sha256` in `provenance.json`"
                .into(),
        ),
    })
}

fn not_whole(path: &Path, problem: &str, len: u64) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem: format!("not a complete safetensors file ({problem}; {len} bytes)"),
        hint: Some(
            "the file is truncated or damaged: copy it again, or use a checkpoint of the run"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::checkpoint::weights::{sha256_of, write};

    fn read(path: &Path, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        Stored::open(path, None)?.parameters(expected)
    }

    fn saved() -> (tempfile::TempDir, PathBuf, Vec<(String, Vec<usize>)>) {
        let parameter = Parameter {
            name: "a.weight".into(),
            shape: vec![2, 1],
            values: vec![1.5, -2.0],
        };
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("model.safetensors");
        write(&path, &[parameter]).expect("write");
        (folder, path, vec![("a.weight".into(), vec![2, 1])])
    }

    #[test]
    fn written_parameters_are_read_back() {
        let (_folder, path, expected) = saved();
        assert_eq!(read(&path, &expected).expect("read")[0].values, [1.5, -2.0]);
    }

    #[test]
    fn damage_and_mismatches_are_reported() {
        let (_folder, path, expected) = saved();
        let problem = |expected: &[(String, Vec<usize>)]| {
            read(&path, expected).expect_err("must fail").to_string()
        };
        assert!(problem(&[]).contains("`a.weight` is not part of"));
        assert!(problem(&[("a.weight".into(), vec![3, 1])]).contains("[2, 1]"));
        let more = [expected.clone(), vec![("b".into(), vec![1])]].concat();
        assert!(problem(&more).contains("`b` [1] is missing"));
        let whole = fs::read(&path).expect("read");
        for cut in [0, 5, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).expect("write");
            assert!(problem(&expected).contains("not a complete safetensors file"));
        }
    }

    #[test]
    fn a_wrong_checksum_is_refused() {
        let (_folder, path, expected) = saved();
        let sha256 = sha256_of(&fs::read(&path).expect("read"));
        let read = || Stored::open(&path, Some(&sha256))?.parameters(&expected);
        assert!(read().is_ok());
        let digest = Stored::open(&path, None).expect("open").digest();
        assert_eq!(digest.expect("read"), sha256);
        let mut bytes = fs::read(&path).expect("read");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(&path, bytes).expect("write");
        // The header itself is intact.
        let stored = Stored::open(&path, Some(&sha256)).expect("open");
        assert!(stored.check(&expected).is_ok());
        assert!(stored.digest().is_err());
        let error = read().expect_err("must fail");
        assert!(error.to_string().contains(&sha256), "{error}");
    }

    #[test]
    fn a_header_larger_than_the_file_is_refused() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("model.safetensors");
        for header in [
            r#"{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}"#,
            r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#,
            r#"{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}}"#,
        ] {
            let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
            fs::write(&path, bytes).expect("write");
            assert!(Stored::open(&path, None).is_err(), "{header}");
        }
        fs::write(&path, u64::MAX.to_le_bytes()).expect("write");
        assert!(Stored::open(&path, None).is_err());
    }

    #[test]
    fn values_of_any_order_and_size_are_assigned_correctly() {
        let parameter = |name: &str, len: usize| Parameter {
            name: name.into(),
            shape: vec![len],
            values: (0..len).map(|i| i as f32).collect(),
        };
        // More than a chunk, an empty one, and names whose order differs from the expected one.
        let parameters = [
            parameter("z", 7),
            parameter("b", CHUNK_BYTES / 2 + 3),
            parameter("empty", 0),
            parameter("a", 1),
        ];
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("model.safetensors");
        write(&path, &parameters).expect("write");
        let expected: Vec<(String, Vec<usize>)> = parameters
            .iter()
            .map(|parameter| (parameter.name.clone(), parameter.shape.clone()))
            .collect();
        assert_eq!(read(&path, &expected).expect("read"), parameters);
    }

    #[test]
    fn other_types_and_surplus_bytes_are_refused() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("model.safetensors");
        let problem = |header: &str, data: &[u8]| {
            let length = (header.len() as u64).to_le_bytes();
            fs::write(&path, [&length, header.as_bytes(), data].concat()).expect("write");
            read(&path, &[("a".into(), vec![1])])
                .expect_err("must fail")
                .to_string()
        };
        let half = r#"{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}"#;
        assert!(problem(half, &[0; 2]).contains("`a` holds F16, expected F32"));
        let gap = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        assert!(problem(gap, &[0; 8]).contains("not a complete safetensors file"));
        let surplus = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        assert!(problem(surplus, &[0; 5]).contains("not a complete safetensors file"));
    }
}
