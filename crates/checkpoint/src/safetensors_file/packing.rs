//! Packs weights matrix by matrix, as an engine asks for them, while another thread computes their checksum.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use attentive_base::error::{Error, Result};
use attentive_kernels::mapped::{IfLost, Mapped};
use attentive_model::engine::{Matrix, Precision, Weights};
use safetensors::tensor::TensorInfo;

use super::{SafetensorsFile, numbers_of};

/// Matrices of more bytes are packed first, while the others take no RAM yet.
pub(super) const LARGE: usize = 16 << 20;

/// Parameters of at most as many bytes are read into a buffer that stays in the cache. Mapping each of them
/// would take longer: the end of a mapping interrupts the other threads of the process.
const SMALL: usize = 1 << 20;

impl SafetensorsFile {
    /// Returns what `build` makes of the parameters `expected` (name and shape) in `precision`: an engine.
    ///
    /// Only one matrix at a time is read, so they take the RAM of the engine and of the largest matrix.
    ///
    /// # Errors
    /// Any error of [`SafetensorsFile::check`]; a wrong checksum.
    pub(crate) fn packed<T>(
        mut self,
        expected: &[(String, Vec<usize>)],
        precision: Precision,
        build: impl FnOnce(&mut dyn Weights) -> T,
    ) -> Result<T> {
        let expected_indices = self.expected_indices(expected)?;
        self.require_whole()?;
        self.begin_checksum()?;
        let tensors = expected_indices.into_iter().zip(&self.tensors);
        let tensors = tensors.map(|(range, (_, info))| (expected[range].0.as_str(), info));
        let mut weights = Reading {
            precision,
            file: &self.file,
            path: &self.path,
            start: self.data.start,
            tensors: tensors.collect(),
            ahead: HashMap::new(),
            buffer: Vec::new(),
            failed: None,
        };
        weights.pack_large_ones();
        let engine = build(&mut weights);
        if let Some(error) = weights.failed {
            return Err(Error::io("read", &self.path)(error));
        }
        self.compare_checksum()?;
        Ok(engine)
    }
}

/// Weights that are read when they are asked for.
struct Reading<'a> {
    precision: Precision,
    file: &'a File,
    path: &'a Path,
    /// The start of the tensors in the file.
    start: u64,
    /// The tensors, by the names of the architecture.
    tensors: HashMap<&'a str, &'a TensorInfo>,
    /// Matrices that are packed already.
    ahead: HashMap<String, Arc<Matrix>>,
    /// Room for the bytes of a parameter.
    buffer: Vec<u8>,
    /// The first error; the values are wrong then.
    failed: Option<io::Error>,
}

impl Reading<'_> {
    /// Packs what is large and has the shape of a matrix, the largest first.
    fn pack_large_ones(&mut self) {
        let size = |tensor: &TensorInfo| tensor.data_offsets.1 - tensor.data_offsets.0;
        let large = self.tensors.iter().filter(|(_, tensor)| size(tensor) > LARGE);
        let mut large: Vec<_> = large.filter(|(_, tensor)| tensor.shape.len() == 2).collect();
        large.sort_by_key(|(name, tensor)| (std::cmp::Reverse(size(tensor)), **name));
        let names: Vec<String> = large.into_iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in names {
            let matrix = self.matrix(&name);
            self.ahead.insert(name, matrix);
        }
    }

    /// What `work` makes of the shape and the values of a parameter.
    fn with<R>(&mut self, name: &str, work: impl FnOnce(&[usize], &[f32]) -> R) -> R {
        let tensor = self.tensors.get(name);
        let tensor = tensor.unwrap_or_else(|| panic!("parameter `{name}` of the architecture"));
        let (first, end) = tensor.data_offsets;
        if first == end {
            return work(&tensor.shape, &[]);
        }
        let range = self.start + first as u64..self.start + end as u64;
        let numbers = numbers_of(tensor);
        if end - first > SMALL {
            return match Mapped::part(self.file, self.path, range, IfLost::Zeros) {
                Ok(bytes) => {
                    let made = work(&tensor.shape, &numbers.widened(&bytes));
                    if bytes.check(|_| false).is_err() {
                        let changed = io::Error::other("it was changed while it was read");
                        self.failed.get_or_insert(changed);
                    }
                    made
                }
                Err(error) => {
                    self.failed.get_or_insert(error);
                    work(&tensor.shape, &vec![0.0; (end - first) / numbers.bytes()])
                }
            };
        }
        self.buffer.clear();
        self.buffer.resize(end - first, 0);
        let mut file = self.file;
        let read = file.seek(SeekFrom::Start(range.start));
        if let Err(error) = read.and_then(|_| file.read_exact(&mut self.buffer)) {
            self.failed.get_or_insert(error);
        }
        work(&tensor.shape, &numbers.widened(&self.buffer))
    }
}

impl Weights for Reading<'_> {
    fn precision(&self) -> Precision {
        self.precision
    }

    fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        if let Some(matrix) = self.ahead.remove(name) {
            return matrix;
        }
        let precision = self.precision;
        Arc::new(self.with(name, |shape, values| Matrix::new(precision, values, shape[0], shape[1])))
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        self.with(name, |_, values| values.to_vec())
    }
}
