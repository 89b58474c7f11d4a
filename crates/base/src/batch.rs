//! Batches, shared by data and models.

use super::body::Body;
use super::lengths::Lengths;

/// The ignore index: a target that contributes nothing to the loss.
pub const IGNORE: u32 = u32::MAX;

/// Token id in a vocabulary.
pub type TokenId = u32;

/// Token sequences of different lengths, padded to rows of equal length: each row holds its tokens, then
/// padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Padded {
    /// Token ids, `[rows, width]`, row after row.
    pub ids: Vec<TokenId>,
    /// Number of real tokens per row, and the common width.
    pub lengths: Lengths,
}

impl Padded {
    /// Pads `sequences` with `pad` to the length of the longest one.
    pub fn new<S: AsRef<[TokenId]>>(sequences: &[S], pad: TokenId) -> Self {
        let lens: Vec<usize> = sequences.iter().map(|s| s.as_ref().len()).collect();
        let width = lens.iter().copied().max().unwrap_or(0);
        let mut ids = Vec::with_capacity(width * sequences.len());
        for sequence in sequences {
            let sequence = sequence.as_ref();
            ids.extend_from_slice(sequence);
            ids.extend(std::iter::repeat_n(pad, width - sequence.len()));
        }
        Self { ids, lengths: Lengths::new(lens, width) }
    }

    /// Returns a batch of one sequence, which needs no padding.
    pub fn single(sequence: &[TokenId]) -> Self {
        Self { ids: sequence.to_vec(), lengths: Lengths::full(1, sequence.len()) }
    }

    /// Returns rows without tokens.
    pub fn empty(rows: usize) -> Self {
        Self { ids: Vec::new(), lengths: Lengths::full(rows, 0) }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.lengths.rows()
    }

    /// Returns the length of every row, which is the length of the longest sequence.
    pub fn width(&self) -> usize {
        self.lengths.width()
    }

    /// Returns the number of real tokens per row.
    pub fn lens(&self) -> &[usize] {
        self.lengths.lens()
    }
}

/// Sequences that an encoder reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Src {
    /// Sources closed by `</s>`, tokens to label, or masked texts.
    Tokens(Padded),
    /// Vectors in place of tokens.
    Vectors {
        /// `[rows, width, d_input]`, zero at padding.
        values: Vec<f32>,
        /// The width of a vector.
        d_input: usize,
        /// Number of real vectors per row, and the common width.
        lengths: Lengths,
    },
}

impl Src {
    /// Returns the number of real positions per row, and the common width.
    pub fn lengths(&self) -> &Lengths {
        match self {
            Self::Tokens(tokens) => &tokens.lengths,
            Self::Vectors { lengths, .. } => lengths,
        }
    }

    /// Returns the tokens; `None` for vectors.
    pub fn tokens(&self) -> Option<&Padded> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            Self::Vectors { .. } => None,
        }
    }
}

impl From<Padded> for Src {
    fn from(tokens: Padded) -> Self {
        Self::Tokens(tokens)
    }
}

/// A source position to which the prediction of a target position belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignedPositions {
    /// The number of the sequence in its batch.
    pub row: u32,
    /// The position whose token is predicted.
    pub tgt: u32,
    /// The position in the source.
    pub src: u32,
    /// The share of the source position; the shares of a target position add up to the weight of the row.
    pub share: f32,
}

/// Sequences prepared for teacher forcing, as the body of a model reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The inputs of each part of the model. The decoder reads `<s>` and the target tokens.
    pub inputs: Body<Src, Padded>,
    /// Expected output: the target tokens and `</s>`, or tags, or one label, or the original tokens at masks.
    /// Without tokens if it is not known.
    pub tgt_out: Padded,
    /// Corpus line of each row, starting at 1; empty for windows of a stream.
    pub lines: Vec<usize>,
    /// The factor of the loss of each row; empty if all are 1.
    pub weights: Vec<f32>,
    /// The alignments that attention is to follow, in the order of rows and target positions; empty if there
    /// are none.
    pub aligned: Vec<AlignedPositions>,
}

impl Batch {
    /// Creates a batch that only serves to compute outputs.
    pub fn of(inputs: Body<Src, Padded>) -> Self {
        Self {
            inputs,
            tgt_out: Padded::default(),
            lines: Vec::new(),
            weights: Vec::new(),
            aligned: Vec::new(),
        }
    }

    /// Returns what the encoder reads, if there is an encoder.
    pub fn src(&self) -> Option<&Src> {
        self.inputs.encoder()
    }

    /// Returns the tokens that the encoder reads, if it reads tokens.
    pub fn src_tokens(&self) -> Option<&Padded> {
        self.src()?.tokens()
    }

    /// Returns the tokens that the decoder reads, if there is a decoder.
    pub fn tgt_in(&self) -> Option<&Padded> {
        self.inputs.decoder()
    }
}
