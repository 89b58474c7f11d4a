//! What follows the product of a linear layer.

use crate::{Activation, DropoutCall, Float};

/// Operations fused into a linear layer, and its matmul precision.
#[derive(Clone, Copy, Debug)]
pub struct TapeEpilogue {
    /// Applied to x·Wᵀ + b.
    pub activation: Activation,
    /// Applied after the activation.
    pub dropout: Option<DropoutCall>,
    /// The precision of the products.
    pub precision: Float,
}

impl TapeEpilogue {
    /// No activation and no dropout.
    pub fn plain(precision: Float) -> Self {
        Self { activation: Activation::Identity, dropout: None, precision }
    }
}
