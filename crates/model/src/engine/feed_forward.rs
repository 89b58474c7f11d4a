//! The position-wise feed-forward network.

use attentive_architecture::{self as architecture, ActivationKind};
use attentive_kernels::gemm::Activation;
use attentive_kernels::nonlinearity::{Nonlinearity, exact_gelu, gated, nonlinear};

use super::Precision;
use super::buffers::Buffers;
use super::linear::Linear;
use super::weights::Scope;

/// See [`crate::nn::FeedForward`].
#[derive(Debug)]
pub(super) struct FeedForward {
    inner: Linear,
    gate: Option<Linear>,
    outer: Linear,
    function: Nonlinearity,
}

impl FeedForward {
    pub(super) fn new(network: &architecture::FeedForward, mut scope: Scope<'_>) -> Self {
        let bias = network.bias;
        Self {
            inner: scope.linear("inner", bias),
            gate: network.gated.then(|| scope.linear("gate", bias)),
            outer: scope.linear("outer", bias),
            function: match network.activation {
                ActivationKind::Relu => Nonlinearity::Relu,
                ActivationKind::Gelu => Nonlinearity::Gelu,
                ActivationKind::GeluTanh => Nonlinearity::GeluTanh,
                ActivationKind::Silu => Nonlinearity::Silu,
            },
        }
    }

    /// Maps `rows` rows of `x` to `out`, both `[rows, d_model]`.
    pub(super) fn apply(&self, rows: usize, x: &[f32], out: &mut [f32], buffers: &Buffers) {
        let d = self.inner.d_out();
        let mut hidden = buffers.take(rows * d);
        match (&self.gate, self.function) {
            (None, Nonlinearity::Relu) => {
                self.inner
                    .apply_with(rows, x, Activation::Relu, &mut hidden);
            }
            (None, function) => {
                let mut linear = buffers.take(hidden.len());
                self.inner.apply(rows, x, &mut linear);
                self.nonlinear(function, &linear, &mut hidden);
            }
            (Some(gate), function) => {
                let mut both = buffers.take(2 * hidden.len());
                Linear::side_by_side([&self.inner, gate], rows, x, &mut both);
                gated(function, d, &both, &mut hidden);
            }
        }
        self.outer.apply(rows, &hidden, out);
    }

    /// In `f32`, GELU gives the bits of training, which uses a slower error function.
    fn nonlinear(&self, function: Nonlinearity, x: &[f32], out: &mut [f32]) {
        match (function, self.inner.weight.precision()) {
            (Nonlinearity::Gelu, Precision::F32) => exact_gelu(x, out),
            _ => nonlinear(function, x, out),
        }
    }
}
