//! The position-wise feed-forward network (*Attention Is All You Need*, equation 2).

use attentive_architecture::{ActivationKind, TransformerSpec};

use super::{Backend, Dropout, Linear, Scope, Storage};

/// activation(x·W₁ + b₁)·W₂ + b₂ for every row. If gated, (activation(x·W₁ + b₁) ∘ (x·W₃ + b₃))·W₂ + b₂
/// (Shazeer 2020).
#[derive(Clone, Debug)]
pub struct FeedForward<S: Storage> {
    /// `[d_ff, d_model]`: W₁.
    pub inner: Linear<S>,
    /// `[d_ff, d_model]`: W₃.
    pub gate: Option<Linear<S>>,
    /// `[d_model, d_ff]`: W₂.
    pub outer: Linear<S>,
    activation: ActivationKind,
    dropout: Dropout,
}

impl<S: Storage> FeedForward<S> {
    /// Makes the network of one layer of `stack` at `scope`.
    pub fn new(stack: &TransformerSpec, scope: Scope<'_, S>) -> Self {
        let (network, d) = (&stack.feed_forward, stack.d_model);
        let (d_ff, bias) = (network.d_ff, network.bias);
        let inner = |name| Linear::new(d, d_ff, bias, &scope.at(name));
        Self {
            inner: inner("inner"),
            gate: network.gated.then(|| inner("gate")),
            outer: Linear::residual(stack.n_sublayers(), d_ff, d, bias, &scope.at("outer")),
            activation: network.activation,
            dropout: scope.dropout(network.dropout),
        }
    }

    /// Maps rows `[rows, d_model]` to rows of the same shape.
    pub fn forward<B: Backend<Storage = S>>(&self, x: &B::Value, backend: &mut B) -> B::Value {
        let hidden = match &self.gate {
            None => backend.activated(x, &self.inner, self.activation, Some(self.dropout)),
            Some(gate) => {
                let both = backend.linear(x, &[&self.inner, gate]);
                backend.gated(both, self.activation, self.dropout)
            }
        };
        self.outer.forward(&hidden, backend)
    }
}
