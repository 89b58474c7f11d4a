//! Quantized weights: a memory-mapped safetensors file, which is used without being read first.
//!
//! A matrix `NAME` is stored packed (see [`attentive_kernels::packed`]): as `[⌈n/16⌉, ⌈k/4⌉, 16, 4]` of I8
//! with `NAME.scales` `[n]` and `NAME.sums` `[n]`, as `[⌈n/16⌉, ⌈k/2⌉, 16, 2]` of BF16, or as
//! `[⌈n/16⌉, k, 16, 1]` of F32, whose numbers are those of training. Everything else is F32. The header's
//! metadata holds the format's name, whose last part is the CRC-32 of all numbers. Comparing it takes milliseconds, unlike SHA-256.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use attentive_architecture::Architecture;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_kernels::mapped::{IfLost, Mapped};
use attentive_kernels::packed::PackedWeight;
use attentive_model::engine::{Matrix, PackedRanges, Precision, Weight, Weights};
use attentive_model::model::Parameter;
use safetensors::tensor::Dtype;

use super::checksummed_tensors::{self, RawTensor, TensorFile, TensorIndex};

const FORMAT: &str = "attentive packed 1";

/// The file of these weights of an engine.
///
/// # Errors
/// Names of weights that no file can have.
pub fn encode(weights: &[(String, Weight)]) -> io::Result<TensorFile<'_>> {
    let mut tensors: Vec<RawTensor<'_>> = weights.iter().flat_map(tensors_of).collect();
    // Packed values come first, since they are whole lines of 64 bytes.
    tensors.sort_by(|a, b| {
        let key = |tensor: &RawTensor<'_>| (tensor.shape.len() < 4, tensor.name.clone());
        key(a).cmp(&key(b))
    });
    TensorFile::new(FORMAT, tensors)
}

fn tensors_of((name, weight): &(String, Weight)) -> Vec<RawTensor<'_>> {
    let tensor = |name: String, dtype, shape, bytes| RawTensor { name, dtype, shape, bytes };
    match weight {
        Weight::Vector(values) => {
            let bytes = bytemuck::cast_slice(values);
            vec![tensor(name.clone(), Dtype::F32, vec![values.len()], bytes)]
        }
        Weight::Matrix(matrix) => match matrix.view() {
            PackedWeight::F32(weight) => {
                let shape = packed_shape(weight.n(), weight.k(), 1);
                vec![tensor(name.clone(), Dtype::F32, shape, weight.as_bytes())]
            }
            PackedWeight::Bf16(weight) => {
                let shape = packed_shape(weight.n(), weight.k(), 2);
                vec![tensor(name.clone(), Dtype::BF16, shape, weight.as_bytes())]
            }
            PackedWeight::Int8(weight) => {
                let [values, scales, sums] = weight.as_bytes();
                let (n, k) = (weight.n(), weight.k());
                vec![
                    tensor(name.clone(), Dtype::I8, packed_shape(n, k, 4), values),
                    tensor(format!("{name}.scales"), Dtype::F32, vec![n], scales),
                    tensor(format!("{name}.sums"), Dtype::I32, vec![n], sums),
                ]
            }
        },
    }
}

/// The shape of a packed matrix with `each` numbers in a word of 4 bytes.
fn packed_shape(n: usize, k: usize, each: usize) -> Vec<usize> {
    vec![n.div_ceil(16), k.div_ceil(each), 16, each]
}

/// An open file of quantized weights that fits an architecture.
#[derive(Debug)]
pub struct QuantizedWeights {
    file: Arc<Mapped>,
    precision: Precision,
    parameters: HashMap<String, PackedParameter>,
}

/// The file of the weights with which a model computes. Nobody may change it meanwhile; replacing it by
/// another file is safe.
#[derive(Clone, Debug)]
pub struct PackedFile(Arc<Mapped>);

impl PackedFile {
    /// Returns true if the file was overwritten or truncated since it was opened: what was computed since the
    /// last check is then worthless. A file that was only touched is compared by its checksum.
    pub fn was_changed(&self) -> bool {
        let is_same = |bytes: &[u8]| checksummed_tensors::read(FORMAT, bytes).is_ok();
        self.0.check(is_same).is_err()
    }

    /// Returns the path at which it was opened.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A parameter in the file.
#[derive(Debug)]
enum PackedParameter {
    Matrix(Arc<Matrix>),
    /// Numbers in `f32`, and their shape.
    Numbers(Range<usize>, Vec<usize>),
}

impl QuantizedWeights {
    /// Opens the file `path` with the weights of `architecture`, and compares its checksum.
    ///
    /// # Errors
    /// Fails if the file is missing, truncated, damaged, or of another architecture or format.
    pub fn open(path: &Path, architecture: &Architecture) -> Result<Self> {
        let file = regular_file::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => super::missing(path),
            _ => Error::io("read", path)(error),
        })?;
        let file = Mapped::open(&file, path, IfLost::Zeros).map_err(Error::io("read", path))?;
        let tensors = checksummed_tensors::read(FORMAT, &file)
            .and_then(|tensors| Self::of(Arc::new(file), tensors, &super::shapes(architecture)));
        tensors.map_err(|problem| Error::Model {
            path: path.to_path_buf(),
            problem,
            hint: Some("copy the model directory again, or quantize the model again".into()),
        })
    }

    /// Returns the file, which is to be checked after each computation.
    pub fn file(&self) -> PackedFile {
        PackedFile(Arc::clone(&self.file))
    }

    /// Returns the number type of the matrices.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// These weights, whose matrices become `precision` one after the other.
    pub fn rounded(&self, precision: Precision) -> RoundedWeights<'_> {
        RoundedWeights { stored: self, precision }
    }

    /// All weights in `f32`, in the order of `architecture`.
    pub fn parameters(&self, architecture: &Architecture) -> Vec<Parameter> {
        let shapes = super::shapes(architecture).into_iter();
        shapes.map(|(name, shape)| Parameter { values: { self }.vector(&name), name, shape }).collect()
    }

    /// Takes the parameters with these names and shapes from `tensors`, which must hold nothing else.
    fn of(
        file: Arc<Mapped>,
        mut tensors: TensorIndex,
        shapes: &[(String, Vec<usize>)],
    ) -> Result<Self, String> {
        let mut precision = None;
        let mut parameters = HashMap::new();
        for (name, shape) in shapes {
            let found = take(&mut tensors, &file, name, shape)?;
            if let PackedParameter::Matrix(matrix) = &found {
                let of_matrix = matrix.precision();
                let other = precision.replace(of_matrix);
                if other.is_some_and(|other| other != of_matrix) {
                    return Err("its matrices have different types".into());
                }
            }
            parameters.insert(name.clone(), found);
        }
        if !tensors.is_empty() {
            return Err(format!("{} of its tensors are not part of the configured model", tensors.len()));
        }
        Ok(Self { file, precision: precision.ok_or("it has no packed matrix")?, parameters })
    }

    fn numbers(&self, range: &Range<usize>) -> Vec<f32> {
        let numbers = self.file[range.clone()].chunks_exact(size_of::<f32>());
        numbers.map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
    }
}

/// Moves the parameter `name` out of `tensors`.
fn take(
    tensors: &mut TensorIndex,
    file: &Arc<Mapped>,
    name: &str,
    shape: &[usize],
) -> Result<PackedParameter, String> {
    let Some((info, range)) = tensors.remove(name) else {
        return Err(format!("parameter `{name}` {shape:?} is missing"));
    };
    let len: usize = shape.iter().product();
    let ranges = match (info.dtype, shape) {
        (Dtype::F32, _) if info.shape == [len] => {
            return Ok(PackedParameter::Numbers(range, shape.to_vec()));
        }
        (Dtype::F32, &[n, k]) if info.shape == packed_shape(n, k, 1) => PackedRanges::F32(range),
        (Dtype::BF16, &[n, k]) if info.shape == packed_shape(n, k, 2) => PackedRanges::Bf16(range),
        (Dtype::I8, &[n, k]) if info.shape == packed_shape(n, k, 4) => {
            let mut factors = |what, dtype| match tensors.remove(&format!("{name}.{what}")) {
                Some((info, range)) if info.dtype == dtype && info.shape == [n] => Ok(range),
                _ => Err(format!("`{name}.{what}` [{n}] is missing or does not fit")),
            };
            PackedRanges::Int8 {
                values: range,
                scales: factors("scales", Dtype::F32)?,
                sums: factors("sums", Dtype::I32)?,
            }
        }
        (dtype, _) => {
            return Err(format!(
                "parameter `{name}` is {dtype:?} {:?}, which does not fit {shape:?}",
                info.shape
            ));
        }
    };
    Matrix::mapped(file.clone(), [shape[0], shape[1]], ranges)
        .map(|matrix| PackedParameter::Matrix(Arc::new(matrix)))
        .map_err(|error| format!("parameter `{name}`: {error}"))
}

impl Weights for &QuantizedWeights {
    fn precision(&self) -> Precision {
        self.precision
    }

    fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        match &self.parameters[name] {
            PackedParameter::Matrix(matrix) => Arc::clone(matrix),
            PackedParameter::Numbers(range, shape) => {
                let values = self.numbers(range);
                Arc::new(Matrix::new(self.precision, &values, shape[0], shape[1]))
            }
        }
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        match &self.parameters[name] {
            PackedParameter::Matrix(matrix) => matrix.unpacked(),
            PackedParameter::Numbers(range, _) => self.numbers(range),
        }
    }
}

/// Stored weights in another number type.
#[derive(Debug)]
pub struct RoundedWeights<'a> {
    stored: &'a QuantizedWeights,
    precision: Precision,
}

impl Weights for RoundedWeights<'_> {
    fn precision(&self) -> Precision {
        self.precision
    }

    fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        let stored = self.stored.matrix(name);
        let [d_out, d_in] = [stored.d_out(), stored.d_in()];
        Arc::new(Matrix::new(self.precision, &stored.unpacked(), d_out, d_in))
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        self.stored.vector(name)
    }
}

#[cfg(test)]
mod tests;
