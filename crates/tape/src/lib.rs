//! Reverse-mode differentiation over the operations of a [device](attentive_device::Device).
//!
//! A [`Value`] is a matrix, row after row. Operations are functions of values; each file in `ops` holds one,
//! with its backward pass. An operation on values that depend on a trained [`Param`] is
//! recorded, and [`Value::backward`] goes back through the records in reverse order.
//!
//! Activations are rows: `[batch · length, features]`. A matrix product over rows needs no batched weight
//! gradients, and the result for a row does not depend on the rest of the batch.

#[macro_use]
mod operands;
mod backward;
mod op;
mod ops;
mod param;
mod profile;
#[cfg(test)]
mod tests;
mod value;

pub use attentive_device::{Buffer, DropoutCall, Lengths, LossSums, Losses, MemoryUsage, pooled, rehearse};
pub use attentive_kernels::gemm::{Activation, Float};
pub use attentive_kernels::norm::NormKind;
pub use backward::Gradients;
pub use ops::*;
pub use param::{DeferredParam, DeferredUpdates, Param, ParamId, RowSelection};
pub use profile::{OpTimings, profiled};
pub use value::Value;
