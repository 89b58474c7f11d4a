//! Norms.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Scope;
use crate::architecture::{self, NormKind};
use crate::ops;

/// A norm over the features of each row.
#[derive(Module, Debug)]
pub struct Norm {
    /// `[d_model]`, or `[1]` for the scalar variant.
    pub gain: Param<Tensor<1>>,
    /// As `gain`; absent for the root mean square norm.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    kind: ops::Norm,
    #[module(skip)]
    epsilon: f64,
}

impl Norm {
    /// The norm at `scope`.
    pub fn new(norm: &architecture::Norm, scope: Scope<'_>) -> Self {
        Self {
            gain: scope.parameter("gain"),
            bias: norm.has_bias().then(|| scope.parameter("bias")),
            kind: match norm.kind {
                NormKind::Layer => ops::Norm::Layer,
                NormKind::Rms => ops::Norm::Rms,
                NormKind::Scalar => ops::Norm::Scalar,
            },
            epsilon: norm.epsilon,
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        ops::norm(self.kind, x, self.gain.val(), self.bias(), self.epsilon)
    }

    /// The norm of `x + dropout(y)`, all `[rows, d_model]`.
    pub fn forward_sum(
        &self,
        x: Tensor<2>,
        y: Tensor<2>,
        dropout: Option<ops::Dropout>,
    ) -> Tensor<2> {
        let gain = self.gain.val();
        ops::residual_norm(self.kind, [x, y], dropout, gain, self.bias(), self.epsilon)
    }

    fn bias(&self) -> Option<Tensor<1>> {
        self.bias.as_ref().map(Param::val)
    }
}
