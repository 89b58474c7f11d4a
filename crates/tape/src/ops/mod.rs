//! The operations.

mod additive_attention;
mod affine_map;
mod arrange;
mod attention;
mod attention_weights;
mod attentive_recurrent;
mod cross_entropy;
mod dropout;
mod embedding;
mod epilogue;
mod guided_attention;
mod linear;
mod mean;
mod nonlinearity;
mod norm;
mod position_sum;
mod recurrent;
mod rotary;
mod rows;
mod scale;
mod watched;

pub use additive_attention::{AdditiveMemory, additive_attention};
pub use affine_map::AffineMap;
pub use arrange::{column_ranges, columns, join, positions_apart, positions_together, transposed_rows};
pub use attention::{AttentionShape, Causality, QkvSource, TapeScores, attention};
pub use attention_weights::{
    AttentionWeights, additive_attention_weights, attention_weights, attentive_recurrent_weights,
};
pub use attentive_recurrent::{AttentiveRecurrence, attentive_recurrent};
pub use cross_entropy::{CrossEntropy, consistent_cross_entropy, cross_entropy};
pub use dropout::{add, dropout_add};
pub use embedding::{TapePositionRows, embedding};
pub use epilogue::TapeEpilogue;
pub use guided_attention::{AttentionGuide, guided_attention};
pub use linear::linear;
pub use mean::mean_rows;
pub use nonlinearity::{ActivationKind, gated, nonlinear, tanh};
pub use norm::{norm, residual_norm};
pub use position_sum::add_positions;
pub use recurrent::{CellKind, Direction, RecurrentDirection, TapeRecurrence, recurrent};
pub use rotary::Rotary;
pub use rows::{row_range, select_rows};
pub use scale::scale;
pub use watched::{GradientSlot, watched};
