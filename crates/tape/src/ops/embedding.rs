//! Embedding lookup with optional position embeddings and dropout.

use std::sync::Arc;

use attentive_device::{PositionRows, current};

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, DropoutCall, Value};

/// The rows of a position table `[max_len, d]` for sequences of `len` tokens, from position 0 on.
#[derive(Clone, Debug)]
pub struct TapePositionRows {
    /// The whole table.
    pub table: Arc<Vec<f32>>,
    /// Tokens per sequence.
    pub len: usize,
}

impl TapePositionRows {
    fn operand(&self) -> PositionRows<'_> {
        PositionRows { table: &self.table, len: self.len }
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
    table: Value,
    scale: f64,
    positions: Option<TapePositionRows>,
    dropout: Option<DropoutCall>,
) -> Value {
    let [_, d] = table.shape();
    let op = Embedding { ids: ids.into(), d, scale: scale as f32, positions, dropout };
    let operands = EmbeddingOperands { table };
    apply(op, operands, [ids.len(), d])
}

operands! {
    struct EmbeddingOperands {
        table: One,
    }
}

struct Embedding {
    ids: Arc<[u32]>,
    d: usize,
    scale: f32,
    positions: Option<TapePositionRows>,
    dropout: Option<DropoutCall>,
}

impl TapeOp for Embedding {
    const NAME: &'static str = "embedding";
    type Operands = EmbeddingOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: EmbeddingOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let table = inputs.table;
        let mut out = Buffer::take(self.ids.len() * self.d);
        let positions = self.positions.as_ref().map(TapePositionRows::operand);
        current().embedding(&self.ids, table, self.d, self.scale, positions, &mut out);
        if let Some(dropout) = self.dropout {
            current().dropout(dropout, &mut out);
        }
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> EmbeddingOperands<Option<Buffer>> {
        let mut table = context.operands.table.buffer();
        let mut grad = context.grad;
        if let Some(dropout) = self.dropout {
            current().dropout(dropout, &mut grad);
        }
        current().embedding_backward(&self.ids, &grad, self.d, self.scale, &mut table);
        EmbeddingOperands { table: Some(table) }
    }
}
