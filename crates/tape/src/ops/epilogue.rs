//! What follows the product of a linear layer.

use crate::{Activation, Dropout, Float};

/// Operations fused into a linear layer, and its matmul precision.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue {
    /// Applied to x·Wᵀ + b.
    pub activation: Activation,
    /// Applied after the activation.
    pub dropout: Option<Dropout>,
    /// The precision of the products.
    pub precision: Float,
}

impl Epilogue {
    /// No activation and no dropout.
    pub fn plain(precision: Float) -> Self {
        Self { activation: Activation::Identity, dropout: None, precision }
    }
}
