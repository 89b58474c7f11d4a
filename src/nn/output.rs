//! From the last layer to the vocabulary.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::{Embedding, Initializer};
use crate::ops::Map;

/// The output projection, which may be an embedding's table (Press and Wolf 2017).
#[derive(Module, Debug)]
pub struct Output {
    /// `[vocab, d_model]`, unless an embedding's table takes its place.
    pub projection: Option<Param<Tensor<2>>>,
    /// `[vocab]`
    pub bias: Option<Param<Tensor<1>>>,
}

impl Output {
    /// A projection of its own if not `tied`, and a bias if asked for.
    pub fn new(
        d_model: usize,
        vocab: usize,
        tied: bool,
        bias: bool,
        init: &mut Initializer,
    ) -> Self {
        Self {
            projection: (!tied).then(|| init.weight(d_model, vocab)),
            bias: bias.then(|| init.bias(d_model, vocab)),
        }
    }

    /// The linear map from the last layer to logits; `embedding` is what it may be tied with.
    pub fn as_map(&self, embedding: &Embedding) -> Map {
        let weight = self.projection.as_ref().unwrap_or(&embedding.weight);
        Map::dense(weight.val(), self.bias.as_ref().map(Param::val))
    }
}
