//! Rows of a table, by number, with positions and dropout on top.

use std::sync::Arc;

use attentive_kernels::dropout::dropout_add;
use attentive_kernels::embedding::{embedding as kernel, embedding_backward};
use burn::tensor::{Int, Tensor, TensorData};

use super::fused::{self, Context, Kernel, Pass};
use super::{Dropout, buffers};

/// The rows of a table of positions, `[max_len, d]`, that belong to sequences of `len` tokens from position `first` on.
#[derive(Clone, Debug)]
pub struct PositionRows {
    /// The whole table.
    pub table: Arc<Vec<f32>>,
    /// The first row.
    pub first: usize,
    /// How many.
    pub len: usize,
}

impl PositionRows {
    fn rows(&self, d: usize) -> &[f32] {
        &self.table[self.first * d..(self.first + self.len) * d]
    }
}

/// `dropout(scale · table[ids[i]] + positions[i mod len])` for every `i`.
///
/// # Shapes
/// - `ids`: any number of rows, sequence after sequence
/// - `table`: `[vocab, d]`
/// - result: `[ids.len(), d]`
pub fn embedding(
    ids: &[u32],
    table: Tensor<2>,
    scale: f64,
    positions: Option<PositionRows>,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    if !fused::applies(&table) {
        return portable(ids, table, scale, positions, dropout);
    }
    let [_, d] = table.dims();
    let kernel = Embedding {
        ids: ids.into(),
        d,
        scale: scale as f32,
        positions,
        dropout,
    };
    fused::apply(kernel, vec![table.into()], [ids.len(), d])
}

pub(super) fn portable(
    ids: &[u32],
    table: Tensor<2>,
    scale: f64,
    positions: Option<PositionRows>,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let (rows, [_, d]) = (ids.len(), table.dims());
    let options = (&table.device(), table.dtype());
    let ids: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    let ids = Tensor::<1, Int>::from_data(TensorData::new(ids, [rows]), &table.device());
    let mut out = table.select(0, ids) * scale;
    if let Some(positions) = positions {
        let data = TensorData::new(positions.rows(d).to_vec(), [1, positions.len, d]);
        let added = Tensor::<3>::from_data(data.convert_dtype(options.1), options);
        let sequences = rows / positions.len.max(1);
        out = (out.reshape([sequences, positions.len, d]) + added).reshape([rows, d]);
    }
    match dropout {
        Some(dropout) => super::dropout::portable(out, dropout),
        None => out,
    }
}

/// Input: the table.
#[derive(Clone, Debug)]
struct Embedding {
    ids: Arc<[u32]>,
    d: usize,
    scale: f32,
    positions: Option<PositionRows>,
    dropout: Option<Dropout>,
}

impl Kernel for Embedding {
    const NAME: &'static str = "embedding";
    type Saved = usize;

    fn keeps_input(&self, _input: usize) -> bool {
        false
    }

    fn forward(&self, inputs: &[&[f32]], _pass: Pass) -> (Vec<f32>, usize) {
        let table = inputs[0];
        let mut out = buffers::take(self.ids.len() * self.d);
        let positions = self.positions.as_ref().map(|rows| rows.rows(self.d));
        kernel(&self.ids, table, self.d, self.scale, positions, &mut out);
        if let Some(dropout) = self.dropout {
            dropout.apply(&mut out);
        }
        (out, table.len())
    }

    fn backward(&self, context: Context<'_, usize>) -> Vec<Option<Vec<f32>>> {
        let mut table = buffers::take(context.saved);
        let mut grad = buffers::take(context.grad.len());
        dropout_add(0, context.grad, None, self.dropout, &mut grad);
        embedding_backward(&self.ids, &grad, self.d, self.scale, &mut table);
        buffers::give(grad);
        vec![Some(table)]
    }
}
