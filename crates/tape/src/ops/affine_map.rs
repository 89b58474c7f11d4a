//! Linear maps as operands.

use crate::Value;

/// A linear layer: x·Wᵀ + b.
#[derive(Clone, Debug)]
pub struct AffineMap {
    /// W, `[d_out, d_in]`.
    pub weight: Value,
    /// b, `[1, d_out]`.
    pub bias: Option<Value>,
}

impl AffineMap {
    pub fn d_out(&self) -> usize {
        self.weight.shape()[0]
    }
}
