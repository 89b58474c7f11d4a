//! Tensors in memory-mapped files of several formats.

mod archive;
mod binary;
mod binary_writer;
mod npz;
mod safetensors;
mod zip;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use attentive_kernels::mapped::{IfLost, Mapped};

pub(super) use self::archive::Archive;
pub(super) use self::binary_writer::{BinaryTensor, write as write_binary};
pub(super) use self::safetensors::{INDEX, WHOLE};
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_checkpoint::StoredNumbers;

use super::keys::not_understood;

/// The tensors of a model.
#[derive(Debug)]
pub(super) struct Tensors {
    /// The file or directory, for messages.
    path: PathBuf,
    files: Vec<Mapped>,
    found: BTreeMap<String, TensorLocation>,
}

/// Where a tensor is, and what its bytes mean.
#[derive(Debug)]
struct TensorLocation {
    file: usize,
    bytes: Range<usize>,
    shape: Vec<usize>,
    numbers: Numbers,
}

/// The type of the numbers of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    Plain(StoredNumbers),
    /// Integers, followed by the factor by which they were multiplied.
    Int8(Order),
    /// A type of Marian's converter that cannot be read, by its name there.
    Converted(String),
    /// Another type that cannot be read.
    Other(String),
}

/// The order in which a matrix's numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Rows,
    Columns,
}

/// The size of the factor after integers, in bytes.
const FACTOR: usize = size_of::<f32>();

impl Tensors {
    /// Opens the tensors of the model directory `dir`, in one safetensors file or in several with an index.
    pub(super) fn safetensors(dir: &Path) -> Result<Self> {
        let mut tensors = Self::none(dir);
        safetensors::open(dir, &mut tensors)?;
        Ok(tensors)
    }

    /// Opens the tensors of the NumPy archive `path`.
    pub(super) fn npz(path: &Path) -> Result<Self> {
        Self::one_file(path, npz::file_tensors)
    }

    /// Opens the tensors of Marian's binary file `path`.
    pub(super) fn binary(path: &Path) -> Result<Self> {
        Self::one_file(path, binary::file_tensors)
    }

    fn none(path: &Path) -> Self {
        Self { path: path.to_path_buf(), files: Vec::new(), found: BTreeMap::new() }
    }

    fn one_file(path: &Path, file_tensors: fn(&[u8]) -> FileTensors) -> Result<Self> {
        let mut tensors = Self::none(path);
        tensors.add(path, file_tensors)?;
        Ok(tensors)
    }

    /// Adds the tensors that `file_tensors` finds in the file `path`.
    fn add(&mut self, path: &Path, file_tensors: fn(&[u8]) -> FileTensors) -> Result<()> {
        let file = regular_file::open(path).map_err(Error::io("read", path))?;
        let mapped = Mapped::open(&file, path, IfLost::End).map_err(Error::io("read", path))?;
        let found = file_tensors(&mapped);
        let found = found.map_err(|problem| not_understood(path, format!("damaged: {problem}")))?;
        for (name, stored) in found {
            let location = stored.location(self.files.len(), mapped.len());
            let location =
                location.map_err(|problem| not_understood(path, format!("tensor `{name}` {problem}")));
            if self.found.insert(name.clone(), location?).is_some() {
                let problem = format!("tensor `{name}` is there twice");
                return Err(not_understood(path, problem));
            }
        }
        self.files.push(mapped);
        Ok(())
    }

    /// Returns the names of all tensors.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.found.keys().map(String::as_str)
    }

    /// The type of most numbers, by their bytes: `F32` for 8-bit integers.
    pub(super) fn numbers(&self) -> StoredNumbers {
        let of = |location: &TensorLocation| match location.numbers {
            Numbers::Plain(numbers) => numbers,
            _ => StoredNumbers::F32,
        };
        let bytes = |numbers| -> usize {
            let located = self.found.values().filter(|location| of(location) == numbers);
            located.map(|location| location.bytes.len()).sum()
        };
        StoredNumbers::ALL.into_iter().max_by_key(|&numbers| bytes(numbers)).unwrap_or_default()
    }

    /// True if there is a tensor `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    /// Returns the shape of tensor `name`.
    pub(super) fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.location(name)?.shape)
    }

    /// Returns the bytes of tensor `name`, as they are stored.
    pub(super) fn bytes(&self, name: &str) -> Result<&[u8]> {
        Ok(self.bytes_at(self.location(name)?))
    }

    /// Refuses number types that cannot be read.
    pub(super) fn check_type(&self, name: &str) -> Result<()> {
        let location = self.location(name)?;
        let problem = match &location.numbers {
            Numbers::Plain(_) => return Ok(()),
            Numbers::Int8(_) => match factor(self.bytes_at(location)) {
                factor if factor.is_finite() && factor > 0.0 => return Ok(()),
                factor => format!("its quantization factor is {factor}"),
            },
            Numbers::Converted(kind) => {
                return Err(Error::Model {
                    path: self.path.clone(),
                    problem: format!("tensor `{name}` holds numbers of Marian's type `{kind}`, which cannot be read"),
                    hint: Some(
                        "import the `.npz` from which it was converted, or convert that to `intgemm8` or `float32` \
                         with `marian-conv`"
                            .into(),
                    ),
                });
            }
            Numbers::Other(kind) => {
                format!("it holds {kind}; f32, f16, bf16 and the 8-bit integers of Marian can be read")
            }
        };
        Err(not_understood(&self.path, format!("tensor `{name}`: {problem}")))
    }

    /// Returns the values of tensor `name`, row by row; without a copy, if they are stored like that.
    ///
    /// # Panics
    /// Panics if [`Tensors::check_type`] refuses its type.
    pub(super) fn values(&self, name: &str) -> Result<Cow<'_, [f32]>> {
        let location = self.location(name)?;
        let bytes = self.bytes_at(location);
        Ok(match &location.numbers {
            Numbers::Plain(numbers) => numbers.widened(bytes),
            Numbers::Int8(order) => Cow::Owned(dequantized(bytes, &location.shape, *order)),
            Numbers::Converted(kind) | Numbers::Other(kind) => panic!("{kind} was not refused"),
        })
    }

    /// True if two tensors have the same shape and hold the same numbers (identical bits if they have the
    /// same type).
    pub(super) fn same(&self, name: &str, other: &str) -> Result<bool> {
        let (one, two) = (self.location(name)?, self.location(other)?);
        if one.shape != two.shape {
            return Ok(false);
        }
        if one.numbers == two.numbers {
            return Ok(self.bytes_at(one) == self.bytes_at(two));
        }
        let (Numbers::Plain(numbers), Numbers::Plain(other)) = (&one.numbers, &two.numbers) else {
            return Ok(false);
        };
        Ok(numbers.widened(self.bytes_at(one)) == other.widened(self.bytes_at(two)))
    }

    fn bytes_at(&self, location: &TensorLocation) -> &[u8] {
        &self.files[location.file][location.bytes.clone()]
    }

    fn location(&self, name: &str) -> Result<&TensorLocation> {
        self.found.get(name).ok_or_else(|| not_understood(&self.path, format!("tensor `{name}` is missing")))
    }
}

/// The tensors of a file, or a description of what is wrong with it.
type FileTensors = std::result::Result<Vec<(String, Stored)>, String>;

/// A tensor as described by its file.
#[derive(Debug)]
struct Stored {
    /// The offset of the first byte.
    start: usize,
    /// The number of bytes that the file has for it; there may be more than it needs.
    room: usize,
    shape: Vec<usize>,
    numbers: Numbers,
}

impl Stored {
    /// Returns the tensor's location in file number `file`, which is `len` bytes long, or describes what is
    /// wrong.
    fn location(self, file: usize, len: usize) -> std::result::Result<TensorLocation, String> {
        let Self { start, room, shape, numbers } = self;
        let count = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        let needed = count.and_then(|count| match &numbers {
            Numbers::Plain(numbers) => count.checked_mul(numbers.bytes()),
            Numbers::Int8(_) => count.checked_add(FACTOR),
            Numbers::Converted(_) | Numbers::Other(_) => Some(room),
        });
        let inside = start.checked_add(room).is_some_and(|end| end <= len);
        match needed {
            Some(needed) if inside && needed <= room => {
                Ok(TensorLocation { file, bytes: start..start + needed, shape, numbers })
            }
            _ => Err(format!("is damaged: the file has {room} bytes for its shape {shape:?}")),
        }
    }
}

fn factor(bytes: &[u8]) -> f32 {
    let factor = bytes.last_chunk().copied().unwrap_or_default();
    f32::from_le_bytes(factor)
}

fn dequantized(bytes: &[u8], shape: &[usize], order: Order) -> Vec<f32> {
    let step = 1.0 / factor(bytes);
    let integers = &bytes[..bytes.len() - FACTOR];
    let value = |&integer: &u8| f32::from(integer as i8) * step;
    match (order, shape) {
        (Order::Columns, [rows, _]) => {
            (0..*rows).flat_map(|row| integers.iter().skip(row).step_by(*rows).map(value)).collect()
        }
        _ => integers.iter().map(value).collect(),
    }
}

#[cfg(test)]
mod tests;
