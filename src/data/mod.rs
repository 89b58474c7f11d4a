//! What is learned from: reading it, encoding it, and putting it into batches.

mod batcher;
pub mod builtin;
mod corpus;
mod encoded;
mod feed;
mod json;
mod lines;
mod masking;
mod stream;
#[cfg(test)]
mod tests;

pub use batcher::{BatchSize, Batcher, Budget, Position, fixed_batches};
pub use corpus::{Corpus, Form, MAX_LINE_BYTES, Pair, ReadStats, read};
pub use encoded::{EncodeStats, Example, encode};
pub use feed::Feed;
pub use json::parse_vectors;
pub use lines::{SourceFile, read_lines};
pub use masking::{Masking, can_be_hidden};
pub use stream::{Stream, fixed_windows};
