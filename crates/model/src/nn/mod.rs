//! Layers. Each is built from its value in [`attentive_architecture`] at a [`Scope`], which names its parameters, and maps rows
//! of activations to rows.
//!
//! A batch of sequences is one [`Sequence`] of `[batch · len, d_model]` rows, so that every linear map is one matrix
//! product. A [`Pass`] carries what differs between passes: dropout, precision, probes, recording of attention.

mod attention;
mod attention_map;
mod decoder;
mod distance_bias;
mod dropout;
mod embedding;
mod encoder;
mod feed_forward;
mod head;
mod initializer;
mod input;
mod linear;
mod norm;
mod pass;
mod position_table;
mod positions;
mod recurrent;
mod recurrent_attention;
mod recurrent_decoder;
mod residual;
mod scope;
mod sequence;

pub use attention::{KeysValues, MultiHeadAttention, Visible};
pub use attention_map::{AttentionMap, AttentionPlace, AttentionSite, AttentionWatch};
pub use decoder::{DecoderLayer, SelfMixer, TransformerDecoder};
pub use distance_bias::DistanceBias;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use encoder::{EncoderLayer, TransformerEncoder};
pub use feed_forward::FeedForward;
pub use head::{Labels, Transform, Vocabulary};
pub use initializer::Initializer;
pub use input::{Ids, Input};
pub use linear::Linear;
pub use norm::Norm;
pub use pass::{Pass, Probe};
pub use position_table::PositionTable;
pub use positions::{PositionEncoding, sinusoids};
pub use recurrent::{Encoded, RecurrentEncoder, RecurrentEncoderLayer, RecurrentLayer};
pub use recurrent_attention::{AdditiveAttention, MultiplicativeAttention, RecurrentAttention};
pub use recurrent_decoder::RecurrentDecoder;
pub use residual::Residual;
pub use scope::{Construction, Initial, Scope};
pub use sequence::Sequence;
