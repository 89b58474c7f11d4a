//! Embedding lookup with optional position embeddings and dropout.

use std::sync::Arc;

use attentive_kernels::dropout::dropout_add;
use attentive_kernels::embedding::{
    PositionRows as KernelRows, embedding as kernel, embedding_backward,
};
use burn::tensor::{Int, Tensor, TensorData};

use super::fused::{self, Context, Kept, Kernel, Mode, Output};
use super::{Dropout, buffers};

/// The rows of a position table `[max_len, d]` for sequences of `len` tokens, from position 0 on.
#[derive(Clone, Debug)]
pub struct PositionRows {
    /// The whole table.
    pub table: Arc<Vec<f32>>,
    /// Tokens per sequence.
    pub len: usize,
}

impl PositionRows {
    fn kernel(&self) -> KernelRows<'_> {
        KernelRows {
            table: &self.table,
            len: self.len,
        }
    }
}

/// `dropout(scale · table[ids[i]] + position embedding)` for every `i`.
///
/// # Shapes
/// - `ids`: row numbers, sequence after sequence
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
    let operands = EmbeddingOperands {
        table: table.into(),
    };
    fused::apply(kernel, operands, [ids.len(), d])
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
        let PositionRows { table, len } = positions;
        let row = |row| &table[row % len * d..][..d];
        let added: Vec<f32> = (0..rows).flat_map(row).copied().collect();
        let added = TensorData::new(added, [rows, d]).convert_dtype(options.1);
        out = out + Tensor::from_data(added, options);
    }
    match dropout {
        Some(dropout) => super::dropout::portable(out, dropout),
        None => out,
    }
}

operands! {
    struct EmbeddingOperands {
        table: One,
    }
}

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
    type Operands = EmbeddingOperands<()>;
    type Saved = usize;
    type Side = ();

    fn keeps(&self) -> Kept {
        Kept::Nothing
    }

    fn forward(&self, inputs: EmbeddingOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let table = inputs.table;
        let mut out = buffers::take(self.ids.len() * self.d);
        let positions = self.positions.as_ref().map(PositionRows::kernel);
        kernel(&self.ids, table, self.d, self.scale, positions, &mut out);
        if let Some(dropout) = self.dropout {
            dropout.apply(&mut out);
        }
        Output::new(out, table.len())
    }

    fn backward(&self, context: Context<'_, Self>) -> EmbeddingOperands<Option<Vec<f32>>> {
        let mut table = buffers::take(context.saved);
        let mut grad = buffers::take(context.grad.len());
        dropout_add(0, context.grad, None, self.dropout, &mut grad);
        embedding_backward(&self.ids, &grad, self.d, self.scale, &mut table);
        buffers::give(grad);
        EmbeddingOperands { table: Some(table) }
    }
}
