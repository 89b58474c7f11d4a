//! The identity of program and model, which must be the same in all processes that share the work of a
//! command.

use std::path::Path;

use attentive_checkpoint as checkpoint;

/// Describes the program and the model in the directory `model`.
pub(super) fn fingerprint(model: &Path) -> String {
    format!("{}\n{}", env!("CARGO_PKG_VERSION"), checkpoint::fingerprint(model))
}
