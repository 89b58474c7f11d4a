//! Layers, written once. Each is built from its value in [`attentive_architecture`] at a [`Scope`], which
//! names its parameters, and maps rows of activations to rows by the operations of a [`Backend`].
//!
//! [`Sequences`] are the backend of training and of whole sequences, with gradients; the rows of the
//! [engine](crate::engine), or of that of [other devices](crate::device_engine), are the backend of decoding.

mod attention;
mod backend;
mod blueprint;
mod decoder;
mod dropout;
mod encoder;
mod feed_forward;
mod head;
mod input;
mod kept_widths;
mod linear;
mod norm;
mod parameter_declaration;
mod position_table;
mod positions;
mod recurrent;
mod recurrent_attention;
mod recurrent_decoder;
mod recurrent_encoder;
mod relative;
mod residual;
mod scope;
mod sequences;
mod stacks;

pub use attention::Attention;
pub use backend::{Backend, Decode, Encode, MatrixOf, RecurrentStates, RelativeOf, Storage};
pub use blueprint::Blueprint;
pub use decoder::{Cross, DecoderLayer, Mixer, TransformerDecoder};
pub use dropout::Dropout;
pub use encoder::{EncoderLayer, TransformerEncoder};
pub use feed_forward::FeedForward;
pub use head::{Head, Labels, OutputProjection, Transform};
pub use input::Input;
pub use kept_widths::KeptWidths;
pub use linear::Linear;
pub use norm::Norm;
pub use parameter_declaration::{ParameterDeclaration, ParameterInit, ParameterKind};
pub use position_table::PositionTable;
pub use positions::{PositionEncoding, SinusoidRows, sinusoids};
pub use recurrent::RecurrentLayer;
pub use recurrent_attention::{
    AdditiveAttention, AdditiveScores, MultiplicativeAttention, RecurrentAttention,
};
pub use recurrent_decoder::RecurrentDecoder;
pub use recurrent_encoder::{Encoded, RecurrentEncoder, RecurrentEncoderLayer};
pub(crate) use relative::relative;
pub use residual::Residual;
pub use scope::{Construction, Scope, WeightSource};
pub(crate) use sequences::hidden_part;
pub use sequences::{
    AttentionGuidance, AttentionMap, AttentionPlace, AttentionSite, AttentionWatch, DistanceBias,
    GradientWatch, Initializer, Parameters, Pass, Probe, RelativeEncoding, Sequence, Sequences, Trained,
};
pub use stacks::{Decoder, Encoder, Stack, Stacks};
