//! Writes parameters in the safetensors format.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use sha2::{Digest, Sha256};

use crate::model::Parameter;

const WRITE_BYTES: usize = 1 << 20;

/// Writes a safetensors file with these parameters. Equal parameters give equal bytes.
pub fn write<'a>(
    path: &Path,
    parameters: impl IntoIterator<Item = &'a Parameter>,
) -> io::Result<()> {
    // The crate's own function uses a temporary file that only its owner can read.
    let mut file = BufWriter::with_capacity(WRITE_BYTES, File::create(path)?);
    encode(parameters, &mut file)?;
    file.flush()
}

/// SHA-256 (hexadecimal) of the file that [`write()`] writes.
pub fn sha256<'a>(parameters: impl IntoIterator<Item = &'a Parameter>) -> io::Result<String> {
    let mut hash = Hash(Sha256::new());
    encode(parameters, &mut hash)?;
    Ok(hexadecimal(hash.0))
}

/// SHA-256 of `bytes` (hexadecimal).
pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

/// Finishes `hash` and returns it in hexadecimal.
pub(super) fn hexadecimal(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
    parameters: impl IntoIterator<Item = &'a Parameter>,
    out: &mut impl Write,
) -> io::Result<()> {
    const ALIGNMENT: usize = 8;
    let mut parameters: Vec<&Parameter> = parameters.into_iter().collect();
    parameters.sort_by(|a, b| a.name.cmp(&b.name));
    let mut end = 0;
    let infos = parameters.iter().map(|parameter| {
        let start = end;
        end += size_of::<f32>() * parameter.values.len();
        let info = TensorInfo {
            dtype: Dtype::F32,
            shape: parameter.shape.clone(),
            data_offsets: (start, end),
        };
        (parameter.name.clone(), info)
    });
    let metadata = Metadata::new(None, infos.collect()).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for Parameter { values, .. } in parameters {
        if cfg!(target_endian = "little") {
            out.write_all(bytemuck::cast_slice(values))?;
        } else {
            values
                .iter()
                .try_for_each(|value| out.write_all(&value.to_le_bytes()))?;
        }
    }
    Ok(())
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
        let parameters = [
            parameter("b", &[2, 3]),
            parameter("a.weight", &[5]),
            parameter("a", &[]),
        ];
        let data: Vec<Vec<u8>> = parameters
            .iter()
            .map(|parameter| bytemuck::cast_slice(&parameter.values).to_vec())
            .collect();
        let views = parameters.iter().zip(&data).map(|(parameter, data)| {
            let shape = parameter.shape.clone();
            let view = safetensors::tensor::TensorView::new(Dtype::F32, shape, data);
            (parameter.name.clone(), view.expect("the sizes agree"))
        });
        let expected = safetensors::serialize(views, None).expect("serialise");
        let mut found = Vec::new();
        encode(&parameters, &mut found).expect("encode");
        assert_eq!(found, expected);
        assert_eq!(sha256(&parameters).expect("hash"), sha256_of(&expected));
    }
}
