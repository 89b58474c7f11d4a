//! Operations on Burn tensors: fused on the CPU, composed of Burn's own operations everywhere else.
//!
//! Each file holds one operation in three parts: the public function; its `portable` implementation, which reads like
//! the formula and runs on every Burn backend, number type and under Burn's autodiff; and the `fused::Kernel` that
//! passes `f32` slices on the CPU to `attentive-kernels`, forward and backward. Tests compare the two
//! implementations.
//!
//! Activations are flattened to rows: `[batch · length, features]`. A matrix product over rows needs no batched
//! weight gradients, and the result for a row does not depend on the rest of the batch.

#[macro_use]
mod operands;
mod attention;
mod attentive_recurrent;
mod buffers;
mod completion;
mod cross_entropy;
mod dropout;
mod embedding;
mod epilogue;
mod fused;
mod linear;
mod map;
mod mean;
mod nonlinearity;
mod norm;
mod profile;
mod recurrent;
mod rotary;
mod rows;
#[cfg(test)]
mod tests;

pub use attention::{Attended, AttentionShape, Causality, Scores, attention, attention_weights};
pub use attentive_kernels::Lengths;
pub use attentive_kernels::cross_entropy::LossSums;
pub use attentive_kernels::dropout::Dropout;
pub use attentive_kernels::gemm::Activation;
pub use attentive_kernels::gemm::Precision;
pub use attentive_kernels::norm::Norm;
pub use attentive_recurrent::{
    AttentiveRecurrence, attentive_recurrent, attentive_recurrent_weights,
};
pub use buffers::give as recycle;
pub use completion::{Leaf, Uses, count_uses, leaf, watch_gradients};
pub use cross_entropy::{CrossEntropy, cross_entropy};
pub use dropout::dropout_add;
pub use embedding::{PositionRows, embedding};
pub use epilogue::Epilogue;
pub use linear::linear;
pub use map::Map;
pub use mean::mean_rows;
pub use nonlinearity::{Nonlinearity, gated, nonlinear};
pub use norm::{norm, residual_norm};
pub use profile::{Spent, profiled};
pub use recurrent::{Cell, Direction, Recurrence, recurrent};
pub use rotary::Rotary;
pub use rows::select_rows;
