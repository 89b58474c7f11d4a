//! Tensors in safetensors files, mapped into memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use attentive_kernels::mapped::Mapped;
use half::{bf16, f16};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorInfo};
use serde::Deserialize;

use super::keys::not_understood;
use crate::error::{Error, Result};

const WHOLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const PICKLED: [&str; 2] = ["pytorch_model.bin", "pytorch_model.bin.index.json"];

/// The tensors of a model.
#[derive(Debug)]
pub(super) struct Tensors {
    dir: PathBuf,
    files: Vec<Mapped>,
    found: BTreeMap<String, Place>,
}

/// Where a tensor is.
#[derive(Debug)]
struct Place {
    file: usize,
    /// The first byte after the file's header.
    data: usize,
    info: TensorInfo,
}

/// `model.safetensors.index.json`
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Tensors {
    /// Those of the model directory `dir`, in one file or in several with an index.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let names: BTreeSet<String> = match (dir.join(WHOLE).exists(), dir.join(INDEX).exists()) {
            (true, _) => BTreeSet::from([WHOLE.to_owned()]),
            (false, true) => shards(&dir.join(INDEX))?,
            (false, false) => return Err(missing(dir)),
        };
        let mut tensors = Self {
            dir: dir.to_path_buf(),
            files: Vec::new(),
            found: BTreeMap::new(),
        };
        for name in names {
            tensors.add(&dir.join(name))?;
        }
        Ok(tensors)
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        let mapped = Mapped::open(&file).map_err(Error::io("read", path))?;
        let (header, metadata) = SafeTensors::read_metadata(&mapped)
            .map_err(|error| not_understood(path, format!("damaged: {error}")))?;
        let data = header + size_of::<u64>();
        for (name, info) in metadata.tensors() {
            let place = Place {
                file: self.files.len(),
                data,
                info: info.clone(),
            };
            if self.found.insert(name.clone(), place).is_some() {
                let problem = format!("tensor `{name}` is in another file, too");
                return Err(not_understood(path, problem));
            }
        }
        self.files.push(mapped);
        Ok(())
    }

    /// The names of all tensors.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.found.keys().map(String::as_str)
    }

    /// Whether there is a tensor `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    /// The shape of tensor `name`.
    pub(super) fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.place(name)?.info.shape)
    }

    /// Refuses number types that cannot be read.
    pub(super) fn check_type(&self, name: &str) -> Result<()> {
        match self.place(name)?.info.dtype {
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => Ok(()),
            other => Err(not_understood(
                &self.dir,
                format!("tensor `{name}` holds {other:?}; F32, F16 and BF16 can be read"),
            )),
        }
    }

    /// The values of tensor `name`.
    ///
    /// # Panics
    /// If [`Tensors::check_type`] refuses its type.
    pub(super) fn values(&self, name: &str) -> Result<Vec<f32>> {
        let Place { file, data, info } = self.place(name)?;
        let (start, end) = info.data_offsets;
        let bytes = &self.files[*file][data + start..data + end];
        let of_halves = |number: fn([u8; 2]) -> f32| {
            let (halves, _) = bytes.as_chunks();
            halves.iter().map(|&half| number(half)).collect()
        };
        Ok(match info.dtype {
            Dtype::F32 => {
                let (numbers, _) = bytes.as_chunks();
                numbers
                    .iter()
                    .map(|&number| f32::from_le_bytes(number))
                    .collect()
            }
            Dtype::F16 => of_halves(|half| f16::from_le_bytes(half).to_f32()),
            Dtype::BF16 => of_halves(|half| bf16::from_le_bytes(half).to_f32()),
            other => panic!("{other:?} was not refused"),
        })
    }

    fn place(&self, name: &str) -> Result<&Place> {
        self.found
            .get(name)
            .ok_or_else(|| not_understood(&self.dir, format!("tensor `{name}` is missing")))
    }
}

fn shards(index: &Path) -> Result<BTreeSet<String>> {
    let text = std::fs::read(index).map_err(Error::io("read", index))?;
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

fn missing(dir: &Path) -> Error {
    match PICKLED.iter().find(|name| dir.join(name).exists()) {
        None => not_understood(dir, format!("it has neither `{WHOLE}` nor `{INDEX}`")),
        Some(name) => Error::Model {
            path: dir.join(name),
            problem: "a pickled file can run any program when it is read, so it is not read".into(),
            hint: Some(
                "write safetensors with Python: \
                 `from transformers import AutoModel; AutoModel.from_pretrained(DIR).save_pretrained(DIR)`, \
                 with the class that `architectures` in `config.json` names in place of `AutoModel`"
                    .into(),
            ),
        },
    }
}
