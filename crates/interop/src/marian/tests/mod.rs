//! Tests that small random models (scripts/fixtures/marian.py) compute the formulas of Marian.

mod computation;
mod files;
mod options;
mod real;
mod shortlists;
mod vocabularies;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::body::Body;
use attentive_checkpoint::{self as checkpoint, LoadedWeights};
use attentive_config::{LengthPenaltyFormula, ModelConfig};
use attentive_model::nn::Pass;
use attentive_pipeline::Pipeline;
use attentive_samples::rows;
use attentive_text::Languages;

use super::*;

const KINDS: [&str; 4] = ["npz", "prenorm", "ssru", "firefox"];
const FIREFOX: &str = "model.xxyy.intgemm.alphas.bin";
const LEXICON: &str = "lex.50.50.xxyy.s2t.bin";
/// Lengths of the sources of `expected.npz`.
const LENGTHS: [usize; 2] = [1, 5];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn fixture(kind: &str) -> PathBuf {
    fixtures().join("marian").join(kind)
}

/// A copy of the fixture `kind`.
fn copied(kind: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(kind)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

/// The model directory written from `foreign`.
fn written(foreign: ForeignModel) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model");
    foreign.write(&out).unwrap();
    (folder, out)
}

fn imported(path: &Path) -> (tempfile::TempDir, PathBuf) {
    written(ForeignModel::open(path, None, &Languages::default()).unwrap())
}

fn refusal(path: &Path) -> String {
    ForeignModel::open(path, None, &Languages::default()).unwrap_err().to_string()
}

/// The fixture `kind` as a binary file, with `options` changed and other tensors.
pub(crate) fn changed(
    kind: &str,
    change: impl FnOnce(String) -> String,
    add: &[(&str, usize)],
) -> tempfile::TempDir {
    let folder = copied(kind);
    let path = folder.path().join("model.npz");
    let tensors = Tensors::npz(&path).unwrap();
    let options = String::from_utf8(tensors.bytes(OPTIONS).unwrap().to_vec()).unwrap();
    let options = change(options.trim_end_matches('\0').to_owned());
    let mut items: Vec<Item> = tensors
        .names()
        .filter(|name| *name != OPTIONS)
        .map(|name| {
            let bytes = tensors.bytes(name).unwrap().to_vec();
            (name.to_owned(), 0x404, tensors.shape(name).unwrap().to_vec(), bytes)
        })
        .collect();
    items.push((OPTIONS.into(), 0x101, vec![options.len()], options.into()));
    for &(name, size) in add {
        items.push((name.into(), 0x404, vec![1, size], vec![0; 4 * size]));
    }
    fs::write(folder.path().join("model.bin"), binary(&items)).unwrap();
    fs::remove_file(path).unwrap();
    let _ = fs::remove_file(folder.path().join("decoder.yml"));
    folder
}

/// Name, type, shape and bytes of a tensor.
type Item = (String, u64, Vec<usize>, Vec<u8>);

fn binary(items: &[Item]) -> Vec<u8> {
    let number = |number: usize| (number as u64).to_le_bytes();
    let mut file = [number(1), number(items.len())].concat();
    for (name, kind, shape, data) in items {
        let header = [name.len() + 1, *kind as usize, shape.len(), data.len()];
        file.extend(header.map(number).concat());
    }
    for (name, ..) in items {
        file.extend([name.as_bytes(), &[0]].concat());
    }
    for (_, _, shape, _) in items {
        file.extend(shape.iter().flat_map(|&size| (size as i32).to_le_bytes()));
    }
    file.extend(number(3));
    file.extend([0; 3]);
    items.iter().for_each(|(.., data)| file.extend(data));
    file
}

/// Updates the checksum of a shortlist.
pub(crate) fn mend_shortlist(list: &mut [u8]) {
    let mut sum = 0u64;
    for word in list.chunks_exact(8).skip(2) {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        let term = (0x9e37_79b9u64.wrapping_add(word)).wrapping_add(sum << 6);
        sum ^= term.wrapping_add(sum >> 2);
    }
    if let Some(place) = list.get_mut(8..16) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}
