//! The input of a stack: from token ids to vectors.

use attentive_architecture::{self as architecture, Items};
use attentive_base::batch::TokenId;

use super::{Backend, Dropout, Norm, ParameterInit, PositionEncoding, Scope, Storage};

/// Embeddings, positions and norm of the input of a stack.
#[derive(Clone, Debug)]
pub struct Input<S: Storage> {
    /// `[vocab, d_model]`: the vectors of tokens; absent if another input has them, or if the input is
    /// vectors.
    pub table: Option<S::Matrix>,
    /// Positions that are added to the embeddings.
    pub positions: PositionEncoding<S>,
    /// The norm of the sum.
    pub norm: Option<Norm<S>>,
    pub(crate) scale: f64,
    dropout: Dropout,
}

impl<S: Storage> Input<S> {
    /// Makes the input at `scope`.
    pub fn new(input: &architecture::InputSpec, scope: Scope<'_, S>) -> Self {
        let d = input.d_model;
        let (scale, rows) = match input.items {
            Items::Tokens { vocab, scale, shared } => (scale, (!shared).then_some(vocab)),
            Items::Vectors => (1.0, None),
        };
        let table = |rows| scope.at("embedding").matrix("weight", [rows, d], ParameterInit::Embedding);
        Self {
            table: rows.map(table),
            positions: PositionEncoding::new(input, scope.at("positions")),
            norm: (input.norm.as_ref()).map(|norm| Norm::new(norm, d, &scope.at("norm"))),
            scale,
            dropout: scope.dropout(input.dropout),
        }
    }

    /// Returns dropout(norm(scale · embedding + position)) of each token, with the embeddings in `table`:
    /// `[ids.len(), d_model]`.
    pub fn forward<B: Backend<Storage = S>>(
        &self,
        ids: &[TokenId],
        table: &S::Matrix,
        backend: &mut B,
    ) -> B::Value {
        match &self.norm {
            None => backend.embed(ids, table, self, Some(self.dropout)),
            Some(norm) => {
                let x = backend.embed(ids, table, self, None);
                let x = norm.forward(&x, backend);
                backend.dropout(x, self.dropout)
            }
        }
    }
}
