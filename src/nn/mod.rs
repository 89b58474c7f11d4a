//! Layers: each takes its configuration and an [`Initializer`], and maps rows of activations to rows.
//!
//! A batch of sequences is one [`Sequence`]: `[batch · len, d_model]` rows, so that every linear map is one matrix
//! product. What changes from pass to pass (dropout, probing, watching attention) travels in a [`Pass`].

mod attention;
mod attention_map;
mod decoder;
mod dropout;
mod embedding;
mod encoder;
mod feed_forward;
mod initializer;
mod linear;
mod norm;
mod output;
mod pass;
mod position_table;
mod positions;
mod recurrent;
mod recurrent_decoder;
mod residual;
mod self_attention;
mod sequence;

pub use crate::ops::Rotary;
pub use attention::{KeysValues, MultiHeadAttention};
pub use attention_map::{AttentionMap, AttentionSite, AttentionWatch};
pub use decoder::{Decoder, DecoderCache, DecoderLayer, Sight};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use encoder::{Encoder, EncoderLayer};
pub use feed_forward::FeedForward;
pub use initializer::Initializer;
pub use linear::Linear;
pub use norm::Norm;
pub use output::Output;
pub use pass::{Pass, Probe};
pub use position_table::PositionTable;
pub use positions::{PositionEncoding, sinusoids};
pub use recurrent::{Encoded, RecurrentEncoder, RecurrentEncoderLayer, RecurrentLayer};
pub use recurrent_decoder::{RecurrentDecoder, RecurrentMemory, RecurrentState};
pub use residual::Residual;
pub use self_attention::self_attention;
pub use sequence::Sequence;
