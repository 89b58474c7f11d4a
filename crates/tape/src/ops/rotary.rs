//! Rotary position embeddings (Su et al. 2021): feature pairs of queries and keys are rotated by position ·
//! frequency.

use std::sync::{Arc, PoisonError, RwLock};

use attentive_device::{RotaryCall, RowPositions, Turn, current};
use attentive_kernels::rotary::{RotaryTable, frequencies};

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Value};

/// The rotation angles of a model. Sines and cosines are computed when a position is first used, and shared
/// by all clones.
#[derive(Clone, Debug)]
pub struct Rotary {
    table: Arc<RwLock<Arc<RotaryTable>>>,
}

/// Minimum number of positions computed at a time.
const AT_ONCE: usize = 64;

impl Rotary {
    /// The frequencies `base`^(−2i / `d_head`) of the feature pairs i of a head.
    pub fn new(base: f64, d_head: usize) -> Self {
        Self::with_frequencies(frequencies(base, d_head))
    }

    /// Uses the given frequencies, one per feature pair of a head.
    pub fn with_frequencies(frequencies: Arc<[f64]>) -> Self {
        let table = Arc::new(RotaryTable::new(frequencies, 0));
        Self { table: Arc::new(RwLock::new(table)) }
    }

    /// Rotates the first `heads` heads of every row; feature i of a head is paired with feature i + d_head/2.
    /// The columns after these heads are copied.
    ///
    /// # Shapes
    /// - `x`, result: `[batch · len, width]`, sequences of `len` tokens from position 0 on
    pub fn turn(&self, x: Value, heads: usize, len: usize) -> Value {
        let table = self.table(len);
        let shape = x.shape();
        let op = TurnOp { table, len, width: shape[1], heads };
        apply(op, TurnOperands { x }, shape)
    }

    /// Like [`Rotary::turn`], for rows at these positions, and without recording.
    pub fn turn_at(&self, x: &Value, heads: usize, positions: &[usize]) -> Value {
        let table = self.table(positions.iter().max().map_or(0, |last| last + 1));
        let [rows, width] = x.shape();
        let call = RotaryCall { table: &table, positions: RowPositions::Each(positions), width, heads };
        let mut out = Buffer::take(rows * width);
        current().rotary(call, Turn::Forward, x.buffer(), &mut out);
        Value::new(out, [rows, width])
    }

    /// The table, extended if it has fewer than `positions`.
    fn table(&self, positions: usize) -> Arc<RotaryTable> {
        let table = Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner));
        if table.positions() >= positions {
            return table;
        }
        let len = positions.next_power_of_two().max(AT_ONCE);
        let longer = Arc::new(RotaryTable::new(Arc::clone(table.frequencies()), len));
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&longer);
        longer
    }
}

operands! {
    struct TurnOperands {
        x: One,
    }
}

struct TurnOp {
    table: Arc<RotaryTable>,
    len: usize,
    width: usize,
    heads: usize,
}

impl TurnOp {
    fn run(&self, turn: Turn, x: &Buffer) -> Buffer {
        let call = RotaryCall {
            table: &self.table,
            positions: RowPositions::Sequences(self.len),
            width: self.width,
            heads: self.heads,
        };
        let mut out = Buffer::take(x.len());
        current().rotary(call, turn, x, &mut out);
        out
    }
}

impl TapeOp for TurnOp {
    const NAME: &'static str = "rotary";
    type Operands = TurnOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: TurnOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        OpOutput::new(self.run(Turn::Forward, inputs.x), ())
    }

    fn backward(&self, context: Context<'_, Self>) -> TurnOperands<Option<Buffer>> {
        TurnOperands { x: Some(self.run(Turn::Back, &context.grad)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_grows_and_is_shared() {
        let rotary = Rotary::new(1e4, 4);
        let clone = rotary.clone();
        assert_eq!(rotary.table(3).positions(), AT_ONCE);
        let longer = clone.table(AT_ONCE + 1);
        assert!(Arc::ptr_eq(&longer, &rotary.table(100)));
        assert_eq!(longer.at(70), RotaryTable::new(frequencies(1e4, 4), 71).at(70));
    }
}
