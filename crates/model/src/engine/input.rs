//! The input of a stack: from token ids to vectors.

use std::sync::Arc;

use attentive_architecture::{self as architecture, AddedPositions, Items};
use attentive_base::batch::TokenId;

use super::buffers::Buffers;
use super::matrix::Matrix;
use super::norm::Norm;
use super::weights::Scope;
use crate::nn::sinusoids;

/// Embeddings, positions and norm; see [`crate::nn::Input`].
#[derive(Debug)]
pub(super) struct Input {
    /// Embeddings, one per row.
    table: Arc<Matrix>,
    scale: f32,
    /// Row after row; the first is that of position 0.
    positions: Option<Vec<f32>>,
    norm: Option<Norm>,
}

impl Input {
    /// The input at `scope`, which shares `table` if it has none of its own.
    ///
    /// # Panics
    /// If it reads vectors, or has no table.
    pub(super) fn new(
        input: &architecture::Input,
        max_len: usize,
        shared_table: Option<Arc<Matrix>>,
        scope: &mut Scope<'_>,
    ) -> Self {
        let Items::Tokens { scale, shared, .. } = input.items else {
            panic!("a model that decodes reads tokens");
        };
        let table = match shared_table.filter(|_| shared) {
            Some(table) => table,
            None => scope.at("embedding").matrix("weight"),
        };
        let d = input.d_model;
        let positions = match input.positions {
            AddedPositions::None => None,
            AddedPositions::Sinusoidal(layout) => Some(sinusoids(layout, max_len, d)),
            AddedPositions::Learned { offset, .. } => {
                let mut rows = scope.at("positions").vector("learned");
                rows.drain(..offset * d);
                Some(rows)
            }
        };
        Self {
            table,
            scale: scale as f32,
            positions,
            norm: (input.norm.as_ref()).map(|norm| Norm::new(norm, &mut scope.at("norm"))),
        }
    }

    /// The table, for others that share it.
    pub(super) fn table(&self) -> &Arc<Matrix> {
        &self.table
    }

    /// Fills `out` `[ids.len(), d_model]` with norm(scale · embedding + position).
    pub(super) fn apply(
        &self,
        ids: &[TokenId],
        positions: &[usize],
        out: &mut [f32],
        buffers: &Buffers,
    ) {
        let d = self.table.d_in();
        for ((&id, &position), out) in ids.iter().zip(positions).zip(out.chunks_exact_mut(d)) {
            self.table.row(id as usize, out);
            let vector = self
                .positions
                .as_ref()
                .map(|rows| &rows[position * d..][..d]);
            for x in out.iter_mut() {
                *x *= self.scale;
            }
            if let Some(vector) = vector {
                out.iter_mut().zip(vector).for_each(|(x, p)| *x += p);
            }
        }
        if let Some(norm) = &self.norm {
            norm.replace(ids.len(), out, buffers);
        }
    }
}
