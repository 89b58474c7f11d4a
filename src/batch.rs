//! The batches that data and models share.

/// In place of a target: nothing is to be predicted here.
use attentive_kernels::Lengths;
pub use attentive_kernels::cross_entropy::IGNORE;

/// A token's number in a vocabulary.
pub type TokenId = u32;

/// Token sequences of different lengths in rows of one width: each row holds its tokens, then padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Padded {
    /// Token ids, `[rows, width]`, row after row.
    pub ids: Vec<TokenId>,
    /// Real tokens of each row, and the width of all.
    pub lengths: Lengths,
}

impl Padded {
    /// Puts `sequences` into rows as long as the longest, filled up with `pad`.
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

    /// A single sequence, which needs no padding.
    pub fn single(sequence: &[TokenId]) -> Self {
        Self {
            ids: sequence.to_vec(),
            lengths: Lengths::full(1, sequence.len()),
        }
    }

    /// Rows without tokens.
    pub fn empty(rows: usize) -> Self {
        Self {
            ids: Vec::new(),
            lengths: Lengths::full(rows, 0),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.lengths.rows()
    }

    /// Length of every row: that of the longest.
    pub fn width(&self) -> usize {
        self.lengths.width()
    }

    /// Real tokens of each row.
    pub fn lens(&self) -> &[usize] {
        self.lengths.lens()
    }

    /// Real tokens in all rows.
    pub fn n_tokens(&self) -> usize {
        self.lengths.total()
    }
}

/// Sentence pairs ready for teacher forcing, or what stands for them where a family has no encoder or no decoder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// What the encoder reads: source tokens closed by `</s>`, or tokens to label, or a text with masks.
    pub src: Padded,
    /// `[rows, src.width, d_input]`: vectors that the encoder reads in place of tokens; empty if it reads tokens.
    pub vectors: Vec<f32>,
    /// What the decoder reads: `<s>` and the target tokens.
    pub tgt_in: Padded,
    /// What is to be predicted: the target tokens and `</s>`, or tags, or what is behind the masks.
    pub tgt_out: Padded,
    /// The corpus line of each row, counted from 1; none for windows of a stream.
    pub lines: Vec<usize>,
}
