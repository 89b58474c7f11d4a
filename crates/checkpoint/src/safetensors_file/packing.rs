//! Packs weights matrix by matrix, as an engine asks for them, while another thread computes their checksum.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
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

/// The names and shapes of parameters.
type Shapes = Vec<(String, Vec<usize>)>;

/// Returns what `build` makes of the parameters of these files (name and shape) in `precision`: an engine.
///
/// Only one matrix at a time is read, so they take the RAM of the engine and of the largest matrix.
///
/// # Errors
/// Any error of [`SafetensorsFile::check`]; a wrong checksum.
pub(crate) fn packed<T>(
    mut files: Vec<(SafetensorsFile, Shapes)>,
    precision: Precision,
    build: impl FnOnce(&mut dyn Weights) -> T,
) -> Result<T> {
    for (file, expected) in &mut files {
        file.check(expected)?;
        file.require_whole()?;
        file.begin_checksum()?;
    }
    let tensors = files
        .iter()
        .flat_map(|(file, _)| file.tensors.iter().map(move |(name, info)| (name.as_str(), (file, info))));
    let mut weights = Reading {
        precision,
        tensors: tensors.collect(),
        ahead: HashMap::new(),
        buffer: Vec::new(),
        failed: None,
    };
    weights.pack_large_ones();
    let built = build(&mut weights);
    if let Some(error) = weights.failed {
        return Err(error);
    }
    files.into_iter().try_for_each(|(file, _)| file.compare_checksum())?;
    Ok(built)
}

/// Weights that are read when they are asked for.
struct Reading<'a> {
    precision: Precision,
    /// The tensors, and the file of each, by the names of the architecture.
    tensors: HashMap<&'a str, (&'a SafetensorsFile, &'a TensorInfo)>,
    /// Matrices that are packed already.
    ahead: HashMap<String, Arc<Matrix>>,
    /// Room for the bytes of a parameter.
    buffer: Vec<u8>,
    /// The first error; the values are wrong then.
    failed: Option<Error>,
}

impl Reading<'_> {
    /// Packs what is large and has the shape of a matrix, the largest first.
    fn pack_large_ones(&mut self) {
        let size = |tensor: &TensorInfo| tensor.data_offsets.1 - tensor.data_offsets.0;
        let large = self.tensors.iter().map(|(name, (_, tensor))| (name, *tensor));
        let large = large.filter(|(_, tensor)| size(tensor) > LARGE && tensor.shape.len() == 2);
        let mut large: Vec<_> = large.collect();
        large.sort_by_key(|(name, tensor)| (std::cmp::Reverse(size(tensor)), **name));
        let names: Vec<String> = large.into_iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in names {
            let matrix = self.matrix(&name);
            self.ahead.insert(name, matrix);
        }
    }

    /// What `work` makes of the shape and the values of a parameter.
    fn with<R>(&mut self, name: &str, work: impl FnOnce(&[usize], &[f32]) -> R) -> R {
        let found = self.tensors.get(name);
        let &(stored, tensor) = found.unwrap_or_else(|| panic!("parameter `{name}` of the architecture"));
        let failed = |error| Error::io("read", &stored.path)(error);
        let (first, end) = tensor.data_offsets;
        if first == end {
            return work(&tensor.shape, &[]);
        }
        let range = stored.data.start + first as u64..stored.data.start + end as u64;
        let numbers = numbers_of(tensor);
        if end - first > SMALL {
            return match Mapped::part(&stored.file, &stored.path, range, IfLost::Zeros) {
                Ok(bytes) => {
                    let made = work(&tensor.shape, &numbers.widened(&bytes));
                    if bytes.check(|_| false).is_err() {
                        let changed = io::Error::other("it was changed while it was read");
                        self.failed.get_or_insert(failed(changed));
                    }
                    made
                }
                Err(error) => {
                    self.failed.get_or_insert(failed(error));
                    work(&tensor.shape, &vec![0.0; (end - first) / numbers.bytes()])
                }
            };
        }
        self.buffer.clear();
        self.buffer.resize(end - first, 0);
        let mut file = &stored.file;
        let read = file.seek(SeekFrom::Start(range.start));
        if let Err(error) = read.and_then(|_| file.read_exact(&mut self.buffer)) {
            self.failed.get_or_insert(failed(error));
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
