//! Safetensors files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::foreign::try_contain;
use attentive_base::regular_file;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorInfo};
use serde::Deserialize;

use attentive_checkpoint::StoredNumbers;

use super::{FileTensors, Numbers, Stored, Tensors};
use crate::diagnosis;
use crate::keys::not_understood;

pub(crate) const WHOLE: &str = "model.safetensors";
pub(crate) const INDEX: &str = "model.safetensors.index.json";

/// The content of `model.safetensors.index.json`.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Adds the tensors of the model directory `dir`, in one file or in several with an index.
pub(super) fn open(dir: &Path, tensors: &mut Tensors) -> Result<()> {
    let names: BTreeSet<String> = match (dir.join(WHOLE).exists(), dir.join(INDEX).exists()) {
        (true, _) => BTreeSet::from([WHOLE.to_owned()]),
        (false, true) => shards(&dir.join(INDEX))?,
        (false, false) => {
            return Err(match part(dir) {
                Some(part) => incomplete(
                    &dir.join(INDEX),
                    format!("the index of the weights is missing, of which `{part}` is a part"),
                ),
                None => diagnosis::of(dir, &format!("it has neither `{WHOLE}` nor `{INDEX}`")),
            });
        }
    };
    names.iter().try_for_each(|name| match dir.join(name) {
        part if part.exists() => tensors.add(&part, file_tensors),
        part => {
            let problem = format!("the part of the weights that `{INDEX}` lists is missing");
            Err(incomplete(&part, problem))
        }
    })
}

/// The error of a model that lacks the file `path`.
fn incomplete(path: &Path, problem: String) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem,
        hint: Some("the model was not copied or downloaded completely: get it again".into()),
    }
}

/// The first file of `dir` that is a part of weights, such as `model-00001-of-00002.safetensors`.
fn part(dir: &Path) -> Option<String> {
    let names = fs::read_dir(dir).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_part = |name: &String| name.starts_with("model-") && name.ends_with(".safetensors");
    names.filter(is_part).min()
}

fn file_tensors(file: &[u8]) -> FileTensors {
    let read = || SafeTensors::read_metadata(file).map_err(|error| error.to_string());
    let (header, metadata) = try_contain(read)?;
    let data = header + size_of::<u64>();
    let stored = |info: &TensorInfo| {
        let (start, end) = info.data_offsets;
        Stored {
            start: data + start,
            room: end - start,
            shape: info.shape.clone(),
            numbers: match info.dtype {
                Dtype::F32 => Numbers::Plain(StoredNumbers::F32),
                Dtype::F16 => Numbers::Plain(StoredNumbers::F16),
                Dtype::BF16 => Numbers::Plain(StoredNumbers::Bf16),
                other => Numbers::Other(format!("{other:?}")),
            },
        }
    };
    let found = metadata.tensors();
    Ok(found.iter().map(|(name, info)| (name.clone(), stored(info))).collect())
}

fn shards(index: &Path) -> Result<BTreeSet<String>> {
    let text = regular_file::read(index, regular_file::DESCRIPTION)?;
    let read: Index =
        serde_json::from_slice(&text).map_err(|error| not_understood(index, format!("damaged: {error}")))?;
    let names: BTreeSet<String> = read.weight_map.into_values().collect();
    let is_plain = |name: &String| Path::new(name).file_name().is_some_and(|file| file == name.as_str());
    match names.iter().find(|name| !is_plain(name)) {
        None => Ok(names),
        Some(name) => {
            Err(not_understood(index, format!("`{name}` is not the name of a file in this directory")))
        }
    }
}
