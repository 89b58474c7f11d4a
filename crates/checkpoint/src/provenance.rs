//! The origin of a model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{StoredNumbers, files};

/// `provenance.json`: records what a model was trained on and how well it scored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The program and its version.
    pub program: String,
    /// The seed of the run.
    pub seed: u64,
    /// The number of updates after which these weights were saved.
    pub step: u64,
    /// The updates of the averaged checkpoints, if these weights are an average.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub averaged_steps: Vec<u64>,
    /// The model from which training started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ParentModel>,
    /// The model of another tool that was imported, unless it was trained since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The files that the run read.
    pub data: Vec<DataFile>,
    /// The validation scores of these weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<RecordedScore>,
    /// The number type in which the imported model was stored, also the one from which training started.
    #[serde(default, skip_serializing_if = "is_single")]
    pub numbers: StoredNumbers,
    /// SHA-256 (hexadecimal) of the files described by this provenance, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sha256: BTreeMap<String, String>,
}

/// A model from which another one was trained, as it was at that time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentModel {
    /// Its configured directory.
    pub path: String,
    /// SHA-256 of its weights (hexadecimal), if its provenance has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A model of another tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Its directory, or the file of its weights.
    pub path: String,
    /// Its kind, as its tool calls it.
    pub kind: String,
}

/// A data file at the time it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Its use: `train` or `valid`.
    pub role: String,
    /// Its configured path, or the name of the built-in corpus.
    pub path: String,
    /// SHA-256 of its bytes (hexadecimal).
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A score and its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedScore {
    /// The name, such as `validation BLEU`.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The metric's signature, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

// The signature is the one that serde requires.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_single(numbers: &StoredNumbers) -> bool {
    *numbers == StoredNumbers::F32
}

impl Provenance {
    /// Returns the SHA-256 of the file `name`, if known.
    pub fn sha256_of(&self, name: &str) -> Option<&str> {
        self.sha256.get(name).map(String::as_str)
    }

    /// This provenance with only the checksums of the weights.
    pub(super) fn of_weights(mut self) -> Self {
        self.sha256.retain(|file, _| [files::WEIGHTS, files::FROZEN].contains(&file.as_str()));
        self
    }

    /// Returns the name and version of this program.
    pub fn this_program() -> String {
        format!("attentive {}", env!("CARGO_PKG_VERSION"))
    }
}
