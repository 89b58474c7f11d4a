//! A batch of sequences as rows.

use attentive_tape::{Lengths, Value};

/// Activations of a batch of padded sequences, flattened to rows.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// `[batch · width, d_model]`: all positions of the first sequence, then of the second, …
    pub x: Value,
    /// The number of real positions of each sequence, and their common width.
    pub lengths: Lengths,
}

impl Sequence {
    /// The same sequences with other activations.
    pub fn with(&self, x: Value) -> Self {
        Self {
            x,
            lengths: self.lengths.clone(),
        }
    }

    /// The number of sequences.
    pub fn batch(&self) -> usize {
        self.lengths.rows()
    }
}
