//! Token embeddings.

use attentive_tape::Param;

use super::Scope;

/// A table of token vectors.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[vocab, d_model]`
    pub weight: Param,
}

impl Embedding {
    /// The table at `scope`.
    pub fn new(scope: Scope<'_>) -> Self {
        Self {
            weight: scope.parameter("weight"),
        }
    }
}
