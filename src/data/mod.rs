//! Training data: reading, encoding and batching.

mod batcher;
mod budget;
pub mod builtin;
mod corpus;
mod encoded;
mod examples;
mod feed;
mod form;
mod intake;
mod item;
mod json;
mod lines;
mod masking;
mod order;
mod progress;
mod read;
mod reader;
mod sample;
mod store;
mod stored;
mod stream;
#[cfg(test)]
mod tests;

pub use batcher::{Batcher, Position, fixed_batches};
pub use budget::{BatchSize, Budget};
pub use corpus::Corpus;
pub use encoded::{EncodeStats, Encoder, Example, encode};
pub use examples::Examples;
pub use feed::Feed;
pub use form::Form;
pub use intake::{Filters, ReadStats};
pub(crate) use item::is_control;
pub use item::{Entry, Item, TagInput};
pub use json::parse_vectors;
pub use lines::{Line, Lines, MAX_LINE_BYTES, MAX_RECORD_BYTES, read_lines, read_lines_from};
pub use masking::{Masking, can_be_hidden};
pub use progress::{Progress, Watch, unwatched};
pub use read::{read, read_filtered};
pub use reader::Reader;
pub use sample::Sample;
pub use store::{Layout, Making, Settings, Store, StoreKey};
pub use stored::{Hashed, SourceFile};
pub use stream::{Stream, fixed_windows};
