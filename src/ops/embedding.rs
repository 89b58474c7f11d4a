//! Rows of a table, by number.

use std::sync::Arc;

use attentive_kernels::embedding::{embedding as kernel, embedding_backward};
use burn::tensor::{Int, Tensor, TensorData};

use super::fused::{self, Context, Kernel, Pass};

/// `scale · table[ids[i]]` for every `i`.
///
/// # Shapes
/// - `ids`: any number of rows
/// - `table`: `[vocab, d]`
/// - result: `[ids.len(), d]`
pub fn embedding(ids: &[u32], table: Tensor<2>, scale: f64) -> Tensor<2> {
    if !fused::applies(&table) {
        return portable(ids, table, scale);
    }
    let [_, d] = table.dims();
    let kernel = Embedding {
        ids: ids.into(),
        d,
        scale: scale as f32,
    };
    fused::apply(kernel, [table.into()], [ids.len(), d])
}

pub(super) fn portable(ids: &[u32], table: Tensor<2>, scale: f64) -> Tensor<2> {
    let ids: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    let rows = ids.len();
    let ids = Tensor::<1, Int>::from_data(TensorData::new(ids, [rows]), &table.device());
    table.select(0, ids) * scale
}

/// Input: the table.
#[derive(Clone, Debug)]
struct Embedding {
    ids: Arc<[u32]>,
    d: usize,
    scale: f32,
}

impl Kernel<1> for Embedding {
    type Saved = usize;
    const KEEPS_INPUTS: bool = false;

    fn forward(&self, [table]: [&[f32]; 1], _pass: Pass) -> (Vec<f32>, usize) {
        let mut out = vec![0.0; self.ids.len() * self.d];
        kernel(&self.ids, table, self.d, self.scale, &mut out);
        (out, table.len())
    }

    fn backward(&self, context: Context<'_, 1, usize>) -> [Option<Vec<f32>>; 1] {
        let mut table = vec![0.0; context.saved];
        embedding_backward(&self.ids, context.grad, self.d, self.scale, &mut table);
        [Some(table)]
    }
}
