//! Batches, shared by data and models.

use attentive_kernels::Lengths;

/// The ignore index: a target that contributes nothing to the loss.
pub use attentive_kernels::cross_entropy::IGNORE;

/// Token id in a vocabulary.
pub type TokenId = u32;

/// Token sequences of different lengths, padded to rows of equal length: each row holds its tokens, then padding.
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
        Self {
            ids,
            lengths: Lengths::new(lens, width),
        }
    }

    /// Returns a batch of one sequence, which needs no padding.
    pub fn single(sequence: &[TokenId]) -> Self {
        Self {
            ids: sequence.to_vec(),
            lengths: Lengths::full(1, sequence.len()),
        }
    }

    /// Returns rows without tokens.
    pub fn empty(rows: usize) -> Self {
        Self {
            ids: Vec::new(),
            lengths: Lengths::full(rows, 0),
        }
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

/// Sentence pairs prepared for teacher forcing, or the equivalent for models without an encoder or a decoder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Encoder input: source tokens closed by `</s>`, tokens to label, or a masked text.
    pub src: Padded,
    /// `[rows, src.width, d_input]`: vectors that the encoder reads instead of tokens; empty if it reads tokens.
    pub vectors: Vec<f32>,
    /// Decoder input: `<s>` and the target tokens.
    pub tgt_in: Padded,
    /// Expected output: the target tokens and `</s>`, or tags, or the original tokens at masks.
    pub tgt_out: Padded,
    /// Corpus line of each row, starting at 1; empty for windows of a stream.
    pub lines: Vec<usize>,
}
