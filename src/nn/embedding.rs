//! A vector for each token.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::{Initializer, PositionEncoding};
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

    /// dropout(`scale` · vector of the token + position), for `batch` sequences whose first position is `first`:
    /// `[ids.len(), d_model]`.
    pub fn forward(
        &self,
        ids: &[u32],
        batch: usize,
        first: usize,
        scale: f64,
        positions: Option<&PositionEncoding>,
        dropout: Option<ops::Dropout>,
    ) -> Tensor<2> {
        let table = self.weight.val();
        match positions {
            Some(positions) if positions.learned.is_some() => {
                let x = ops::embedding(ids, table, scale, None, None);
                ops::dropout_add(positions.add_learned(x, batch, first), None, dropout)
            }
            positions => {
                let len = ids.len() / batch.max(1);
                let rows = positions.and_then(|positions| positions.fixed_rows(first, len));
                ops::embedding(ids, table, scale, rows, dropout)
            }
        }
    }
}
