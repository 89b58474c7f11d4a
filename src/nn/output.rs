//! From the last layer to the vocabulary.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::{Embedding, Initializer, Pass};
use crate::ops::{self, CrossEntropy, Finish};

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

    /// Logits `[rows, vocab]` of the rows `x`, `[rows, d_model]`.
    pub fn logits(&self, x: Tensor<2>, embedding: &Embedding, pass: &Pass<'_>) -> Tensor<2> {
        let map = (self.weight(embedding), self.bias.as_ref().map(Param::val));
        ops::linear(x, vec![map], Finish::plain(pass.precision()))
    }

    /// The label-smoothed cross-entropy of the rows `x`, summed over those with a target.
    pub fn loss(
        &self,
        x: Tensor<2>,
        embedding: &Embedding,
        targets: &[u32],
        label_smoothing: f64,
        pass: &Pass<'_>,
    ) -> CrossEntropy {
        let bias = self.bias.as_ref().map(Param::val);
        let weight = self.weight(embedding);
        let loss = ops::cross_entropy(x, weight, bias, targets, label_smoothing, pass.precision());
        pass.observe(|| "projection".into(), &loss.loss);
        loss
    }

    fn weight(&self, embedding: &Embedding) -> Tensor<2> {
        self.projection.as_ref().unwrap_or(&embedding.weight).val()
    }
}
