//! What a stack reads.

use super::layout::Layout;
use super::{Norm, Start};

/// A sequence as vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// What a position holds.
    pub items: Items,
    /// Width of the vectors.
    pub d_model: usize,
    /// Vectors added for each position.
    pub positions: AddedPositions,
    /// A norm of the sum.
    pub norm: Option<Norm>,
    /// Dropout on the sum; never on [`Items::Vectors`].
    pub dropout: f64,
}

/// What a position of a sequence holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Items {
    /// A token, whose embedding is multiplied by `scale`.
    Tokens {
        /// Tokens of the vocabulary.
        vocab: usize,
        /// Multiplies embeddings.
        scale: f64,
        /// Takes the encoder's embedding table in place of an own one.
        shared: bool,
    },
    /// A vector of numbers, read as it is.
    Vectors,
}

/// Vectors that are added for each position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AddedPositions {
    /// None.
    None,
    /// Sines and cosines of the position.
    Sinusoidal(Sinusoids),
    /// A learned vector for each of `rows` positions; position 0 takes row `offset`.
    Learned {
        /// Rows of the table.
        rows: usize,
        /// The row of position 0.
        offset: usize,
    },
}

/// The layout of sinusoidal positions: angles t = position / 10000^e.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sinusoids {
    /// sin t and cos t interleaved, e = 2i/d (*Attention Is All You Need*, section 3.5).
    Interleaved,
    /// All sines before all cosines, e = 2i/d.
    Concatenated,
    /// All sines before all cosines, e = i/(d/2 − 1), as in Tensor2Tensor, Marian and fairseq.
    Tensor2tensor,
}

impl Input {
    /// The embedding table.
    pub(super) fn lay_out_table(&self, layout: &mut Layout) {
        if let Items::Tokens {
            vocab,
            shared: false,
            ..
        } = self.items
        {
            let shape = [vocab, self.d_model];
            layout.at("embedding", |layout| {
                layout.add("weight", shape, Start::Embedding)
            });
        }
    }

    /// Positions and norm.
    pub(super) fn lay_out_rest(&self, layout: &mut Layout) {
        if let AddedPositions::Learned { rows, .. } = self.positions {
            let shape = [rows, self.d_model];
            layout.at("positions", |layout| {
                layout.add("learned", shape, Start::Embedding)
            });
        }
        if let Some(norm) = &self.norm {
            norm.lay_out("norm", self.d_model, layout);
        }
    }
}
