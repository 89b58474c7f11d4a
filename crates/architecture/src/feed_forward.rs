//! The position-wise feed-forward network.

use super::ActivationKind;

/// A position-wise feed-forward network (*Attention Is All You Need*, equation 2), gated as in Shazeer (2020)
/// if `gated`.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForwardSpec {
    /// Width of the inner layer.
    pub d_ff: usize,
    /// The activation function.
    pub activation: ActivationKind,
    /// True if the activation is multiplied by a second linear map of the input.
    pub gated: bool,
    /// True if the maps have biases.
    pub bias: bool,
    /// Dropout after the activation.
    pub dropout: f64,
}
