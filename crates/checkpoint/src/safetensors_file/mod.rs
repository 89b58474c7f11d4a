//! Reads parameters in the safetensors format.

mod checksum;
mod packing;

pub(crate) use packing::packed;

use attentive_base::hexadecimal;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_kernels::mapped::{IfLost, Mapped};
use attentive_model::model::Parameter;
use safetensors::tensor::{Metadata, TensorInfo};
use sha2::{Digest, Sha256};

use super::StoredNumbers;
use super::mapped_weights::MappedTensor;
use super::weights::write_hashed;
use checksum::Checksum;

/// Size of the header length at the start of a file.
const LENGTH_BYTES: u64 = 8;

/// The maximum header size that the format allows.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Size of the chunks that are read and then hashed while they are in the cache.
const CHUNK_BYTES: usize = 1 << 18;

/// An open safetensors file with a header consistent with its length. Its tensors have not been read yet.
#[derive(Debug)]
pub struct SafetensorsFile {
    file: File,
    path: PathBuf,
    /// The tensors in file order; they fill the file without gaps.
    tensors: Vec<(String, TensorInfo)>,
    /// The byte range of the tensors in the file.
    data: Range<u64>,
    /// The hash of what has been read so far.
    hash: Sha256,
    /// The expected SHA-256 of the file, if known.
    sha256: Option<String>,
    /// What another thread makes of [`SafetensorsFile::hash`] and the tensors, if it has begun.
    checksum: Option<Checksum>,
}

impl SafetensorsFile {
    /// Opens the file `path`, whose expected SHA-256 is `sha256` if known, and reads its header. The checksum
    /// is compared once the file has been read to its end.
    ///
    /// # Errors
    /// Fails if the file is missing, not a regular file, or truncated, or if its header is damaged or
    /// inconsistent with the file's length.
    pub fn open(path: &Path, sha256: Option<&str>) -> Result<Self> {
        let mut file = regular_file::open(path).map_err(Error::io("read", path))?;
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
            return Err(damaged(format!("its header declares {data_len} bytes of data")));
        }
        let tensor = |name: String| metadata.info(&name).cloned().map(|info| (name, info));
        Ok(Self {
            tensors: metadata.offset_keys().into_iter().filter_map(tensor).collect(),
            path: path.to_path_buf(),
            data: len - data_len..len,
            sha256: sha256.map(str::to_owned),
            file,
            hash,
            checksum: None,
        })
    }

    /// Begins to compute the checksum of the tensors in another thread, if one is expected, so that
    /// [`packed`] need not wait for it as long.
    ///
    /// # Errors
    /// [`Error::Model`] if the file has been changed since it was opened; [`Error::Io`].
    pub(super) fn begin_checksum(&mut self) -> Result<()> {
        if self.sha256.is_none() || self.checksum.is_some() {
            return Ok(());
        }
        self.require_whole()?;
        let begun = Checksum::start(&self.file, &self.path, self.data.clone(), self.hash.clone());
        self.checksum = Some(begun.map_err(Error::io("read", &self.path))?);
        Ok(())
    }

    /// The names of its tensors.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().map(|(name, _)| name.as_str())
    }

    /// Copies the whole file, as it was opened, to the new file `path`, and returns its SHA-256.
    ///
    /// # Errors
    /// Fails if it cannot be read or written, or if the checksum is unexpected.
    pub(super) fn copy(&self, path: &Path) -> io::Result<String> {
        let mut from = &self.file;
        from.seek(SeekFrom::Start(0))?;
        let sha256 = write_hashed(path, |out| io::copy(&mut from, out).map(drop))?;
        if let Some(expected) = &self.sha256 {
            check_sha256(&self.path, &sha256, expected).map_err(io::Error::other)?;
        }
        Ok(sha256)
    }

    /// Refuses a file that has another length than when it was opened: what is mapped must be there.
    fn require_whole(&self) -> Result<()> {
        let found = self.file.metadata();
        let len = found.map_err(Error::io("read", &self.path))?.len();
        if len == self.data.end {
            Ok(())
        } else {
            Err(not_whole(&self.path, "it was changed meanwhile", len))
        }
    }

    /// Checks by the header that the file holds exactly the parameters `expected` (name and shape).
    ///
    /// # Errors
    /// Fails if a parameter is missing, unexpected or of the wrong shape, or if its number type is none of
    /// [`StoredNumbers`].
    pub fn check(&self, expected: &[(String, Vec<usize>)]) -> Result<()> {
        self.expected_indices(expected).map(|_| ())
    }

    /// Returns for each tensor, in file order, its index in `expected`.
    fn expected_indices(&self, expected: &[(String, Vec<usize>)]) -> Result<Vec<usize>> {
        let mut left: HashMap<&str, usize> =
            (self.tensors.iter().enumerate().map(|(index, (name, _))| (name.as_str(), index))).collect();
        let mut expected_indices = vec![0; self.tensors.len()];
        for (expected_index, (name, shape)) in expected.iter().enumerate() {
            let found = left.remove(name.as_str());
            let index =
                found.ok_or_else(|| self.mismatch(format!("parameter `{name}` {shape:?} is missing")))?;
            let info = &self.tensors[index].1;
            if info.shape != *shape {
                return Err(self.mismatch(format!(
                    "parameter `{name}` has shape {:?}, expected {shape:?} by the configuration",
                    info.shape
                )));
            }
            if StoredNumbers::of(info.dtype).is_none() {
                let found = info.dtype;
                let problem = format!("parameter `{name}` holds {found:?}, expected F32, F16 or BF16");
                return Err(self.mismatch(problem));
            }
            expected_indices[index] = expected_index;
        }
        match left.keys().min() {
            Some(name) => {
                Err(self.mismatch(format!("parameter `{name}` is not part of the configured model")))
            }
            None => Ok(expected_indices),
        }
    }

    /// Maps exactly the parameters `expected` (name and shape), in that order.
    ///
    /// # Errors
    /// Any error of [`SafetensorsFile::check`].
    pub(super) fn mapped(self, expected: &[(String, Vec<usize>)]) -> Result<(Mapped, Vec<MappedTensor>)> {
        let expected_indices = self.expected_indices(expected)?;
        let mut indices = vec![0; expected.len()];
        for (index, expected_index) in expected_indices.into_iter().enumerate() {
            indices[expected_index] = index;
        }
        let file =
            Mapped::open(&self.file, &self.path, IfLost::End).map_err(Error::io("read", &self.path))?;
        let start = self.data.start as usize;
        let tensor = |((name, shape), index): (&(String, Vec<usize>), usize)| {
            let (first, end) = self.tensors[index].1.data_offsets;
            let numbers = numbers_of(&self.tensors[index].1);
            let bytes = start + first..start + end;
            MappedTensor { name: name.clone(), shape: shape.clone(), numbers, bytes }
        };
        Ok((file, expected.iter().zip(indices).map(tensor).collect()))
    }

    /// Reads exactly the parameters `expected` (name and shape), in that order. Allocates only after
    /// [`SafetensorsFile::check`] has passed, for one copy of the values.
    ///
    /// # Errors
    /// Any error of [`SafetensorsFile::check`]; a wrong checksum.
    pub fn parameters(mut self, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        let expected_indices = self.expected_indices(expected)?;
        // The hash is that of the values that are read.
        self.checksum = None;
        let mut values: Vec<Arc<Vec<f32>>> = vec![Arc::default(); expected.len()];
        // Hashing takes longer than reading, so another thread does it.
        // Few tensors wait for it, since those in halves are there twice until then.
        let (sender, receiver) = mpsc::sync_channel::<StoredTensor>(2);
        let mut hash = std::mem::take(&mut self.hash);
        let hash = thread::scope(|scope| {
            let hashing = scope.spawn(move || {
                for stored in receiver {
                    stored.add_to(&mut hash);
                }
                hash
            });
            let read = expected_indices.into_iter().enumerate().try_for_each(|(index, expected_index)| {
                let stored = self.read_tensor(index)?;
                values[expected_index] = stored.values();
                // The other thread only stops early if it panics, which is passed on below.
                let _ = sender.send(stored);
                Ok(())
            });
            drop(sender);
            let hash = hashing.join().unwrap_or_else(|problem| panic::resume_unwind(problem));
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

    /// Waits for the checksum, if there is one, and compares it.
    fn compare_checksum(mut self) -> Result<()> {
        let Some(checksum) = self.checksum.take() else {
            return Ok(());
        };
        self.hash = checksum.wait().map_err(Error::io("read", &self.path))?;
        self.finish().map(|_| ())
    }

    /// Reads tensor `index`, the next in the file, without hashing it.
    fn read_tensor(&mut self, index: usize) -> Result<StoredTensor> {
        let info = &self.tensors[index].1;
        let (start, end) = info.data_offsets;
        let read = match numbers_of(info) {
            StoredNumbers::F32 => {
                let mut values = vec![0.0; (end - start) / size_of::<f32>()];
                read_numbers(&self.file, &mut values).map(|()| StoredTensor::Single(Arc::new(values)))
            }
            numbers => {
                let mut bytes = vec![0; end - start];
                self.file.read_exact(&mut bytes).map(|()| StoredTensor::Half(numbers, bytes))
            }
        };
        read.map_err(Error::io("read", &self.path))
    }

    /// Calls `each` with the index in `expected` and the values of every parameter, in file order. The
    /// results are valid only if no error is returned.
    ///
    /// # Errors
    /// Any error of [`SafetensorsFile::parameters`].
    pub(super) fn read_each(
        mut self,
        expected: &[(String, Vec<usize>)],
        mut each: impl FnMut(usize, Vec<f32>),
    ) -> Result<()> {
        let expected_indices = self.expected_indices(expected)?;
        for (index, expected_index) in expected_indices.into_iter().enumerate() {
            let stored = self.read_tensor(index)?;
            stored.add_to(&mut self.hash);
            each(expected_index, Arc::unwrap_or_clone(stored.values()));
        }
        self.finish().map(|_| ())
    }

    /// Returns the SHA-256 of the whole file, in hexadecimal.
    ///
    /// # Errors
    /// Fails if the checksum is unexpected or the file cannot be read.
    pub(super) fn digest(mut self) -> Result<String> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut left = (self.data.end - self.data.start) as usize;
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
        let found = hexadecimal(self.hash.finalize());
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

/// Reads the next `values` of `file`, of which the first byte is the lowest.
fn read_numbers(mut file: &File, values: &mut [f32]) -> io::Result<()> {
    file.read_exact(bytemuck::cast_slice_mut(values))?;
    if cfg!(target_endian = "big") {
        let native = |value: &mut f32| *value = f32::from_bits(value.to_bits().swap_bytes());
        values.iter_mut().for_each(native);
    }
    Ok(())
}

/// A tensor as it was read.
enum StoredTensor {
    Single(Arc<Vec<f32>>),
    /// In half precision, of either type.
    Half(StoredNumbers, Vec<u8>),
}

impl StoredTensor {
    /// The numbers.
    fn values(&self) -> Arc<Vec<f32>> {
        match self {
            Self::Single(values) => Arc::clone(values),
            Self::Half(numbers, bytes) => Arc::new(numbers.widened(bytes).into_owned()),
        }
    }

    /// Adds the bytes, as they are in the file, to `hash`.
    fn add_to(&self, hash: &mut Sha256) {
        match self {
            Self::Single(values) => hash.update(StoredNumbers::F32.narrowed(values)),
            Self::Half(_, bytes) => hash.update(bytes),
        }
    }
}

/// The number type of a tensor that was checked.
fn numbers_of(info: &TensorInfo) -> StoredNumbers {
    StoredNumbers::of(info.dtype).expect("the types were checked")
}

/// Refuses the file `path`, whose SHA-256 is `found`, unless it is `expected`.
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
            "copy both files again, or use a checkpoint of the run; if you replaced the file on purpose, \
             delete its entry under `sha256` in `provenance.json`"
                .into(),
        ),
    })
}

fn not_whole(path: &Path, problem: &str, len: u64) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem: format!("not a complete safetensors file ({problem}; {len} bytes)"),
        hint: Some("the file is truncated or damaged: copy it again, or use a checkpoint of the run".into()),
    }
}

#[cfg(test)]
mod tests;
