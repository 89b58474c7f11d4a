//! Quantised weights: a safetensors file that is mapped into memory and used without being read first.
//!
//! A matrix `NAME` is stored packed (see [`attentive_kernels::packed`]): as `[⌈n/16⌉, ⌈k/4⌉, 16, 4]` of I8 with `NAME.scales` `[n]`
//! and `NAME.sums` `[n]`, or as `[⌈n/16⌉, ⌈k/2⌉, 16, 2]` of BF16. Everything else is F32. The header's metadata holds the format's
//! name, whose last part is the CRC-32 of all numbers: reading it takes milliseconds, unlike SHA-256.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attentive_kernels::mapped::Mapped;
use attentive_kernels::packed::PackedWeight;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::atomic;
use crate::architecture::Architecture;
use crate::engine::{Engine, Matrix, Part, Places, Precision, Weights};
use crate::error::{Error, Result};

/// The key of the metadata, and the beginning of its value.
const KEY: &str = "format";
const FORMAT: &str = "attentive packed 1";
/// Start of the numbers in a file, in multiples of this many bytes.
const ALIGNMENT: usize = 64;
/// Size of the header's length.
const LENGTH_BYTES: usize = 8;

/// One tensor of a file.
struct Tensor<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

/// Writes the weights of `engine`, which are not `f32`.
pub fn write(engine: &Engine, out: &mut dyn Write) -> io::Result<()> {
    let mut tensors: Vec<Tensor<'_>> = engine.parts().iter().flat_map(tensors_of).collect();
    // Packed values come first, since they are whole lines of 64 bytes.
    tensors.sort_by(|a, b| {
        let key = |tensor: &Tensor<'_>| (tensor.shape.len() < 4, tensor.name.clone());
        key(a).cmp(&key(b))
    });
    let mut checksum = crc32fast::Hasher::new();
    tensors
        .iter()
        .for_each(|tensor| checksum.update(tensor.bytes));
    let mut end = 0;
    let infos = tensors.iter().map(|tensor| {
        let start = end;
        end += tensor.bytes.len();
        let info = TensorInfo {
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            data_offsets: (start, end),
        };
        (tensor.name.clone(), info)
    });
    let format = format!("{FORMAT} {:08x}", checksum.finalize());
    let metadata = HashMap::from([(KEY.to_owned(), format)]);
    let metadata = Metadata::new(Some(metadata), infos.collect()).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    let len = (LENGTH_BYTES + header.len()).next_multiple_of(ALIGNMENT) - LENGTH_BYTES;
    header.resize(len, b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    tensors
        .iter()
        .try_for_each(|tensor| out.write_all(tensor.bytes))
}

fn tensors_of((name, part): &(String, Part)) -> Vec<Tensor<'_>> {
    let tensor = |name: String, dtype, shape, bytes| Tensor {
        name,
        dtype,
        shape,
        bytes,
    };
    match part {
        Part::Vector(values) => {
            let bytes = bytemuck::cast_slice(values);
            vec![tensor(name.clone(), Dtype::F32, vec![values.len()], bytes)]
        }
        Part::Matrix(matrix) => match matrix.view() {
            PackedWeight::F32(_) => panic!("weights in f32 are not packed"),
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

/// An open file of quantised weights that fits an architecture.
#[derive(Debug)]
pub struct Packed {
    path: PathBuf,
    file: Arc<Mapped>,
    precision: Precision,
    /// Type, shape and place in the file of each tensor.
    tensors: HashMap<String, (TensorInfo, Range<usize>)>,
    /// The shape of each parameter.
    shapes: HashMap<String, Vec<usize>>,
}

impl Packed {
    /// Opens the file `path` with the weights of `architecture`, and compares its checksum.
    ///
    /// # Errors
    /// A file that is missing, truncated, damaged, or of another architecture or format.
    pub fn open(path: &Path, architecture: &Architecture) -> Result<Self> {
        let file = atomic::open(path).map_err(Error::io("read", path))?;
        let file = map(&file, path)?;
        let damaged = |problem: String| Error::Model {
            path: path.to_path_buf(),
            problem,
            hint: Some("copy the model directory again, or quantise the model again".into()),
        };
        let (header, metadata) = SafeTensors::read_metadata(&file)
            .map_err(|error| damaged(format!("not a complete safetensors file: {error}")))?;
        let start = LENGTH_BYTES + header;
        let (found, declared) = (file.len() - start, metadata.data_len());
        if found != declared {
            return Err(damaged(format!(
                "not a complete file: it has {found} bytes of numbers, but its header declares {declared}"
            )));
        }
        let values = metadata.metadata().as_ref();
        let format = values
            .and_then(|values| values.get(KEY))
            .map_or("", String::as_str);
        let Some(checksum) = format.strip_prefix(FORMAT) else {
            return Err(damaged(format!(
                "its format is `{format}`, expected `{FORMAT}`"
            )));
        };
        if checksum.trim() != format!("{:08x}", crc32fast::hash(&file[start..])) {
            return Err(damaged(
                "damaged: the checksum of its numbers is wrong".into(),
            ));
        }
        let tensors = metadata.tensors().into_iter().map(|(name, info)| {
            let (first, end) = info.data_offsets;
            (name, (info.clone(), start + first..start + end))
        });
        let shapes = super::shapes(architecture);
        let mut packed = Self {
            path: path.to_path_buf(),
            file: Arc::new(file),
            precision: Precision::F32,
            tensors: tensors.collect(),
            shapes: shapes.iter().cloned().collect(),
        };
        packed.precision = packed.check(&shapes).map_err(damaged)?;
        Ok(packed)
    }

    /// The number type of the matrices.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The size of the file in bytes.
    pub fn bytes(&self) -> usize {
        self.file.len()
    }

    /// Checks that the file holds exactly these parameters, and returns the type of its matrices.
    fn check(&self, shapes: &[(String, Vec<usize>)]) -> Result<Precision, String> {
        let mut precision = None;
        let mut expected = 0;
        for (name, shape) in shapes {
            let Some((info, _)) = self.tensors.get(name) else {
                return Err(format!("parameter `{name}` {shape:?} is missing"));
            };
            let wrong = || {
                let (found, dtype) = (&info.shape, info.dtype);
                format!("parameter `{name}` is {dtype:?} {found:?}, which does not fit {shape:?}")
            };
            expected += 1;
            let len: usize = shape.iter().product();
            let of_matrix = match (info.dtype, &shape[..]) {
                (Dtype::F32, _) if info.shape == [len] => continue,
                (Dtype::BF16, &[n, k]) if info.shape == packed_shape(n, k, 2) => Precision::Bf16,
                (Dtype::I8, &[n, k]) if info.shape == packed_shape(n, k, 4) => {
                    expected += 2;
                    for (part, dtype) in [("scales", Dtype::F32), ("sums", Dtype::I32)] {
                        let part = self.tensors.get(&format!("{name}.{part}"));
                        if !part.is_some_and(|(i, _)| i.dtype == dtype && i.shape == [n]) {
                            return Err(wrong());
                        }
                    }
                    Precision::Int8
                }
                _ => return Err(wrong()),
            };
            if precision
                .replace(of_matrix)
                .is_some_and(|other| other != of_matrix)
            {
                return Err("its matrices have different types".into());
            }
        }
        if expected != self.tensors.len() {
            let extra = self.tensors.len() - expected;
            return Err(format!(
                "{extra} of its tensors are not part of the configured model"
            ));
        }
        precision.ok_or_else(|| "it has no packed matrix".into())
    }

    fn place(&self, name: &str) -> Range<usize> {
        self.tensors[name].1.clone()
    }
}

fn map(file: &File, path: &Path) -> Result<Mapped> {
    Mapped::open(file).map_err(Error::io("read", path))
}

impl Weights for &Packed {
    fn precision(&self) -> Precision {
        self.precision
    }

    fn matrix(&mut self, name: &str) -> Arc<Matrix> {
        let shape = &self.shapes[name];
        let values = self.place(name);
        let places = match self.precision {
            Precision::Int8 => Places::Int8 {
                values,
                scales: self.place(&format!("{name}.scales")),
                sums: self.place(&format!("{name}.sums")),
            },
            Precision::Bf16 | Precision::F32 => Places::Bf16(values),
        };
        let matrix = Matrix::mapped(self.file.clone(), [shape[0], shape[1]], places);
        let problem = |error| {
            panic!(
                "`{}`, whose shapes were checked: {error}",
                self.path.display()
            )
        };
        Arc::new(matrix.unwrap_or_else(problem))
    }

    fn vector(&mut self, name: &str) -> Vec<f32> {
        let bytes = self.file[self.place(name)].chunks_exact(size_of::<f32>());
        bytes
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect()
    }
}
