//! What training is fed with.

use super::batcher::{BatchSize, Batcher, Budget, Position};
use super::stream::Stream;
use crate::batch::Batch;
use crate::error::Result;

/// Batches without end, in an order that can be taken up again anywhere.
#[derive(Clone, Debug)]
pub enum Feed {
    /// Of lines.
    Lines(Batcher),
    /// Of windows of one text.
    Stream(Stream),
}

impl Feed {
    /// The place of the next batch.
    pub fn position(&self) -> Position {
        match self {
            Self::Lines(lines) => lines.position(),
            Self::Stream(stream) => stream.position(),
        }
    }

    /// Goes to the place where [`Feed::position`] once stood: the same batches follow as then.
    ///
    /// # Errors
    /// As for [`Batcher::seek`].
    pub fn seek(&mut self, position: Position) -> Result<()> {
        match self {
            Self::Lines(lines) => lines.seek(position),
            Self::Stream(stream) => stream.seek(position),
        }
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Batch {
        match self {
            Self::Lines(lines) => lines.next_batch(),
            Self::Stream(stream) => stream.next_batch(),
        }
    }

    /// Batches of the current epoch.
    pub fn batches_per_epoch(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.batches_per_epoch(),
            Self::Stream(stream) => stream.batches_per_epoch(),
        }
    }

    /// The most tokens of any batch of the current epoch.
    pub fn largest(&self) -> BatchSize {
        match self {
            Self::Lines(lines) => lines.largest(),
            Self::Stream(stream) => stream.largest(),
        }
    }

    /// What [`Feed::largest`] would be with another `batch_tokens`, which allows each example.
    pub fn largest_within(&self, batch_tokens: usize) -> BatchSize {
        match self {
            Self::Lines(lines) => lines.largest_within(Budget::new(batch_tokens)),
            Self::Stream(stream) => stream.largest_within(batch_tokens),
        }
    }

    /// The smallest `batch_tokens` that allow each example.
    pub fn least_batch_tokens(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.least_batch_tokens(),
            Self::Stream(stream) => stream.least_batch_tokens(),
        }
    }

    /// Bytes that the examples and their order take at most.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.bytes(),
            Self::Stream(stream) => stream.bytes(),
        }
    }
}
