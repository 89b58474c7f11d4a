//! A norm with its parameters.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Initializer;
use crate::config::NormKind;
use crate::ops;

const EPSILON: f64 = 1e-5;

/// Normalises each row; which formula is a value of the configuration.
#[derive(Module, Debug)]
pub struct Norm {
    /// `[d_model]`, or `[1]` for the scalar variant.
    pub gain: Param<Tensor<1>>,
    /// As `gain`; absent for the root mean square norm.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    kind: ops::Norm,
}

impl Norm {
    /// A norm over `d_model` features, with gain 1 and bias 0.
    pub fn new(kind: NormKind, d_model: usize, init: &mut Initializer) -> Self {
        let (kind, width) = match kind {
            NormKind::Layer => (ops::Norm::Layer, d_model),
            NormKind::Rms => (ops::Norm::Rms, d_model),
            NormKind::Scalar => (ops::Norm::Scalar, 1),
        };
        Self {
            gain: init.constant(width, 1.0),
            bias: (kind != ops::Norm::Rms).then(|| init.constant(width, 0.0)),
            kind,
        }
    }

    /// `[rows, d_model]` to the same.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        ops::norm(self.kind, x, self.gain.val(), self.bias(), EPSILON)
    }

    /// The norm of `x + dropout(y)`, all `[rows, d_model]`.
    pub fn forward_sum(
        &self,
        x: Tensor<2>,
        y: Tensor<2>,
        dropout: Option<ops::Dropout>,
    ) -> Tensor<2> {
        let gain = self.gain.val();
        ops::residual_norm(self.kind, [x, y], dropout, gain, self.bias(), EPSILON)
    }

    fn bias(&self) -> Option<Tensor<1>> {
        self.bias.as_ref().map(Param::val)
    }
}
