//! Token embeddings.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Scope;

/// A table of token vectors.
#[derive(Module, Debug)]
pub struct Embedding {
    /// `[vocab, d_model]`
    pub weight: Param<Tensor<2>>,
}

impl Embedding {
    /// The table at `scope`.
    pub fn new(scope: Scope<'_>) -> Self {
        Self {
            weight: scope.parameter("weight"),
        }
    }
}
