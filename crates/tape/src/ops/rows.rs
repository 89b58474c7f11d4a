//! Selection of rows.

use std::ops::Range;

use attentive_device::current;

use crate::kernel::{Context, Kernel, KernelOutput, Mode, apply};
use crate::{Buffer, Value};

/// The rows of `x` with the given numbers, in that order.
///
/// # Panics
/// If there is no such row.
pub fn select_rows(x: Value, rows: &[usize]) -> Value {
    let [_, d] = x.shape();
    let kernel = Select { rows: rows.to_vec(), d };
    apply(kernel, SelectOperands { x }, [rows.len(), d])
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

impl Kernel for Select {
    const NAME: &'static str = "rows";
    type Operands = SelectOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: SelectOperands<&Buffer>, _: Mode<Self>) -> KernelOutput<Self> {
        let mut out = Buffer::take(self.rows.len() * self.d);
        current().select_rows(self.d, inputs.x, &self.rows, &mut out);
        KernelOutput::new(out, ())
    }

    /// Rows that were selected several times get the sum of their gradients, in the order of selection.
    fn backward(&self, context: Context<'_, Self>) -> SelectOperands<Option<Buffer>> {
        let mut dx = Buffer::zeros(context.operands.x.len);
        current().add_rows(self.d, &context.grad, &self.rows, &mut dx);
        SelectOperands { x: Some(dx) }
    }
}
