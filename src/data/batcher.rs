//! Batches of examples of similar length, within a token budget, in an order that can be resumed at any point.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::encoded::Example;
use super::masking::Masking;
use crate::batch::{Batch, Padded, TokenId};
use crate::error::{Error, Result};
use crate::random::Random;
use crate::text::{Sides, SpecialTokens};

/// Base of the random streams that shuffle the epochs; epoch `n` uses this plus `n`.
const FIRST_STREAM: u64 = 0x6261_7463_6865_7300;

/// Pairs are sorted by length within windows of about this many batches.
const BATCHES_PER_WINDOW: usize = 100;

/// Maximum size of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    tgt_tokens: usize,
    src_tokens: usize,
}

impl Budget {
    /// At most `batch_tokens` target tokens, including `</s>` and padding, and at most twice as many source tokens,
    /// so that a few very long sources cannot exhaust the RAM.
    pub fn new(batch_tokens: usize) -> Self {
        Self {
            tgt_tokens: batch_tokens,
            src_tokens: batch_tokens.saturating_mul(2),
        }
    }

    fn allows(&self, rows: usize, src_len: usize, tgt_len: usize) -> bool {
        rows * tgt_len <= self.tgt_tokens && rows * src_len <= self.src_tokens
    }

    /// The smallest `batch_tokens` with which every pair fits into a batch, or `None` without pairs.
    fn least(pairs: &[Example]) -> Option<usize> {
        let needed = |pair: &Example| pair.tgt_len().max(pair.src_len().div_ceil(2));
        pairs.iter().map(needed).max()
    }

    /// Rejects an empty corpus, and any pair that exceeds the budget.
    fn check(&self, pairs: &[Example]) -> Result<()> {
        match Self::least(pairs) {
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
}

/// Number of tokens in a batch, including padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize {
    /// Source tokens.
    pub src_tokens: usize,
    /// Target tokens.
    pub tgt_tokens: usize,
}

/// A position in the endless sequence of batches: that of the next batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Number of completed epochs.
    pub epoch: u64,
    /// Number of batches of this epoch that have been returned.
    pub batch: usize,
}

impl Position {
    /// Rejects a position beyond its epoch, which has `n_batches`.
    pub(super) fn check(self, n_batches: usize) -> Result<()> {
        let Self { epoch, batch } = self;
        if batch < n_batches {
            return Ok(());
        }
        Err(Error::Data {
            problem: format!(
                "cannot resume at batch {batch} of epoch {epoch}, which has {n_batches} batches"
            ),
            hint: Some("the training data differ from those of the saved run: restore them, or start a new run".into()),
        })
    }
}

/// An endless sequence of batches, with each pair once per epoch.
///
/// Each epoch is shuffled, then pairs of similar length are grouped into batches, and the batches are shuffled. The
/// order depends only on the pairs, the budget, the seed and the epoch.
#[derive(Clone, Debug)]
pub struct Batcher {
    examples: Vec<Example>,
    budget: Budget,
    seed: u64,
    special: Sides,
    /// For masked language models.
    masking: Option<Masking>,
    position: Position,
    /// Order of the pairs in the current epoch, and its division into batches.
    order: Vec<usize>,
    batches: Vec<Range<usize>>,
}

impl Batcher {
    /// Starts at the first batch of epoch 0.
    ///
    /// # Errors
    /// [`Error::Config`] if a single pair exceeds the budget, [`Error::Data`] if there are no pairs.
    pub fn new(
        examples: Vec<Example>,
        budget: Budget,
        seed: u64,
        special: impl Into<Sides>,
        masking: Option<Masking>,
    ) -> Result<Self> {
        budget.check(&examples)?;
        let (position, order, batches) = (Position::default(), vec![], vec![]);
        let mut batcher = Self {
            examples,
            budget,
            seed,
            special: special.into(),
            masking,
            position,
            order,
            batches,
        };
        batcher.plan(0);
        Ok(batcher)
    }

    /// The position of the next batch. After the last batch of an epoch, this is the first one of the next epoch.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Moves to a position returned by [`Batcher::position`]: the same batches follow as then.
    ///
    /// # Errors
    /// [`Error::Data`] if the epoch has no such batch, which means that the position belongs to another corpus.
    pub fn seek(&mut self, position: Position) -> Result<()> {
        self.plan(position.epoch);
        position.check(self.batches.len())?;
        self.position = position;
        Ok(())
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Batch {
        let chosen = &self.order[self.batches[self.position.batch].clone()];
        let mut batch = assemble(
            chosen.iter().map(|&index| &self.examples[index]),
            self.special,
        );
        if let Some(masking) = self.masking {
            masking.apply(&mut batch, self.position.epoch);
        }
        self.position.batch += 1;
        if self.position.batch == self.batches.len() {
            self.plan(self.position.epoch + 1);
        }
        batch
    }

    /// Number of batches in the current epoch. It varies slightly between epochs, as different pairs are grouped.
    pub fn batches_per_epoch(&self) -> usize {
        self.batches.len()
    }

    /// The maximum number of source and of target tokens over all batches of the current epoch.
    pub fn largest(&self) -> BatchSize {
        self.largest_of(&self.order, &self.batches)
    }

    /// The result of [`Batcher::largest`] for another budget, into which every pair must fit.
    pub fn largest_within(&self, budget: Budget) -> BatchSize {
        let (order, batches) = self.laid_out(budget, self.position.epoch);
        self.largest_of(&order, &batches)
    }

    /// The smallest `batch_tokens` with which every pair fits.
    pub fn least_batch_tokens(&self) -> usize {
        Budget::least(&self.examples).unwrap_or(0)
    }

    /// Upper bound of the size of the pairs and their order, in bytes.
    pub fn bytes(&self) -> usize {
        // Allocator overhead of a small block.
        const BLOCK: usize = 16;
        let ids = |example: &Example| {
            let vectors = example.vectors.capacity();
            example.src.capacity()
                + vectors
                + example.tgt_in.capacity()
                + example.tgt_out.capacity()
        };
        let ids: usize = self.examples.iter().map(ids).sum();
        let each =
            size_of::<Example>() + 3 * BLOCK + size_of::<usize>() + size_of::<Range<usize>>();
        ids * size_of::<TokenId>() + self.examples.len() * each
    }

    fn largest_of(&self, order: &[usize], batches: &[Range<usize>]) -> BatchSize {
        let mut largest = BatchSize::default();
        for batch in batches {
            let pairs = || order[batch.clone()].iter().map(|&i| &self.examples[i]);
            let longest = |len: fn(&Example) -> usize| pairs().map(len).max().unwrap_or(0);
            let tokens = |len: fn(&Example) -> usize| batch.len() * longest(len);
            largest.src_tokens = largest.src_tokens.max(tokens(Example::src_len));
            largest.tgt_tokens = largest.tgt_tokens.max(tokens(Example::tgt_len));
        }
        largest
    }

    /// Lays out `epoch` and moves to its beginning.
    fn plan(&mut self, epoch: u64) {
        (self.order, self.batches) = self.laid_out(self.budget, epoch);
        self.position = Position { epoch, batch: 0 };
    }

    /// The order of the pairs in `epoch`, and its division into batches.
    fn laid_out(&self, budget: Budget, epoch: u64) -> (Vec<usize>, Vec<Range<usize>>) {
        let mut random = Random::new(self.seed, FIRST_STREAM.wrapping_add(epoch));
        let mut order: Vec<usize> = (0..self.examples.len()).collect();
        random.shuffle(&mut order);
        let (mut batches, mut start) = (Vec::new(), 0);
        for window in order.chunks_mut(window_len(&self.examples, budget)) {
            // The sort is stable, so pairs of equal lengths remain shuffled.
            window.sort_by_key(|&index| lengths(&self.examples[index]));
            let sorted = window.iter().map(|&index| &self.examples[index]);
            batches.extend(
                cut(sorted, budget)
                    .into_iter()
                    .map(|batch| batch.start + start..batch.end + start),
            );
            start += window.len();
        }
        random.shuffle(&mut batches);
        (order, batches)
    }
}

/// All examples in batches of similar length, shortest first, for validation. Masks, if any, are always the same.
///
/// # Errors
/// [`Error::Config`] if a single pair exceeds the budget, [`Error::Data`] if there are no pairs.
pub fn fixed_batches(
    mut examples: Vec<Example>,
    budget: Budget,
    special: impl Into<Sides>,
    masking: Option<Masking>,
) -> Result<Vec<Batch>> {
    let special = special.into();
    budget.check(&examples)?;
    examples.sort_by_key(lengths);
    let batches = cut(examples.iter(), budget);
    Ok(batches
        .into_iter()
        .map(|batch| {
            let mut batch = assemble(examples[batch].iter(), special);
            if let Some(masking) = masking {
                masking.apply(&mut batch, Masking::VALIDATION);
            }
            batch
        })
        .collect())
}

fn lengths(pair: &Example) -> (usize, usize) {
    (pair.tgt_len(), pair.src_len())
}

/// Number of pairs per window; all pairs if there are not enough for two windows.
fn window_len(pairs: &[Example], budget: Budget) -> usize {
    let tokens: usize = pairs.iter().map(Example::tgt_len).sum();
    let windows = tokens / budget.tgt_tokens.saturating_mul(BATCHES_PER_WINDOW);
    pairs.len().div_ceil(windows.max(1))
}

/// Splits pairs sorted by length into batches within the budget.
fn cut<'a>(sorted: impl Iterator<Item = &'a Example>, budget: Budget) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let (mut src_len, mut tgt_len) = (0, 0);
    for (index, pair) in sorted.enumerate() {
        src_len = src_len.max(pair.src_len());
        tgt_len = tgt_len.max(pair.tgt_len());
        match batches.last_mut() {
            Some(batch) if budget.allows(batch.len() + 1, src_len, tgt_len) => batch.end += 1,
            _ => {
                batches.push(index..index + 1);
                (src_len, tgt_len) = (pair.src_len(), pair.tgt_len());
            }
        }
    }
    batches
}

fn assemble<'a>(examples: impl Iterator<Item = &'a Example> + Clone, special: Sides) -> Batch {
    let rows = |side: fn(&Example) -> &[u32], special: SpecialTokens| -> Padded {
        let rows: Vec<&[u32]> = examples.clone().map(side).collect();
        Padded::new(&rows, special.pad)
    };
    let src = rows(|example| &example.src, special.src);
    Batch {
        vectors: vectors(examples.clone(), src.width()),
        src,
        tgt_in: rows(|example| &example.tgt_in, special.tgt),
        tgt_out: rows(|example| &example.tgt_out, special.tgt),
        lines: examples.map(|example| example.line).collect(),
    }
}

/// The vectors of all examples in rows of `width` vectors, zero at padding; empty if they have none.
fn vectors<'a>(examples: impl Iterator<Item = &'a Example> + Clone, width: usize) -> Vec<f32> {
    let d = examples
        .clone()
        .map(|example| example.vectors.len() / example.src_len().max(1));
    let d = d.max().unwrap_or(0);
    let mut all = Vec::new();
    for example in examples {
        all.extend_from_slice(&example.vectors);
        all.resize(all.len() + (width - example.src_len()) * d, 0.0);
    }
    all
}
