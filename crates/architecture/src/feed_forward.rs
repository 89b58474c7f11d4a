//! The position-wise feed-forward network.

use super::ActivationKind;
use super::layout::Layout;

/// A position-wise feed-forward network (*Attention Is All You Need*, equation 2), gated as in Shazeer (2020)
/// if `gated`.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForward {
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

impl FeedForward {
    pub(super) fn lay_out(&self, d_model: usize, n_sublayers: usize, layout: &mut Layout) {
        let Self { d_ff, bias, .. } = *self;
        layout.at("feed_forward", |layout| {
            layout.linear("inner", d_model, d_ff, bias);
            if self.gated {
                layout.linear("gate", d_model, d_ff, bias);
            }
            layout.residual_linear("outer", d_ff, d_model, bias, n_sublayers);
        });
    }
}
