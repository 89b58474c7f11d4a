//! Reverse-mode differentiation over Attentive's CPU kernels.
//!
//! A [`Value`] is a matrix, row after row. Operations are functions of values; each file in `ops` holds one, with its rule for
//! the backward pass. An operation on values that depend on a trained [`Param`] is recorded, and [`Value::backward`] goes back
//! through the records in reverse order.
//!
//! Activations are rows: `[batch · length, features]`. A matrix product over rows needs no batched weight gradients, and the
//! result for a row does not depend on the rest of the batch.

#[macro_use]
mod operands;
mod backward;
mod buffer;
mod kernel;
mod ops;
mod param;
mod profile;
mod rehearsal;
#[cfg(test)]
mod tests;
mod value;

pub use attentive_kernels::Lengths;
pub use attentive_kernels::cross_entropy::LossSums;
pub use attentive_kernels::dropout::Dropout;
pub use attentive_kernels::gemm::{Activation, Precision};
pub use attentive_kernels::norm::Norm;
pub use backward::Gradients;
pub use buffer::{Buffer, pooled};
pub use ops::*;
pub use param::{Param, ParamId};
pub use profile::{Spent, profiled};
pub use rehearsal::{Count, rehearse};
pub use value::Value;
