//! The encoded lines of a corpus.

use std::borrow::Cow;

use attentive_base::error::Result;

use crate::batching::budget::ExampleLengths;
use crate::encoding::example::Example;
use crate::store::Store;

/// Number of neighboring examples that are shuffled, and read from disk, together.
pub(crate) const SHARD: usize = 1 << 17;

/// The encoded lines of a corpus, by their index. Shard `n` begins with the example of index 2¹⁷·`n`.
#[derive(Clone, Debug)]
pub enum Examples {
    /// In RAM.
    Memory(Vec<Example>),
    /// On disk; some shards are memory-mapped.
    Disk(Store),
}

impl Examples {
    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(examples) => examples.len(),
            Self::Disk(store) => store.len(),
        }
    }

    /// True if there are no examples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes the examples of these shards available. Examples of other shards may become unavailable.
    ///
    /// # Errors
    /// [`attentive_base::Error::Io`] and [`attentive_base::Error::Data`] if a shard is missing or damaged.
    pub(crate) fn load(&mut self, shards: &[usize]) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(store) => store.load(shards),
        }
    }

    /// Refuses examples on disk whose file was changed since they were made available: those read since the
    /// last check are then worthless.
    ///
    /// # Errors
    /// [`attentive_base::Error::Data`] with the file.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(store) => store.check(),
        }
    }

    /// Returns the lengths of an example, whose shard must be loaded.
    pub(crate) fn lengths(&self, index: usize) -> ExampleLengths {
        match self {
            Self::Memory(examples) => examples[index].lengths(),
            Self::Disk(store) => store.lengths(index),
        }
    }

    /// Returns an example, whose shard must be loaded.
    pub(crate) fn get(&self, index: usize) -> Cow<'_, Example> {
        match self {
            Self::Memory(examples) => Cow::Borrowed(&examples[index]),
            Self::Disk(store) => Cow::Owned(store.get(index)),
        }
    }

    /// Returns the smallest `batch_tokens` with which each example fits into a batch; `None` without
    /// examples.
    pub(crate) fn least_batch_tokens(&self) -> Option<usize> {
        match self {
            Self::Memory(examples) => {
                examples.iter().map(|example| example.lengths().least_batch_tokens()).max()
            }
            Self::Disk(store) => store.least_batch_tokens(),
        }
    }

    /// Returns an upper bound of the RAM taken by the examples, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Memory(examples) => examples.iter().map(Example::bytes).sum(),
            Self::Disk(store) => store.bytes(),
        }
    }
}

impl From<Vec<Example>> for Examples {
    fn from(examples: Vec<Example>) -> Self {
        Self::Memory(examples)
    }
}
