//! The input of a stack.

use super::NormSpec;

/// The vectors that a stack reads, one for each position.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSpec {
    /// Content of a position.
    pub items: Items,
    /// Width of the vectors.
    pub d_model: usize,
    /// Positional vectors, added to the items.
    pub positions: AddedPositions,
    /// Norm applied to the sum.
    pub norm: Option<NormSpec>,
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
