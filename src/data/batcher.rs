//! Batches of examples of similar length, within a token budget, in an order that can be resumed at any point.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::budget::{BatchSize, Budget, Lengths};
use super::encoded::Example;
use super::examples::Examples;
use super::masking::Masking;
use super::order::{self, Order};
use crate::batch::{Batch, Padded};
use crate::error::{Error, Result};
use crate::text::{Sides, SpecialTokens};

/// A position in the endless sequence of batches: that of the next batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Number of completed epochs.
    pub epoch: u64,
    /// Number of completed windows of this epoch. Only large corpora have more than one.
    #[serde(default = "unknown")]
    pub window: usize,
    /// Number of batches of this window that have been returned.
    pub batch: usize,
}

/// Version 0.1.0 had a single window, whatever the corpus.
fn unknown() -> usize {
    Position::UNKNOWN_WINDOW
}

impl Position {
    /// The window of a position of version 0.1.0.
    const UNKNOWN_WINDOW: usize = usize::MAX;

    /// Rejects a position beyond its window, which has `n_batches`.
    pub(super) fn check(self, n_batches: usize) -> Result<()> {
        let Self {
            epoch,
            window,
            batch,
        } = self;
        if batch < n_batches {
            return Ok(());
        }
        Err(Error::Data {
            problem: format!(
                "cannot resume at batch {batch} of window {window} of epoch {epoch}, which has {n_batches} batches"
            ),
            hint: Some("the training data differ from those of the saved run: restore them, or start a new run".into()),
        })
    }
}

/// An endless sequence of batches, with each example once per epoch.
///
/// An epoch consists of windows: a single one for up to 2¹⁹ examples, otherwise of four random shards of 2¹⁷ neighbouring examples
/// each. A window is shuffled, then examples of similar length are grouped into batches, and the batches are shuffled. The order
/// depends only on the examples, the budget, the seed and the epoch, not on where the examples are stored.
#[derive(Clone, Debug)]
pub struct Batcher {
    examples: Examples,
    budget: Budget,
    seed: u64,
    special: Sides,
    /// For masked language models.
    masking: Option<Masking>,
    position: Position,
    /// The shards of each window of the current epoch.
    windows: Vec<Vec<usize>>,
    /// The current window.
    order: Order,
}

impl Batcher {
    /// Starts at the first batch of epoch 0.
    ///
    /// # Errors
    /// [`Error::Config`] if a single example exceeds the budget, [`Error::Data`] if there are no examples; those of a damaged corpus
    /// on disk.
    pub fn new(
        examples: impl Into<Examples>,
        budget: Budget,
        seed: u64,
        special: impl Into<Sides>,
        masking: Option<Masking>,
    ) -> Result<Self> {
        let examples = examples.into();
        budget.check(examples.least_batch_tokens())?;
        let mut batcher = Self {
            examples,
            budget,
            seed,
            special: special.into(),
            masking,
            position: Position::default(),
            windows: Vec::new(),
            order: Order::default(),
        };
        batcher.seek(Position::default())?;
        Ok(batcher)
    }

    /// The position of the next batch. After the last batch of an epoch, this is the first one of the next epoch.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Moves to a position returned by [`Batcher::position`]: the same batches follow as then.
    ///
    /// # Errors
    /// [`Error::Data`] if the epoch has no such batch, which means that the position belongs to another corpus; those of a damaged
    /// corpus on disk.
    pub fn seek(&mut self, position: Position) -> Result<()> {
        self.windows = order::windows(self.examples.len(), self.seed, position.epoch);
        let mut position = position;
        if position.window == Position::UNKNOWN_WINDOW {
            if self.windows.len() > 1 {
                return Err(Error::Data {
                    problem: "the run was begun by version 0.1.0, which ordered so large a corpus in another way".into(),
                    hint: Some("go on with version 0.1.0, or start a new run".into()),
                });
            }
            position.window = 0;
        }
        let shards = self.windows.get(position.window);
        let shards = shards.map_or(&[][..], Vec::as_slice);
        self.examples.load(shards)?;
        self.order = self.order_of(shards, self.budget, position);
        position.check(self.order.len())?;
        self.position = position;
        Ok(())
    }

    /// The next batch.
    ///
    /// # Errors
    /// Those of a damaged corpus on disk.
    pub fn next_batch(&mut self) -> Result<Batch> {
        let batch = self.batch();
        self.skip_batch()?;
        Ok(batch)
    }

    /// Moves on to the batch after the next one.
    pub(super) fn skip_batch(&mut self) -> Result<()> {
        let Position {
            epoch,
            window,
            batch,
        } = self.position;
        if batch + 1 < self.order.len() {
            self.position.batch += 1;
            return Ok(());
        }
        let is_last = window + 1 == self.windows.len();
        self.seek(match is_last {
            true => Position {
                epoch: epoch + 1,
                ..Position::default()
            },
            false => Position {
                epoch,
                window: window + 1,
                batch: 0,
            },
        })
    }

    /// Number of batches in the current epoch, estimated from its current window. It varies slightly between epochs, as different
    /// examples are grouped.
    pub fn batches_per_epoch(&self) -> usize {
        let (here, all) = (self.order.n_examples(), self.examples.len());
        (self.order.len() * all).div_ceil(here)
    }

    /// The maximum number of source and of target tokens over all batches of the current window.
    pub fn largest(&self) -> BatchSize {
        self.largest_of(&self.order)
    }

    /// The result of [`Batcher::largest`] for another budget, into which every example must fit.
    pub fn largest_within(&self, budget: Budget) -> BatchSize {
        let shards = &self.windows[self.position.window];
        self.largest_of(&self.order_of(shards, budget, self.position))
    }

    /// The smallest `batch_tokens` with which every example fits.
    pub fn least_batch_tokens(&self) -> usize {
        self.examples.least_batch_tokens().unwrap_or(0)
    }

    /// Upper bound of the size of the examples and their order in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.examples.bytes() + 3 * size_of::<u32>() * self.order.n_examples()
    }

    fn largest_of(&self, order: &Order) -> BatchSize {
        let lengths = |index| self.examples.lengths(index);
        let batches =
            (0..order.len()).map(|number| BatchSize::of(order.batch(number).map(lengths)));
        batches.fold(BatchSize::default(), BatchSize::max_of_each)
    }

    /// The next batch, which stays the next one.
    fn batch(&self) -> Batch {
        let chosen = self.order.batch(self.position.batch);
        let chosen: Vec<Cow<'_, Example>> = chosen.map(|index| self.examples.get(index)).collect();
        let mut batch = assemble(chosen.iter().map(AsRef::as_ref), self.special);
        if let Some(masking) = self.masking {
            masking.apply(&mut batch, self.position.epoch);
        }
        batch
    }

    fn order_of(&self, shards: &[usize], budget: Budget, position: Position) -> Order {
        Order::of(&self.examples, shards, budget, self.seed, position)
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
    let lengths = examples.iter().map(Example::lengths);
    budget.check(lengths.map(Lengths::least_batch_tokens).max())?;
    examples.sort_by_key(Example::lengths);
    let batches = budget.cut(examples.iter().map(Example::lengths));
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
