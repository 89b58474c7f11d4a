//! Safetensors files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use attentive_base::error::Result;
use attentive_base::regular_file;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorInfo};
use serde::Deserialize;

use super::{Found, Numbers, Stored, Tensors};
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
            let problem = format!("it has neither `{WHOLE}` nor `{INDEX}`");
            return Err(diagnosis::of(dir, &problem));
        }
    };
    names
        .iter()
        .try_for_each(|name| tensors.add(&dir.join(name), places))
}

fn places(file: &[u8]) -> Found {
    let (header, metadata) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let data = header + size_of::<u64>();
    let stored = |info: &TensorInfo| {
        let (start, end) = info.data_offsets;
        Stored {
            start: data + start,
            room: end - start,
            shape: info.shape.clone(),
            numbers: match info.dtype {
                Dtype::F32 => Numbers::F32,
                Dtype::F16 => Numbers::F16,
                Dtype::BF16 => Numbers::Bf16,
                other => Numbers::Other(format!("{other:?}")),
            },
        }
    };
    let found = metadata.tensors();
    Ok(found
        .iter()
        .map(|(name, info)| (name.clone(), stored(info)))
        .collect())
}

fn shards(index: &Path) -> Result<BTreeSet<String>> {
    let text = regular_file::read(index, regular_file::DESCRIPTION)?;
    let read: Index = serde_json::from_slice(&text)
        .map_err(|error| not_understood(index, format!("damaged: {error}")))?;
    let names: BTreeSet<String> = read.weight_map.into_values().collect();
    let is_plain = |name: &String| {
        Path::new(name)
            .file_name()
            .is_some_and(|file| file == name.as_str())
    };
    match names.iter().find(|name| !is_plain(name)) {
        None => Ok(names),
        Some(name) => Err(not_understood(
            index,
            format!("`{name}` is not the name of a file in this directory"),
        )),
    }
}
