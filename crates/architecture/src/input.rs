//! The input of a stack.

use super::layout::Layout;
use super::{Norm, Start};

/// The vectors that a stack reads, one for each position.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Content of a position.
    pub items: Items,
    /// Width of the vectors.
    pub d_model: usize,
    /// Positional vectors, added to the items.
    pub positions: AddedPositions,
    /// Norm applied to the sum.
    pub norm: Option<Norm>,
    /// Dropout on the sum; never on [`Items::Vectors`].
    pub dropout: f64,
}

/// Content of a position of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Items {
    /// A token, whose embedding is multiplied by `scale`.
    Tokens {
        /// Size of the vocabulary.
        vocab: usize,
        /// Factor of the embeddings.
        scale: f64,
        /// True if the encoder's embedding table is used.
        shared: bool,
    },
    /// A vector, used unchanged.
    Vectors,
}

/// Positional vectors that are added to the items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AddedPositions {
    /// No added positions.
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
    /// Parameters of the embedding table.
    pub(super) fn lay_out_table(&self, layout: &mut Layout) {
        if let Items::Tokens { vocab, shared: false, .. } = self.items {
            let shape = [vocab, self.d_model];
            layout.at("embedding", |layout| layout.add("weight", shape, Start::Embedding));
        }
    }

    /// Parameters of positions and norm.
    pub(super) fn lay_out_rest(&self, layout: &mut Layout) {
        if let AddedPositions::Learned { rows, .. } = self.positions {
            let shape = [rows, self.d_model];
            layout.at("positions", |layout| layout.add("learned", shape, Start::Embedding));
        }
        if let Some(norm) = &self.norm {
            norm.lay_out("norm", self.d_model, layout);
        }
    }
}
