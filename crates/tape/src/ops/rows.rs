//! Selection of rows.

use std::ops::Range;

use attentive_device::current;

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Value};

/// The rows of `x` with the given numbers, in that order.
///
/// # Panics
/// If there is no such row.
pub fn select_rows(x: Value, rows: &[usize]) -> Value {
    let [_, d] = x.shape();
    let op = Select { rows: rows.to_vec(), d };
    apply(op, SelectOperands { x }, [rows.len(), d])
}

/// The rows of `x` in a range.
///
/// # Panics
/// If there are no such rows.
pub fn row_range(x: Value, rows: Range<usize>) -> Value {
    select_rows(x, &Vec::from_iter(rows))
}

operands! {
    struct SelectOperands {
        x: One,
    }
}

struct Select {
    rows: Vec<usize>,
    d: usize,
}

impl TapeOp for Select {
    const NAME: &'static str = "rows";
    type Operands = SelectOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: SelectOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(self.rows.len() * self.d);
        current().select_rows(self.d, inputs.x, &self.rows, &mut out);
        OpOutput::new(out, ())
    }

    /// Rows that were selected several times get the sum of their gradients, in the order of selection.
    fn backward(&self, context: Context<'_, Self>) -> SelectOperands<Option<Buffer>> {
        let mut dx = Buffer::zeros(context.operands.x.len);
        current().add_rows(self.d, &context.grad, &self.rows, &mut dx);
        SelectOperands { x: Some(dx) }
    }
}
