//! Training data: reading, encoding and batching.

mod batcher;
pub mod builtin;
mod corpus;
mod encoded;
mod feed;
mod form;
mod item;
mod json;
mod lines;
mod masking;
mod progress;
mod read;
mod stored;
mod stream;
#[cfg(test)]
mod tests;

pub use batcher::{BatchSize, Batcher, Budget, Position, fixed_batches};
pub use corpus::{Corpus, ReadStats};
pub use encoded::{EncodeStats, Example, encode};
pub use feed::Feed;
pub use form::Form;
pub(crate) use item::is_control;
pub use item::{Entry, Item, TagInput};
pub use json::parse_vectors;
pub use lines::{Line, Lines, MAX_LINE_BYTES, MAX_RECORD_BYTES, read_lines, read_lines_from};
pub use masking::{Masking, can_be_hidden};
pub use progress::{Progress, Watch, unwatched};
pub use read::read;
pub use stored::{Hashed, SourceFile};
pub use stream::{Stream, fixed_windows};
