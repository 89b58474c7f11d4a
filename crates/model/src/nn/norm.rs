//! Norms.

use attentive_architecture::{self as architecture, NormKind};
use attentive_tape::{self as tape, Param, Value};

use super::{Pass, Scope};

/// A norm over the features of each row.
#[derive(Clone, Debug)]
pub struct Norm {
    /// `[d_model]`, or `[1]` for the scalar variant.
    pub gain: Param,
    /// As `gain`; absent for the root mean square norm.
    pub bias: Option<Param>,
    kind: tape::Norm,
    epsilon: f64,
}

impl Norm {
    /// The norm at `scope`.
    pub fn new(norm: &architecture::Norm, scope: Scope<'_>) -> Self {
        Self {
            gain: scope.parameter("gain"),
            bias: norm.has_bias().then(|| scope.parameter("bias")),
            kind: match norm.kind {
                NormKind::Layer => tape::Norm::Layer,
                NormKind::Rms => tape::Norm::Rms,
                NormKind::Scalar => tape::Norm::Scalar,
            },
            epsilon: norm.epsilon,
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward(&self, x: Value, pass: &Pass<'_>) -> Value {
        let (gain, bias) = self.parameters(pass);
        tape::norm(self.kind, x, gain, bias, self.epsilon)
    }

    /// The norm of `x + dropout(y)`, all `[rows, d_model]`.
    pub fn forward_sum(
        &self,
        x: Value,
        y: Value,
        dropout: Option<tape::Dropout>,
        pass: &Pass<'_>,
    ) -> Value {
        let (gain, bias) = self.parameters(pass);
        tape::residual_norm(self.kind, [x, y], dropout, gain, bias, self.epsilon)
    }

    fn parameters(&self, pass: &Pass<'_>) -> (Value, Option<Value>) {
        let bias = self.bias.as_ref().map(|bias| pass.read(bias));
        (pass.read(&self.gain), bias)
    }
}
