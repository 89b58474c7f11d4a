//! Parameters in the safetensors format.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use sha2::{Digest, Sha256};

use super::atomic;
use super::names::old_names;
use crate::error::{Error, Result};
use crate::model::Parameter;

const WRITE_BYTES: usize = 1 << 20;

/// Writes a safetensors file with these parameters. The same parameters give the same bytes.
pub fn write<'a>(
    path: &Path,
    parameters: impl IntoIterator<Item = &'a Parameter>,
) -> io::Result<()> {
    // The crate's own function goes through a temporary file that only its owner may read.
    let mut file = BufWriter::with_capacity(WRITE_BYTES, File::create(path)?);
    encode(parameters, &mut file)?;
    file.flush()
}

/// SHA-256, in hexadecimal, of the file that [`write()`] writes.
pub fn sha256<'a>(parameters: impl IntoIterator<Item = &'a Parameter>) -> io::Result<String> {
    let mut hash = Hash(Sha256::new());
    encode(parameters, &mut hash)?;
    Ok(hexadecimal(hash.0))
}

/// SHA-256, in hexadecimal, of `bytes`.
pub(super) fn sha256_of(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

fn hexadecimal(hash: Sha256) -> String {
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

/// The bytes of a safetensors file whose format, and checksum where one is known, have been checked.
#[derive(Debug)]
pub struct Stored {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Stored {
    /// Reads the file `path`, whose SHA-256 must be `sha256` where that is known.
    ///
    /// # Errors
    /// A missing, truncated or corrupt file. A header that promises more than the file holds is refused before memory is
    /// taken for what it promises.
    pub fn read(path: &Path, sha256: Option<&str>) -> Result<Self> {
        let stored = Self {
            bytes: atomic::read(path).map_err(Error::io("read", path))?,
            path: path.to_path_buf(),
        };
        stored.tensors()?;
        if let Some(expected) = sha256 {
            check_sha256(path, &stored.bytes, expected)?;
        }
        Ok(stored)
    }

    /// All of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn tensors(&self) -> Result<SafeTensors<'_>> {
        SafeTensors::deserialize(&self.bytes).map_err(|error| Error::Model {
            path: self.path.clone(),
            problem: format!(
                "not a whole safetensors file ({error}; {} bytes)",
                self.bytes.len()
            ),
            hint: Some(
                "the file is truncated or damaged: copy it again, or take a checkpoint of the run"
                    .into(),
            ),
        })
    }

    /// The parameters: exactly those `expected` (name and shape) must be there, and are given in that order.
    ///
    /// # Errors
    /// A missing, surplus or misshapen parameter; a number type other than F32.
    pub fn parameters(&self, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        let mut tensors: HashMap<String, _> = self.tensors()?.tensors().into_iter().collect();
        let parameters = expected
            .iter()
            .map(|(name, shape)| {
                let names = std::iter::once(name.clone()).chain(old_names(name));
                let found = names.into_iter().find_map(|name| tensors.remove(&name));
                let tensor = found.ok_or_else(|| {
                    mismatch(
                        &self.path,
                        format!("parameter `{name}` {shape:?} is missing"),
                    )
                })?;
                if tensor.shape() != shape {
                    let problem = format!(
                        "parameter `{name}` has shape {:?}, the configuration wants {shape:?}",
                        tensor.shape()
                    );
                    return Err(mismatch(&self.path, problem));
                }
                if tensor.dtype() != Dtype::F32 {
                    let found = tensor.dtype();
                    let problem = format!("parameter `{name}` holds {found:?}, expected F32");
                    return Err(mismatch(&self.path, problem));
                }
                let values = tensor
                    .data()
                    .chunks_exact(4)
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                    .collect();
                Ok(Parameter {
                    name: name.clone(),
                    shape: shape.clone(),
                    values,
                })
            })
            .collect::<Result<_>>()?;
        match tensors.keys().min() {
            Some(name) => Err(mismatch(
                &self.path,
                format!("parameter `{name}` has no place in the configured model"),
            )),
            None => Ok(parameters),
        }
    }
}

/// Refuses `bytes`, the content of `path`, unless their SHA-256 is `expected`.
pub(super) fn check_sha256(path: &Path, bytes: &[u8], expected: &str) -> Result<()> {
    let found = sha256_of(bytes);
    if found == expected {
        return Ok(());
    }
    Err(Error::Model {
        path: path.to_path_buf(),
        problem: format!(
            "damaged, or of another run: its SHA-256 is {found}, `provenance.json` says {expected}"
        ),
        hint: Some(
            "copy both files again, or take a checkpoint of the run; if you replaced the file on purpose, delete its \
             entry under `sha256` in `provenance.json`"
                .into(),
        ),
    })
}

fn mismatch(path: &Path, problem: String) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem,
        hint: Some("weights, `config.toml` and tokenizer must come from the same run".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(path: &Path, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
        Stored::read(path, None)?.parameters(expected)
    }

    fn saved() -> (
        tempfile::TempDir,
        std::path::PathBuf,
        Vec<(String, Vec<usize>)>,
    ) {
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
    fn what_is_written_is_read() {
        let (_folder, path, expected) = saved();
        assert_eq!(read(&path, &expected).expect("read")[0].values, [1.5, -2.0]);
    }

    #[test]
    fn damage_and_mismatch_are_named() {
        let (_folder, path, expected) = saved();
        let problem = |expected: &[(String, Vec<usize>)]| {
            read(&path, expected).expect_err("must fail").to_string()
        };
        assert!(problem(&[]).contains("`a.weight` has no place"));
        assert!(problem(&[("a.weight".into(), vec![3, 1])]).contains("[2, 1]"));
        let more = [expected.clone(), vec![("b".into(), vec![1])]].concat();
        assert!(problem(&more).contains("`b` [1] is missing"));
        let whole = fs::read(&path).expect("read");
        for cut in [0, 5, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).expect("write");
            assert!(problem(&expected).contains("not a whole safetensors file"));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_safetensors_crate() {
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

    #[test]
    fn another_checksum_is_refused() {
        let (_folder, path, _) = saved();
        let sha256 = sha256_of(&fs::read(&path).expect("read"));
        assert!(Stored::read(&path, Some(&sha256)).is_ok());
        let mut bytes = fs::read(&path).expect("read");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(&path, bytes).expect("write");
        let error = Stored::read(&path, Some(&sha256)).expect_err("must fail");
        assert!(error.to_string().contains(&sha256), "{error}");
    }

    #[test]
    fn a_header_that_promises_too_much_is_refused() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("model.safetensors");
        for header in [
            r#"{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}"#,
            r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#,
        ] {
            let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
            fs::write(&path, bytes).expect("write");
            assert!(Stored::read(&path, None).is_err(), "{header}");
        }
        fs::write(&path, u64::MAX.to_le_bytes()).expect("write");
        assert!(Stored::read(&path, None).is_err());
    }
}
