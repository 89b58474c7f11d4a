//! Parameters in the safetensors format.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, SafeTensors, View};

use super::names::old_names;
use crate::error::{Error, Result};
use crate::model::Parameter;

struct Stored<'a>(&'a Parameter);

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }
    fn shape(&self) -> &[usize] {
        &self.0.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        if cfg!(target_endian = "little") {
            return bytemuck::cast_slice(&self.0.values).into();
        }
        let values = self.0.values.iter();
        let bytes: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
        bytes.into()
    }
    fn data_len(&self) -> usize {
        4 * self.0.values.len()
    }
}

/// Writes a safetensors file with these parameters. The same parameters give the same bytes.
pub fn write<'a>(
    path: &Path,
    parameters: impl IntoIterator<Item = &'a Parameter>,
) -> io::Result<()> {
    let parameters = parameters.into_iter();
    let tensors = parameters.map(|parameter| (parameter.name.as_str(), Stored(parameter)));
    safetensors::serialize_to_file(tensors, None, path).map_err(|error| match error {
        SafeTensorError::IoError(error) => error,
        other => io::Error::other(other),
    })
}

/// Reads a file in which exactly the parameters `expected` (name and shape) must be, and gives them in that order.
///
/// # Errors
/// A missing, truncated or corrupt file; a missing, surplus or misshapen parameter; a number type other than F32.
pub fn read(path: &Path, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| Error::Model {
        path: path.to_path_buf(),
        problem: format!(
            "not a whole safetensors file ({error}; {} bytes)",
            bytes.len()
        ),
        hint: Some(
            "the file is truncated or damaged: copy it again, or take a checkpoint of the run"
                .into(),
        ),
    })?;
    let mut tensors: HashMap<String, _> = file.tensors().into_iter().collect();
    let parameters = expected
        .iter()
        .map(|(name, shape)| {
            let stored = std::iter::once(name.clone()).chain(old_names(name));
            let stored = stored.into_iter().find_map(|name| tensors.remove(&name));
            let tensor = stored.ok_or_else(|| {
                mismatch(path, format!("parameter `{name}` {shape:?} is missing"))
            })?;
            if tensor.shape() != shape {
                let problem = format!(
                    "parameter `{name}` has shape {:?}, the configuration wants {shape:?}",
                    tensor.shape()
                );
                return Err(mismatch(path, problem));
            }
            if tensor.dtype() != Dtype::F32 {
                return Err(mismatch(
                    path,
                    format!(
                        "parameter `{name}` holds {:?}, expected F32",
                        tensor.dtype()
                    ),
                ));
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
            path,
            format!("parameter `{name}` has no place in the configured model"),
        )),
        None => Ok(parameters),
    }
}

/// Refuses a file whose parameters are not `expected`, or that [`read`] would refuse.
///
/// # Errors
/// Those of [`read`].
pub fn check(path: &Path, expected: &[(String, Vec<usize>)]) -> Result<()> {
    read(path, expected).map(|_| ())
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
    use super::*;

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
}
