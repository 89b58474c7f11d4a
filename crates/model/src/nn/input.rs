//! The input of a stack: from token ids to vectors.

use attentive_architecture::{self as architecture, Items};
use attentive_tape::{self as tape, Value};

use super::{Dropout, Embedding, Norm, Pass, PositionEncoding, Scope};

/// Embeddings, positions, norm and dropout.
#[derive(Clone, Debug)]
pub struct Input {
    /// Absent if shared with the encoder, or if vectors are read.
    pub embedding: Option<Embedding>,
    /// Positional vectors.
    pub positions: PositionEncoding,
    /// Norm of the sum.
    pub norm: Option<Norm>,
    scale: f64,
    dropout: Dropout,
}

/// Token ids of a batch of rows of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Ids<'a> {
    /// Row after row.
    pub ids: &'a [u32],
    /// The number of rows.
    pub rows: usize,
}

impl Input {
    /// The input at `scope`.
    pub fn new(input: &architecture::Input, max_len: usize, scope: Scope<'_>) -> Self {
        let (scale, own) = match input.items {
            Items::Tokens { scale, shared, .. } => (scale, !shared),
            Items::Vectors => (1.0, false),
        };
        Self {
            embedding: own.then(|| Embedding::new(scope.at("embedding"))),
            positions: PositionEncoding::new(input, max_len, scope.at("positions")),
            norm: (input.norm.as_ref()).map(|norm| Norm::new(norm, scope.at("norm"))),
            scale,
            dropout: scope.dropout(input.dropout),
        }
    }

    /// dropout(norm(scale · embedding + position)) with the embeddings in `table`: `[ids.len(), d_model]`.
    pub fn forward(&self, table: &Embedding, ids: Ids<'_>, pass: &Pass<'_>) -> Value {
        let Ids { ids, rows } = ids;
        let (table, dropout) = (pass.read(&table.weight), pass.dropout(self.dropout));
        let positions = self.positions.fixed_rows(ids.len() / rows.max(1));
        if self.positions.learned.is_none() && self.norm.is_none() {
            return tape::embedding(ids, table, self.scale, positions, dropout);
        }
        let x = tape::embedding(ids, table, self.scale, positions, None);
        let x = self.positions.add_learned(x, rows, pass);
        let x = match &self.norm {
            Some(norm) => norm.forward(x, pass),
            None => x,
        };
        tape::dropout_add(x, None, dropout)
    }

    /// norm(vector + position), without dropout: `[rows · len, d_model]`.
    pub fn read_vectors(&self, vectors: Value, rows: usize, pass: &Pass<'_>) -> Value {
        let x = self.positions.add(vectors, rows, pass);
        match &self.norm {
            Some(norm) => norm.forward(x, pass),
            None => x,
        }
    }
}
