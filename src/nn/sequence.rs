//! A batch of sequences as rows.

use burn::tensor::Tensor;

use crate::ops::Lengths;

/// Activations of a batch of equally long (padded) sequences, flattened to rows.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// `[batch · len, d_model]`: all positions of the first sequence, then of the second, …
    pub x: Tensor<2>,
    /// Number of sequences.
    pub batch: usize,
    /// Positions of each, padding included.
    pub len: usize,
    /// Which positions are padding.
    pub pad: Lengths,
}

impl Sequence {
    /// The same sequences with other activations.
    pub fn with(&self, x: Tensor<2>) -> Self {
        Self { x, ..self.clone() }
    }
}
