//! The position-wise feed-forward network (*Attention Is All You Need*, equation 2).

use attentive_architecture::{self as architecture, ActivationKind};
use attentive_tape::{self as tape, Activation, Epilogue, Nonlinearity, Value, dropout_add};

use super::{Dropout, Linear, Pass, Scope};

/// activation(x·W₁ + b₁)·W₂ + b₂ for every row. If gated, (activation(x·W₁ + b₁) ∘ (x·W₃ + b₃))·W₂ + b₂ (Shazeer 2020).
#[derive(Clone, Debug)]
pub struct FeedForward {
    /// `[d_ff, d_model]`: W₁.
    pub inner: Linear,
    /// `[d_ff, d_model]`: W₃.
    pub gate: Option<Linear>,
    /// `[d_model, d_ff]`: W₂.
    pub outer: Linear,
    activation: ActivationKind,
    dropout: Dropout,
}

impl FeedForward {
    /// The network at `scope`.
    pub fn new(network: &architecture::FeedForward, scope: Scope<'_>) -> Self {
        let linear = |name| Linear::new(network.bias, scope.at(name));
        Self {
            inner: linear("inner"),
            gate: network.gated.then(|| linear("gate")),
            outer: linear("outer"),
            activation: network.activation,
            dropout: scope.dropout(network.dropout),
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward(&self, x: Value, pass: &Pass<'_>) -> Value {
        let dropout = pass.dropout(self.dropout);
        let hidden = match (&self.gate, self.activation) {
            (None, ActivationKind::Relu) => self.inner.forward_with(
                x,
                Epilogue {
                    activation: Activation::Relu,
                    dropout,
                    precision: pass.precision(),
                },
                pass,
            ),
            (None, kind) => {
                let x = self.inner.forward(x, pass);
                dropout_add(tape::nonlinear(nonlinearity(kind), x), None, dropout)
            }
            (Some(gate), kind) => {
                let both = Linear::forward_all([&self.inner, gate], x, pass);
                dropout_add(tape::gated(nonlinearity(kind), both), None, dropout)
            }
        };
        self.outer.forward(hidden, pass)
    }
}

/// The operation of an activation function.
pub(super) fn nonlinearity(kind: ActivationKind) -> Nonlinearity {
    match kind {
        ActivationKind::Relu => Nonlinearity::Relu,
        ActivationKind::Gelu => Nonlinearity::Gelu,
        ActivationKind::GeluTanh => Nonlinearity::GeluTanh,
        ActivationKind::Silu => Nonlinearity::Silu,
    }
}
