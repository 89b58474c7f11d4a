//! The size of batches.

use std::ops::Range;

use attentive_base::error::{Error, Result};

/// Lengths of an example in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lengths {
    /// Number of tokens to predict.
    pub tgt: usize,
    /// Length of the encoder input.
    pub src: usize,
}

/// Number of tokens in a batch, including padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize {
    /// Source tokens.
    pub src_tokens: usize,
    /// Target tokens.
    pub tgt_tokens: usize,
}

impl BatchSize {
    /// The size of a batch of examples of these lengths.
    pub(super) fn of(lengths: impl ExactSizeIterator<Item = Lengths>) -> Self {
        let rows = lengths.len();
        let longest = lengths.fold(Lengths::default(), Lengths::max_of_each);
        Self {
            src_tokens: rows * longest.src,
            tgt_tokens: rows * longest.tgt,
        }
    }

    /// The larger number of tokens on each side.
    pub(super) fn max_of_each(self, other: Self) -> Self {
        Self {
            src_tokens: self.src_tokens.max(other.src_tokens),
            tgt_tokens: self.tgt_tokens.max(other.tgt_tokens),
        }
    }
}

impl Lengths {
    /// The larger length on each side.
    pub(super) fn max_of_each(self, other: Self) -> Self {
        Self {
            tgt: self.tgt.max(other.tgt),
            src: self.src.max(other.src),
        }
    }

    /// The smallest `batch_tokens` with which an example of these lengths fits into a batch.
    pub(super) fn least_batch_tokens(self) -> usize {
        self.tgt.max(self.src.div_ceil(2))
    }
}

/// Maximum size of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    tgt_tokens: usize,
    src_tokens: usize,
}

impl Budget {
    /// Returns a budget of at most `batch_tokens` target tokens, including `</s>` and padding, and at most twice as many source
    /// tokens, so that a few very long sources cannot exhaust the RAM.
    pub fn new(batch_tokens: usize) -> Self {
        Self {
            tgt_tokens: batch_tokens,
            src_tokens: batch_tokens.saturating_mul(2),
        }
    }

    /// The largest number of target tokens in a batch.
    pub(super) fn tgt_tokens(self) -> usize {
        self.tgt_tokens
    }

    /// Rejects an empty corpus, which has no `least`, and a corpus with an example that needs `least` tokens if that exceeds
    /// the budget.
    pub(super) fn check(self, least: Option<usize>) -> Result<()> {
        match least {
            None => Err(Error::Data {
                problem: "there are no sentence pairs to batch".into(),
                hint: None,
            }),
            Some(needed) if needed > self.tgt_tokens => Err(Error::Config {
                key: "train.batch_tokens".into(),
                expected: format!("at least {needed}, which the longest sentence pair needs"),
                found: self.tgt_tokens.to_string(),
                hint: Some("raise it, or lower `data.max_len` to drop long sentences".into()),
            }),
            Some(_) => Ok(()),
        }
    }

    /// Divides examples sorted by length into batches within the budget.
    pub(super) fn cut(self, sorted: impl Iterator<Item = Lengths>) -> Vec<Range<usize>> {
        let mut batches: Vec<Range<usize>> = Vec::new();
        let mut longest = Lengths::default();
        for (index, lengths) in sorted.enumerate() {
            longest = longest.max_of_each(lengths);
            match batches.last_mut() {
                Some(batch) if self.allows(batch.len() + 1, longest) => batch.end += 1,
                _ => {
                    batches.push(index..index + 1);
                    longest = lengths;
                }
            }
        }
        batches
    }

    fn allows(self, rows: usize, longest: Lengths) -> bool {
        rows * longest.tgt <= self.tgt_tokens && rows * longest.src <= self.src_tokens
    }
}
