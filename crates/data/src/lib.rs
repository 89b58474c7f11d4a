//! Training data: reading, encoding and batching.
//!
//! [`read`] makes a [`Corpus`] of the lines of files, [`encode`] makes an [`Example`] of each line, and a
//! [`Feed`] makes batches of the examples.

mod batching;
pub mod builtin;
pub mod cleaning;
mod corpus;
mod encoding;
mod one_line;
mod progress;
mod reading;
mod store;
#[cfg(test)]
mod tests;
pub mod word_alignment;

pub use batching::batcher::{Batcher, Position, fixed_batches};
pub use batching::budget::{BatchSize, Budget};
pub use batching::corpus_parts::CorpusParts;
pub use batching::feed::Feed;
pub use batching::guide::{CorpusAlignments, Guide};
pub use batching::masking::{Masking, can_be_hidden};
pub use batching::stream::{Stream, fixed_windows};
pub use batching::variation::Variation;
pub use corpus::Corpus;
pub use corpus::data_kind::DataKind;
pub use corpus::item::is_control;
pub use corpus::item::{Item, NumberedItem, TagInput};
pub use corpus::line_filter::{Filters, ReadStats};
pub use corpus::read::{read, read_filtered, read_in_memory};
pub use corpus::reservoir_sample::ReservoirSample;
pub use encoding::example::{EncoderInput, Example};
pub use encoding::examples::Examples;
pub use encoding::label_origin::LabelOrigin;
pub use encoding::line_encoder::{EncodeStats, LineEncoder, encode};
pub use encoding::token_counts::TokenCounts;
pub use one_line::{one_column, one_line};
pub use progress::{Progress, ProgressCallback, unwatched};
pub use reading::corpus_reader::CorpusReader;
pub use reading::interruptible_file::InterruptibleFile;
pub use reading::json_lines::parse_vectors;
pub use reading::lines::{
    Line, Lines, MAX_LINE_BYTES, MAX_RECORD_BYTES, first_lines, read_lines, read_lines_from, read_text_from,
};
pub use reading::patterns::training_files;
pub use reading::source_file::{Hashed, SourceFile};
pub use store::{ExampleLayout, Store, StoreFacts, StoreKey, StoreWriter};
