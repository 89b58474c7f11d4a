//! Batches of examples of similar length, within a token budget, in an order that can be resumed at any
//! point.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use attentive_base::batch::{Batch, Padded, Src};
use attentive_base::body::Body;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_text::{Sides, SpecialTokens};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::batching::batch_order::{self, BatchOrder, Window};
use crate::batching::budget::{BatchSize, Budget, ExampleLengths, sample};
use crate::batching::corpus_parts::CorpusParts;
use crate::batching::guide::Guide;
use crate::batching::masking::Masking;
use crate::batching::variation::Variation;
use crate::encoding::example::{EncoderInput, Example};
use crate::encoding::examples::Examples;

/// The position of the next batch in the endless sequence of batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Number of completed epochs.
    pub epoch: u64,
    /// Number of completed windows of this epoch. Only large corpora have more than one.
    pub window: usize,
    /// Number of batches of this window that have been returned.
    pub batch: usize,
}

impl Position {
    /// Rejects a position beyond its window, which has `n_batches`.
    pub(crate) fn check(self, n_batches: usize) -> Result<()> {
        let Self { epoch, window, batch } = self;
        if batch < n_batches {
            return Ok(());
        }
        Err(Error::data(
            format!(
                "cannot resume at batch {batch} of window {window} of epoch {epoch}, which has {n_batches} \
                 batches"
            ),
            "the training data differ from those of the saved run: restore them, or start a new run",
        ))
    }
}

/// An endless sequence of batches. Each example occurs once per epoch, or as often as the weight of its part
/// says.
///
/// An epoch consists of windows: a single one for up to 2¹⁹ examples, otherwise of about four random shards
/// of 2¹⁷ neighboring examples each. A window is shuffled, then examples of similar length are grouped into
/// batches, and the batches are shuffled. The order depends only on the examples, the budget, the seed and
/// the epoch, not on where the examples are stored.
#[derive(Clone, Debug)]
pub struct Batcher {
    examples: Examples,
    /// The smallest `batch_tokens` with which every example fits into a batch.
    least_batch_tokens: usize,
    parts: CorpusParts,
    budget: Budget,
    seed: u64,
    special: Sides,
    /// The masks, for masked language models.
    masking: Option<Masking>,
    variation: Option<Variation>,
    guide: Option<Arc<Guide>>,
    /// The lengths of the examples of the current window, if they vary.
    varied: HashMap<usize, ExampleLengths>,
    position: Position,
    /// The windows of the current epoch.
    windows: Vec<Window>,
    /// The current window.
    order: BatchOrder,
}

impl Batcher {
    /// Creates a batcher at the first batch of epoch 0.
    ///
    /// # Errors
    /// [`Error::Config`] if a single example exceeds the budget, [`Error::Data`] if there are no examples or
    /// the corpus on disk is damaged.
    pub fn new(
        examples: impl Into<Examples>,
        budget: Budget,
        seed: u64,
        special: impl Into<Sides>,
        masking: Option<Masking>,
    ) -> Result<Self> {
        let examples = examples.into();
        let parts = CorpusParts::whole(examples.len());
        Self::of_parts(examples, parts, budget, seed, special, masking)
    }

    /// Like [`Batcher::new`], for examples in several parts.
    ///
    /// # Errors
    /// Any error of [`Batcher::new`]; [`Error::Config`] if the weights leave less than one example for an
    /// epoch.
    pub fn of_parts(
        examples: impl Into<Examples>,
        parts: CorpusParts,
        budget: Budget,
        seed: u64,
        special: impl Into<Sides>,
        masking: Option<Masking>,
    ) -> Result<Self> {
        let examples = examples.into();
        let least_batch_tokens = examples.least_batch_tokens();
        budget.check(least_batch_tokens)?;
        if parts.n_examples() == 0 {
            return Err(Error::config(
                "data.train.weight",
                "weights that leave at least one example for an epoch",
                format!("weights that are too small for {}", count(examples.len(), "example")),
            ));
        }
        let mut batcher = Self {
            examples,
            least_batch_tokens: least_batch_tokens.unwrap_or(0),
            parts,
            budget,
            seed,
            special: special.into(),
            masking,
            variation: None,
            guide: None,
            varied: HashMap::new(),
            position: Position::default(),
            windows: Vec::new(),
            order: BatchOrder::default(),
        };
        batcher.lay_out(Position::default())?;
        batcher.skip_empty_windows()?;
        Ok(batcher)
    }

    /// Returns this batcher at its first batch, with examples that `variation` changes in each epoch.
    ///
    /// # Errors
    /// See [`Batcher::new`].
    pub fn varied(mut self, variation: Option<Variation>) -> Result<Self> {
        if variation.is_some() {
            self.variation = variation;
            self.lay_out(Position::default())?;
            self.skip_empty_windows()?;
        }
        Ok(self)
    }

    /// Refuses the alignments of another corpus.
    ///
    /// # Errors
    /// [`Error::Data`]
    pub fn check_guide(&self, guide: &Guide) -> Result<()> {
        let window = self.windows.get(self.position.window);
        window.map_or(Ok(()), |window| guide.check(window.indices().map(|index| self.examples.get(index))))
    }

    /// Returns this batcher, with batches that have the alignments of their examples.
    #[must_use]
    pub fn guided(mut self, guide: Guide) -> Self {
        self.guide = Some(Arc::new(guide));
        self
    }

    /// Returns the position of the next batch. After the last batch of an epoch, this is the first one of the
    /// next epoch.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Moves to a position returned by [`Batcher::position`]. The same batches follow as at that time.
    ///
    /// # Errors
    /// [`Error::Data`] if the epoch has no such batch, which means that the position belongs to another
    /// corpus, or if the corpus on disk is damaged.
    pub fn seek(&mut self, position: Position) -> Result<()> {
        self.lay_out(position)?;
        position.check(self.order.len())
    }

    /// Makes the window of `position` the current one.
    fn lay_out(&mut self, position: Position) -> Result<()> {
        self.windows = batch_order::windows(&self.parts, self.seed, position.epoch);
        let window = self.windows.get(position.window).cloned().unwrap_or_default();
        self.examples.load(&window.shards())?;
        self.position = position;
        self.varied = self.varied_lengths(&window);
        self.order = self.order_of(&window, self.budget);
        Ok(())
    }

    /// Moves on to the next window that has examples, unless the current one has some. With small weights,
    /// some windows are empty.
    fn skip_empty_windows(&mut self) -> Result<()> {
        while self.order.len() == 0 {
            self.lay_out(self.next_window())?;
        }
        Ok(())
    }

    /// The first position of the next window.
    fn next_window(&self) -> Position {
        let Position { epoch, window, .. } = self.position;
        if window + 1 < self.windows.len() {
            Position { epoch, window: window + 1, batch: 0 }
        } else {
            Position { epoch: epoch + 1, ..Position::default() }
        }
    }

    /// Returns the next batch.
    ///
    /// # Errors
    /// [`Error::Data`] if the corpus on disk is damaged, or was changed since it was opened.
    pub fn next_batch(&mut self) -> Result<Batch> {
        let batch = self.batch();
        self.examples.check()?;
        self.skip_batch()?;
        Ok(batch)
    }

    /// Skips the next batch.
    pub(crate) fn skip_batch(&mut self) -> Result<()> {
        self.position.batch += 1;
        if self.position.batch < self.order.len() {
            return Ok(());
        }
        self.lay_out(self.next_window())?;
        self.skip_empty_windows()
    }

    /// Returns the number of batches in the current epoch, estimated from its current window. The number
    /// varies slightly between epochs, since different examples are grouped.
    pub fn batches_per_epoch(&self) -> usize {
        let (here, all) = (self.order.n_examples(), self.parts.n_examples());
        (self.order.len() * all).div_ceil(here)
    }

    /// Returns the sizes of batches of the current window: of the largest ones and of some others, in their
    /// order.
    pub fn sizes(&self) -> Vec<BatchSize> {
        self.sizes_of(&self.order)
    }

    /// Returns the result of [`Batcher::sizes`] for another budget, into which every example must fit.
    pub fn sizes_within(&self, budget: Budget) -> Vec<BatchSize> {
        let window = &self.windows[self.position.window];
        self.sizes_of(&self.order_of(window, budget))
    }

    /// Moves to the first batch of epoch 0, with batches within `budget`; see [`Batcher::new`].
    pub(crate) fn limit(&mut self, budget: Budget) -> Result<()> {
        budget.check(Some(self.least_batch_tokens))?;
        self.budget = budget;
        self.lay_out(Position::default())?;
        self.skip_empty_windows()
    }

    /// Returns the smallest `batch_tokens` with which every example fits into a batch.
    pub fn least_batch_tokens(&self) -> usize {
        self.least_batch_tokens
    }

    /// Returns an upper bound of the RAM taken by the examples and their order, in bytes.
    pub fn bytes(&self) -> usize {
        let varied = 2 * size_of::<(usize, ExampleLengths)>() * self.varied.len();
        self.examples.bytes() + 3 * size_of::<u32>() * self.order.n_examples() + varied
    }

    fn sizes_of(&self, order: &BatchOrder) -> Vec<BatchSize> {
        let lengths = |index| self.lengths(index);
        let size = |number| BatchSize::of(order.batch(number).map(lengths));
        sample(&Vec::from_iter((0..order.len()).map(size)))
    }

    /// Returns the next batch without moving on.
    fn batch(&self) -> Batch {
        let indices = self.order.batch(self.position.batch);
        let examples: Vec<Cow<'_, Example>> = indices.clone().map(|index| self.example(index)).collect();
        let mut batch = assemble(&examples.iter().map(AsRef::as_ref).collect::<Vec<_>>(), self.special);
        if let Some(guide) = &self.guide {
            let rows = examples.iter().zip(indices).enumerate();
            let aligned = rows
                .flat_map(|(row, (example, index))| guide.aligned(row, example, &self.examples.get(index)));
            batch.aligned = aligned.collect();
        }
        if let Some(masking) = self.masking {
            masking.apply(&mut batch, self.position.epoch);
        }
        batch
    }

    fn order_of(&self, window: &Window, budget: Budget) -> BatchOrder {
        let lengths = |index| self.lengths(index);
        BatchOrder::of(lengths, &self.parts, window, budget, self.seed, self.position)
    }

    /// The example with this index, as it is in this epoch.
    fn example(&self, index: usize) -> Cow<'_, Example> {
        let example = self.examples.get(index);
        match &self.variation {
            None => example,
            Some(variation) => {
                Cow::Owned(variation.of(&example, self.position.epoch, self.budget.tgt_tokens()))
            }
        }
    }

    /// The lengths of [`Batcher::example`].
    fn lengths(&self, index: usize) -> ExampleLengths {
        self.varied.get(&index).copied().unwrap_or_else(|| self.examples.lengths(index))
    }

    /// The lengths of all examples of `window`, the current one, if they vary.
    fn varied_lengths(&self, window: &Window) -> HashMap<usize, ExampleLengths> {
        if self.variation.is_none() {
            return HashMap::new();
        }
        let indices: Vec<usize> = window.indices().collect();
        indices.into_par_iter().map(|index| (index, self.example(index).lengths())).collect()
    }
}

/// Returns all examples in batches of similar length, shortest first, for validation, which has no weights.
/// Masks, if any, are always the same.
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
    budget.check(lengths.map(ExampleLengths::least_batch_tokens).max())?;
    examples.sort_by_key(Example::lengths);
    let batches = budget.cut(examples.iter().map(Example::lengths));
    Ok(batches
        .into_iter()
        .map(|batch| {
            let mut batch = assemble(&examples[batch].iter().collect::<Vec<_>>(), special);
            batch.weights.clear();
            if let Some(masking) = masking {
                masking.apply(&mut batch, Masking::VALIDATION);
            }
            batch
        })
        .collect())
}

/// A batch of `examples`, which are of one kind.
fn assemble(examples: &[&Example], special: Sides) -> Batch {
    let rows = |of: fn(&Example) -> &[u32], special: SpecialTokens| {
        let rows: Vec<&[u32]> = examples.iter().map(|example| of(example)).collect();
        Padded::new(&rows, special.pad)
    };
    let tgt_in = || rows(Example::tgt_in, special.tgt);
    let src = |first: &EncoderInput| match first {
        EncoderInput::Tokens(_) => rows(Example::src, special.src).into(),
        EncoderInput::Vectors { width, .. } => vectors(examples, *width),
    };
    let inputs = examples.first().map(|first| first.inputs.as_ref().map(src, |_| tgt_in()));
    Batch {
        inputs: inputs.unwrap_or_else(|| Body::Decoder(tgt_in())),
        tgt_out: rows(|example| &example.tgt_out, special.tgt),
        lines: examples.iter().map(|example| example.line).collect(),
        weights: weights(examples),
        aligned: Vec::new(),
    }
}

/// The weights of all examples; empty if all are 1.
fn weights(examples: &[&Example]) -> Vec<f32> {
    let weights: Vec<f32> = examples.iter().map(|example| example.weight).collect();
    if weights.iter().all(|&weight| weight == 1.0) { Vec::new() } else { weights }
}

/// The vectors of all examples, of `d` numbers each, in rows of equal length, zero at padding.
fn vectors(examples: &[&Example], d: usize) -> Src {
    let lens: Vec<usize> = examples.iter().map(|example| example.src_len()).collect();
    let width = lens.iter().copied().max().unwrap_or(0);
    let mut values = Vec::with_capacity(examples.len() * width * d);
    for (row, example) in (1..).zip(examples) {
        if let Some(EncoderInput::Vectors { values: own, .. }) = example.inputs.encoder() {
            values.extend_from_slice(own);
        }
        values.resize(row * width * d, 0.0);
    }
    let lengths = attentive_kernels::Lengths::new(lens, width);
    Src::Vectors { values, d_input: d, lengths }
}
