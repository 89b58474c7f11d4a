//! The stream of training batches.

use std::ops::Range;

use attentive_base::batch::Batch;
use attentive_base::error::Result;

use crate::batching::batcher::{Batcher, Position};
use crate::batching::budget::{BatchSize, Budget};
use crate::batching::stream::Stream;

/// An endless sequence of batches, in an order that can be resumed at any point.
#[derive(Clone, Debug)]
pub enum Feed {
    /// Batches of lines.
    Lines(Box<Batcher>),
    /// Batches of windows of one text.
    Stream(Stream),
}

impl Feed {
    /// Returns the position of the next batch.
    pub fn position(&self) -> Position {
        match self {
            Self::Lines(lines) => lines.position(),
            Self::Stream(stream) => stream.position(),
        }
    }

    /// Moves to a position returned by [`Feed::position`]. The same batches follow as at that time.
    ///
    /// # Errors
    /// See [`Batcher::seek`].
    pub fn seek(&mut self, position: Position) -> Result<()> {
        match self {
            Self::Lines(lines) => lines.seek(position),
            Self::Stream(stream) => stream.seek(position),
        }
    }

    /// Takes the next `n` batches, and returns those whose numbers, counted from 0, are in `share`.
    ///
    /// # Errors
    /// See [`Batcher::next_batch`].
    pub fn next_batches(&mut self, n: usize, share: Range<usize>) -> Result<Vec<Batch>> {
        let mut batches = Vec::with_capacity(share.len());
        for number in 0..n {
            if share.contains(&number) { batches.push(self.next_batch()?) } else { self.skip_batch()? }
        }
        Ok(batches)
    }

    /// Skips the next batch.
    fn skip_batch(&mut self) -> Result<()> {
        match self {
            Self::Lines(lines) => lines.skip_batch(),
            Self::Stream(stream) => {
                stream.skip_batch();
                Ok(())
            }
        }
    }

    /// Returns the next batch.
    ///
    /// # Errors
    /// See [`Batcher::next_batch`].
    pub fn next_batch(&mut self) -> Result<Batch> {
        match self {
            Self::Lines(lines) => lines.next_batch(),
            Self::Stream(stream) => Ok(stream.next_batch()),
        }
    }

    /// Returns the number of batches in the current epoch.
    pub fn batches_per_epoch(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.batches_per_epoch(),
            Self::Stream(stream) => stream.batches_per_epoch(),
        }
    }

    /// Returns the sizes of batches of the current epoch: of the largest ones and of some others, in their
    /// order.
    pub fn sizes(&self) -> Vec<BatchSize> {
        match self {
            Self::Lines(lines) => lines.sizes(),
            Self::Stream(stream) => stream.sizes(),
        }
    }

    /// Returns the result of [`Feed::sizes`] for another `batch_tokens`, with which every example must fit
    /// into a batch.
    pub fn sizes_within(&self, batch_tokens: usize) -> Vec<BatchSize> {
        match self {
            Self::Lines(lines) => lines.sizes_within(Budget::new(batch_tokens)),
            Self::Stream(stream) => stream.sizes_within(batch_tokens),
        }
    }

    /// Moves to the first batch of epoch 0, with batches of at most `batch_tokens`, with which every example
    /// must fit into a batch.
    ///
    /// # Errors
    /// See [`Batcher::next_batch`].
    pub fn limit(&mut self, batch_tokens: usize) -> Result<()> {
        match self {
            Self::Lines(lines) => lines.limit(Budget::new(batch_tokens)),
            Self::Stream(stream) => {
                stream.limit(batch_tokens);
                Ok(())
            }
        }
    }

    /// Returns the smallest `batch_tokens` with which every example fits into a batch.
    pub fn least_batch_tokens(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.least_batch_tokens(),
            Self::Stream(stream) => stream.least_batch_tokens(),
        }
    }

    /// Returns an upper bound of the RAM taken by the examples and their order, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.bytes(),
            Self::Stream(stream) => stream.bytes(),
        }
    }
}
