//! The identity of program and model, which must be the same in all processes that share the work of a
//! command.

use std::fs;
use std::path::Path;

use attentive_checkpoint::files;

/// Describes the program and the model in the directory `model`: its provenance has the checksum of the
/// weights.
pub(super) fn fingerprint(model: &Path) -> String {
    let provenance = fs::read_to_string(model.join(files::PROVENANCE)).unwrap_or_default();
    format!("{}\n{provenance}", env!("CARGO_PKG_VERSION"))
}
