//! The residual connection, norm and dropout around a sublayer.

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Dropout, Norm, Pass, Scope};
use crate::architecture::{DropoutPosition, NormPosition, TransformerStack};
use crate::ops::dropout_add;

/// Joins a sublayer's output with its input (*Attention Is All You Need*, sections 3.1 and 5.4).
#[derive(Module, Debug)]
pub struct Residual {
    /// The norm of this sublayer.
    pub norm: Norm,
    #[module(skip)]
    dropout: Dropout,
    #[module(skip)]
    norm_position: NormPosition,
    #[module(skip)]
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
        x: Tensor<2>,
        pass: &Pass<'_>,
        sublayer: impl FnOnce(Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        let dropout = pass.dropout(self.dropout);
        match (self.norm_position, self.dropout_position) {
            (NormPosition::Post, DropoutPosition::Sublayer) => {
                let y = sublayer(x.clone());
                self.norm.forward_sum(x, y, dropout)
            }
            (NormPosition::Post, DropoutPosition::AfterNorm) => {
                let y = sublayer(x.clone());
                dropout_add(self.norm.forward_sum(x, y, None), None, dropout)
            }
            (NormPosition::Pre, DropoutPosition::Sublayer) => {
                let y = sublayer(self.norm.forward(x.clone()));
                dropout_add(y, Some(x), dropout)
            }
            (NormPosition::Pre, DropoutPosition::AfterNorm) => {
                x.clone() + sublayer(dropout_add(self.norm.forward(x), None, dropout))
            }
        }
    }
}
