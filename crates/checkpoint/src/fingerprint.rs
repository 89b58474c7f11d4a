//! The identity of a model.

use std::fs;
use std::path::Path;

use super::files;

/// Describes the model in the directory `model`: its provenance, which has the checksum of the weights; empty
/// if there is none.
pub fn fingerprint(model: &Path) -> String {
    fs::read_to_string(model.join(files::PROVENANCE)).unwrap_or_default()
}
