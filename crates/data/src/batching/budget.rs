//! The size of batches.

use std::collections::BTreeSet;
use std::ops::Range;

use attentive_base::error::{Error, Result};

/// Lengths of an example in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExampleLengths {
    /// Number of tokens to predict.
    pub tgt: usize,
    /// Length of the encoder input.
    pub src: usize,
}

/// The shape of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize {
    /// The number of sequences.
    pub rows: usize,
    /// The length of the longest source; 0 without an encoder.
    pub src_len: usize,
    /// The length of the longest target.
    pub tgt_len: usize,
}

impl BatchSize {
    /// Returns the number of source tokens, including padding.
    pub fn src_tokens(&self) -> usize {
        self.rows * self.src_len
    }

    /// Returns the number of target tokens, including padding.
    pub fn tgt_tokens(&self) -> usize {
        self.rows * self.tgt_len
    }

    /// The size of a batch of examples of these lengths.
    pub(crate) fn of(lengths: impl ExactSizeIterator<Item = ExampleLengths>) -> Self {
        let rows = lengths.len();
        let longest = lengths.fold(ExampleLengths::default(), ExampleLengths::max_of_each);
        Self { rows, src_len: longest.src, tgt_len: longest.tgt }
    }
}

/// Chooses some of the `sizes` of an epoch's batches, in their order: the largest ones, and others from all
/// parts of the epoch.
pub(crate) fn sample(sizes: &[BatchSize]) -> Vec<BatchSize> {
    const OTHERS: usize = 24;
    let measures: [fn(&BatchSize) -> usize; 3] =
        [|size| size.src_tokens() + size.tgt_tokens(), BatchSize::src_tokens, BatchSize::tgt_tokens];
    let places = 0..sizes.len();
    let mut chosen: BTreeSet<usize> = places.clone().step_by(sizes.len().div_ceil(OTHERS).max(1)).collect();
    let largest = |measure: fn(&BatchSize) -> usize| places.clone().max_by_key(|&i| measure(&sizes[i]));
    chosen.extend(measures.into_iter().filter_map(largest));
    chosen.into_iter().map(|place| sizes[place]).collect()
}

impl ExampleLengths {
    /// The larger length on each side.
    pub(crate) fn max_of_each(self, other: Self) -> Self {
        Self { tgt: self.tgt.max(other.tgt), src: self.src.max(other.src) }
    }

    /// The smallest `batch_tokens` with which an example of these lengths fits into a batch.
    pub(crate) fn least_batch_tokens(self) -> usize {
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
    /// Returns a budget of at most `batch_tokens` target tokens, including `</s>` and padding, and at most
    /// twice as many source tokens, so that a few very long sources cannot exhaust the RAM.
    pub fn new(batch_tokens: usize) -> Self {
        Self { tgt_tokens: batch_tokens, src_tokens: batch_tokens.saturating_mul(2) }
    }

    /// The largest number of target tokens in a batch.
    pub(crate) fn tgt_tokens(self) -> usize {
        self.tgt_tokens
    }

    /// Rejects an empty corpus, which has no `least`, and a corpus with an example that needs `least` tokens
    /// if that exceeds the budget.
    pub(crate) fn check(self, least: Option<usize>) -> Result<()> {
        match least {
            None => Err(Error::Data { problem: "there are no sentence pairs to batch".into(), hint: None }),
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
    pub(crate) fn cut(self, sorted: impl Iterator<Item = ExampleLengths>) -> Vec<Range<usize>> {
        let mut batches: Vec<Range<usize>> = Vec::new();
        let mut longest = ExampleLengths::default();
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

    fn allows(self, rows: usize, longest: ExampleLengths) -> bool {
        rows * longest.tgt <= self.tgt_tokens && rows * longest.src <= self.src_tokens
    }
}
