//! A vector for each token.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Initializer;
use crate::ops;

/// A table of token vectors.
#[derive(Module, Debug)]
pub struct Embedding {
    /// `[vocab, d_model]`
    pub weight: Param<Tensor<2>>,
}

impl Embedding {
    /// A table of `vocab` vectors.
    pub fn new(vocab: usize, d_model: usize, init: &mut Initializer) -> Self {
        Self {
            weight: init.embedding(vocab, d_model),
        }
    }

    /// `scale` times the vectors of `ids`: `[ids.len(), d_model]`.
    pub fn forward(&self, ids: &[u32], scale: f64) -> Tensor<2> {
        ops::embedding(ids, self.weight.val(), scale)
    }
}
