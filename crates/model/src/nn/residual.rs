//! The residual connection, norm and dropout around a sublayer.

use attentive_architecture::{DropoutPosition, NormPosition, TransformerStack};
use attentive_tape::{Value, add, dropout_add};

use super::{Dropout, Norm, Pass, Scope};

/// Joins a sublayer's output with its input (*Attention Is All You Need*, sections 3.1 and 5.4).
#[derive(Clone, Debug)]
pub struct Residual {
    /// The norm of this sublayer.
    pub norm: Norm,
    dropout: Dropout,
    norm_position: NormPosition,
    dropout_position: DropoutPosition,
}

impl Residual {
    /// The connection around one sublayer of `stack`.
    pub fn new(stack: &TransformerStack, scope: Scope<'_>) -> Self {
        Self {
            norm: Norm::new(&stack.norm, scope.at("norm")),
            dropout: scope.dropout(stack.dropout),
            norm_position: stack.norm_position,
            dropout_position: stack.dropout_position,
        }
    }

    /// Applies `sublayer` within the connection; rows `[rows, d_model]` keep their shape.
    pub fn forward(
        &self,
        x: Value,
        pass: &Pass<'_>,
        sublayer: impl FnOnce(Value) -> Value,
    ) -> Value {
        let dropout = pass.dropout(self.dropout);
        match (self.norm_position, self.dropout_position) {
            (NormPosition::Post, DropoutPosition::Sublayer) => {
                let y = sublayer(x.clone());
                self.norm.forward_sum(x, y, dropout, pass)
            }
            (NormPosition::Post, DropoutPosition::AfterNorm) => {
                let y = sublayer(x.clone());
                dropout_add(self.norm.forward_sum(x, y, None, pass), None, dropout)
            }
            (NormPosition::Pre, DropoutPosition::Sublayer) => {
                let y = sublayer(self.norm.forward(x.clone(), pass));
                dropout_add(y, Some(x), dropout)
            }
            (NormPosition::Pre, DropoutPosition::AfterNorm) => {
                let read = self.norm.forward(x.clone(), pass);
                add(x, sublayer(dropout_add(read, None, dropout)))
            }
        }
    }
}
