//! The residual connection, norm and dropout around a sublayer.

use attentive_architecture::{DropoutPosition, NormPosition, TransformerSpec};

use super::{Backend, Dropout, Norm, Scope, Storage};

/// Joins a sublayer's output with its input (*Attention Is All You Need*, sections 3.1 and 5.4).
#[derive(Clone, Debug)]
pub struct Residual<S: Storage> {
    /// The norm of this sublayer.
    pub norm: Norm<S>,
    dropout: Dropout,
    norm_position: NormPosition,
    dropout_position: DropoutPosition,
}

impl<S: Storage> Residual<S> {
    /// Makes the connection around one sublayer of `stack`.
    pub fn new(stack: &TransformerSpec, scope: Scope<'_, S>) -> Self {
        Self {
            norm: Norm::new(&stack.norm, stack.d_model, &scope.at("norm")),
            dropout: scope.dropout(stack.dropout),
            norm_position: stack.norm_position,
            dropout_position: stack.dropout_position,
        }
    }

    /// Applies `sublayer` within the connection; rows `[rows, d_model]` keep their shape.
    pub fn forward<B: Backend<Storage = S>>(
        &self,
        x: B::Value,
        backend: &mut B,
        sublayer: impl FnOnce(&B::Value, &mut B) -> B::Value,
    ) -> B::Value {
        match (self.norm_position, self.dropout_position) {
            (NormPosition::Post, DropoutPosition::Sublayer) => {
                let y = sublayer(&x, backend);
                backend.residual_norm(x, y, Some(self.dropout), &self.norm)
            }
            (NormPosition::Post, DropoutPosition::AfterNorm) => {
                let y = sublayer(&x, backend);
                let sum = backend.residual_norm(x, y, None, &self.norm);
                backend.dropout(sum, self.dropout)
            }
            (NormPosition::Pre, DropoutPosition::Sublayer) => {
                let read = self.norm.forward(&x, backend);
                let y = sublayer(&read, backend);
                backend.add(x, y, Some(self.dropout))
            }
            (NormPosition::Pre, DropoutPosition::AfterNorm) => {
                let read = self.norm.forward(&x, backend);
                let read = backend.dropout(read, self.dropout);
                let y = sublayer(&read, backend);
                backend.add(x, y, None)
            }
        }
    }
}
