//! Sentence pairs: reading them, encoding them, and putting them into batches.

mod batcher;
pub mod builtin;
mod corpus;
mod encoded;
mod lines;
#[cfg(test)]
mod tests;

pub use batcher::{BatchSize, Batcher, Budget, Position, fixed_batches};
pub use corpus::{Corpus, MAX_LINE_BYTES, Pair, ReadStats, read};
pub use encoded::{EncodeStats, EncodedPair, encode};
pub use lines::{SourceFile, read_lines};
