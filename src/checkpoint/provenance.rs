//! Where a model comes from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `provenance.json`: enough to say what a model was trained on and how good it was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The program and its version.
    pub program: String,
    /// The seed of the run.
    pub seed: u64,
    /// Updates behind these weights.
    pub step: u64,
    /// The checkpoints whose mean these weights are, if they are one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub averaged_steps: Vec<u64>,
    /// The files that the run read.
    pub data: Vec<DataFile>,
    /// What validation measured of these weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<RecordedScore>,
    /// SHA-256, in hexadecimal, of the files that this provenance belongs to, by their names. Version 0.1.0 wrote none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sha256: BTreeMap<String, String>,
}

/// A data file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// What it served for: `train` or `valid`.
    pub role: String,
    /// Its path as configured, or the built-in corpus.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// A number and what it means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedScore {
    /// As in `validation BLEU`.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The metric's signature, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Provenance {
    /// The SHA-256 of the file called `name`, where it is known.
    pub fn sha256_of(&self, name: &str) -> Option<&str> {
        self.sha256.get(name).map(String::as_str)
    }

    /// The provenance of the file called `name` alone.
    pub(super) fn of_file(mut self, name: &str) -> Self {
        self.sha256.retain(|file, _| file == name);
        self
    }

    /// The name and version that this build writes.
    pub fn this_program() -> String {
        format!("attentive {}", env!("CARGO_PKG_VERSION"))
    }
}
