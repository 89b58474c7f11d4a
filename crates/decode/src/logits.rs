//! Logits as plain numbers.

use attentive_base::batch::TokenId;
use attentive_tape::Value;

/// The logits of several rows, such as those of the next token of each row of a decoder's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Logits {
    values: Vec<f32>,
    vocab: usize,
}

impl Logits {
    /// Rows of `vocab` logits each, one after another.
    ///
    /// # Panics
    /// If `values` are not whole rows.
    pub fn new(values: Vec<f32>, vocab: usize) -> Self {
        assert!(
            vocab > 0 && values.len().is_multiple_of(vocab),
            "{} logits in rows of {vocab}",
            values.len()
        );
        Self { values, vocab }
    }

    /// Returns the number of logits of a row.
    pub fn vocab(&self) -> usize {
        self.vocab
    }

    /// Returns all logits, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.vocab)
    }
}

impl From<Value> for Logits {
    /// The values of a matrix `[rows, vocab]`.
    fn from(logits: Value) -> Self {
        let [_, vocab] = logits.shape();
        Self::new(logits.into_vec(), vocab)
    }
}

/// Returns the index of the largest logit of each row; ties go to the lowest index.
pub fn argmax(logits: impl Into<Logits>) -> Vec<TokenId> {
    let best = |row: &[f32]| {
        let better = |best: usize, id: usize| if row[id] > row[best] { id } else { best };
        (0..row.len()).reduce(better).unwrap_or(0) as TokenId
    };
    logits.into().rows().map(best).collect()
}
