//! Writes parameters in the safetensors format.

use attentive_base::hexadecimal;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use attentive_model::model::Parameter;
use safetensors::tensor::{Metadata, TensorInfo};
use sha2::{Digest, Sha256};

use super::StoredNumbers;

const WRITE_BYTES: usize = 1 << 20;

/// A tensor to write.
#[derive(Clone, Debug)]
pub struct NamedTensor<'a> {
    pub name: &'a str,
    /// The dimensions.
    pub shape: &'a [usize],
    /// The elements, row after row.
    pub values: Cow<'a, [f32]>,
}

impl<'a> From<&'a Parameter> for NamedTensor<'a> {
    fn from(parameter: &'a Parameter) -> Self {
        Self { name: &parameter.name, shape: &parameter.shape, values: Cow::Borrowed(&parameter.values) }
    }
}

impl<'a> From<&'a NamedTensor<'_>> for NamedTensor<'a> {
    fn from(tensor: &'a NamedTensor<'_>) -> Self {
        Self { name: tensor.name, shape: tensor.shape, values: Cow::Borrowed(&tensor.values) }
    }
}

/// Writes a safetensors file with these tensors. Equal tensors result in equal bytes.
pub fn write<'a>(
    path: &Path,
    tensors: impl IntoIterator<Item = impl Into<NamedTensor<'a>>>,
) -> io::Result<()> {
    // The crate's own function uses a temporary file that only its owner can read.
    let mut file = BufWriter::with_capacity(WRITE_BYTES, File::create(path)?);
    encode(tensors, &mut file)?;
    file.flush()
}

/// Returns the SHA-256 (hexadecimal) of the file that [`write()`] writes.
pub fn sha256<'a>(tensors: impl IntoIterator<Item = impl Into<NamedTensor<'a>>>) -> io::Result<String> {
    let mut hash = Hash(Sha256::new());
    encode(tensors, &mut hash)?;
    Ok(hexadecimal(hash.0.finalize()))
}

/// Returns the SHA-256 of `bytes` (hexadecimal).
pub fn sha256_of(bytes: &[u8]) -> String {
    hexadecimal(Sha256::digest(bytes))
}

/// Writes a safetensors file with `metadata` and the parameters `shapes` (name, shape and number type), one
/// after the other, with the values that `values` returns, rounded if they do not fit. Returns its SHA-256
/// (hexadecimal).
pub fn write_each<'a>(
    path: &Path,
    metadata: Option<HashMap<String, String>>,
    shapes: &[(String, Vec<usize>, StoredNumbers)],
    mut values: impl FnMut(&str, &[usize]) -> io::Result<Cow<'a, [f32]>>,
) -> io::Result<String> {
    let mut shapes: Vec<&(String, Vec<usize>, StoredNumbers)> = shapes.iter().collect();
    shapes.sort_by_key(|(name, ..)| name);
    write_hashed(path, |out| {
        let named = shapes.iter().map(|(name, shape, numbers)| (name.as_str(), shape.as_slice(), *numbers));
        write_header(metadata, named, out)?;
        shapes.iter().try_for_each(|(name, shape, numbers)| {
            let values = values(name, shape)?;
            out.write_all(&numbers.narrowed(&values))
        })
    })
}

/// Writes the file `path`, whose bytes `write` gives. Returns its SHA-256 (hexadecimal).
pub fn write_hashed(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<String> {
    let file = BufWriter::with_capacity(WRITE_BYTES, File::create(path)?);
    let mut out = Hashed(file, Sha256::new());
    write(&mut out)?;
    out.flush()?;
    Ok(hexadecimal(out.1.finalize()))
}

/// A writer and the hash of what is written to it.
struct Hashed<W>(W, Sha256);

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn encode<'a>(
    tensors: impl IntoIterator<Item = impl Into<NamedTensor<'a>>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut tensors: Vec<NamedTensor<'a>> = tensors.into_iter().map(Into::into).collect();
    tensors.sort_by(|a, b| a.name.cmp(b.name));
    let numbers = StoredNumbers::F32;
    let shapes = tensors.iter().map(|tensor| (tensor.name, tensor.shape, numbers));
    write_header(None, shapes, out)?;
    tensors.iter().try_for_each(|tensor| out.write_all(&numbers.narrowed(&tensor.values)))
}

/// Writes the header for parameters of these names, shapes and number types, which follow in this order.
fn write_header<'a>(
    metadata: Option<HashMap<String, String>>,
    shapes: impl Iterator<Item = (&'a str, &'a [usize], StoredNumbers)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    const ALIGNMENT: usize = 8;
    let mut end = 0;
    let infos = shapes.map(|(name, shape, numbers)| {
        let start = end;
        end += numbers.bytes() * shape.iter().product::<usize>();
        let info = TensorInfo { dtype: numbers.dtype(), shape: shape.to_vec(), data_offsets: (start, end) };
        (name.to_owned(), info)
    });
    let metadata = Metadata::new(metadata, infos.collect()).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_equal_those_of_the_safetensors_crate() {
        let parameter = |name: &str, shape: &[usize]| Parameter {
            name: name.into(),
            shape: shape.into(),
            values: (0..shape.iter().product()).map(|i| i as f32).collect(),
        };
        let parameters = [parameter("b", &[2, 3]), parameter("a.weight", &[5]), parameter("a", &[])];
        let data: Vec<Vec<u8>> =
            parameters.iter().map(|parameter| bytemuck::cast_slice(&parameter.values).to_vec()).collect();
        let views = parameters.iter().zip(&data).map(|(parameter, data)| {
            let shape = parameter.shape.clone();
            let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape, data);
            (parameter.name.clone(), view.expect("the sizes agree"))
        });
        let expected = safetensors::serialize(views, None).expect("serialize");
        let mut found = Vec::new();
        encode(&parameters, &mut found).expect("encode");
        assert_eq!(found, expected);
        assert_eq!(sha256(&parameters).expect("hash"), sha256_of(&expected));
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("weights");
        let shapes =
            parameters.each_ref().map(|one| (one.name.clone(), one.shape.clone(), StoredNumbers::F32));
        let values = |name: &str, _: &[usize]| {
            let one = parameters.iter().find(|one| one.name == name).expect("known");
            Ok(Cow::Borrowed(&one.values[..]))
        };
        let written = write_each(&path, None, &shapes, values).expect("write");
        assert_eq!(std::fs::read(&path).expect("read"), expected);
        assert_eq!(written, sha256_of(&expected));
    }
}
