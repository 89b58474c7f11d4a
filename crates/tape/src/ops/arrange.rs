//! Columns side by side, taken apart and transposed.

use std::ops::Range;

use attentive_device::{Columns as Part, current};

use crate::kernel::{Context, Kernel, Mode, Operand, Output, apply};
use crate::{Buffer, Value};

/// Matrices with equal numbers of rows, side by side: `[rows, Σ columns]`.
///
/// # Panics
/// If there are none, or their numbers of rows differ.
pub fn join(parts: Vec<Value>) -> Value {
    let rows = parts[0].shape()[0];
    let width = |part: &Value| {
        let [own, width] = part.shape();
        assert_eq!(
            own, rows,
            "matrices side by side have equal numbers of rows"
        );
        width
    };
    let widths: Vec<usize> = parts.iter().map(width).collect();
    let total = widths.iter().sum();
    apply(Join { rows, widths }, JoinOperands { parts }, [rows, total])
}

/// The columns of `x` in a range.
///
/// # Panics
/// If there are no such columns.
pub fn columns(x: Value, range: Range<usize>) -> Value {
    let [rows, width] = x.shape();
    assert!(range.start <= range.end && range.end <= width, "{range:?}");
    let shape = [rows, range.len()];
    apply(Columns { range, width }, ColumnsOperands { x }, shape)
}

/// The rows of `table` with the given numbers, one after another as columns: `[d, rows.len()]` of a table `[n, d]`.
///
/// # Panics
/// If there is no such row.
pub fn transposed_rows(table: Value, rows: Vec<usize>) -> Value {
    let [_, d] = table.shape();
    let shape = [d, rows.len()];
    apply(
        TransposedRows { rows, d },
        ColumnsOperands { x: table },
        shape,
    )
}

operands! {
    struct JoinOperands {
        parts: Many,
    }
}

operands! {
    struct ColumnsOperands {
        x: One,
    }
}

struct Join {
    rows: usize,
    widths: Vec<usize>,
}

impl Join {
    /// The range of each part's columns.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.widths.iter().scan(0, |start, width| {
            let range = *start..*start + width;
            *start = range.end;
            Some(range)
        })
    }
}

impl Kernel for Join {
    const NAME: &'static str = "columns";
    type Operands = JoinOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: JoinOperands<&Buffer>, _: Mode<Self>) -> Output<Self> {
        let width: usize = self.widths.iter().sum();
        let mut out = Buffer::take(self.rows * width);
        for (part, range) in inputs.parts.into_iter().zip(self.ranges()) {
            put(part, &mut out, width, &range);
        }
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> JoinOperands<Option<Buffer>> {
        let width = self.widths.iter().sum();
        let part = |(range, operand): (Range<usize>, Operand)| {
            (operand.is_wanted).then(|| cut(&context.grad, width, &range))
        };
        let parts = self.ranges().zip(context.operands.parts);
        JoinOperands {
            parts: parts.map(part).collect(),
        }
    }
}

struct Columns {
    range: Range<usize>,
    width: usize,
}

impl Kernel for Columns {
    const NAME: &'static str = "columns";
    type Operands = ColumnsOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: ColumnsOperands<&Buffer>, _: Mode<Self>) -> Output<Self> {
        Output::new(cut(inputs.x, self.width, &self.range), ())
    }

    fn backward(&self, context: Context<'_, Self>) -> ColumnsOperands<Option<Buffer>> {
        let mut dx = Buffer::zeros(context.operands.x.len);
        put(&context.grad, &mut dx, self.width, &self.range);
        ColumnsOperands { x: Some(dx) }
    }
}

/// Copies the columns `range` of a matrix with `width` columns.
fn cut(x: &Buffer, width: usize, range: &Range<usize>) -> Buffer {
    let rows = x.len().checked_div(width).unwrap_or(0);
    let mut out = Buffer::take(rows * range.len());
    let from = Part {
        matrix: x,
        width,
        first: range.start,
    };
    let to = Part {
        matrix: &mut out,
        width: range.len(),
        first: 0,
    };
    current().copy_columns(range.len(), from, to);
    out
}

/// Copies `part` into the columns `range` of a matrix with `width` columns.
fn put(part: &Buffer, whole: &mut Buffer, width: usize, range: &Range<usize>) {
    let from = Part {
        matrix: part,
        width: range.len(),
        first: 0,
    };
    let to = Part {
        matrix: whole,
        width,
        first: range.start,
    };
    current().copy_columns(range.len(), from, to);
}

struct TransposedRows {
    rows: Vec<usize>,
    d: usize,
}

impl Kernel for TransposedRows {
    const NAME: &'static str = "rows";
    type Operands = ColumnsOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: ColumnsOperands<&Buffer>, _: Mode<Self>) -> Output<Self> {
        let mut out = Buffer::take(self.d * self.rows.len());
        current().select_transposed(self.d, inputs.x, &self.rows, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> ColumnsOperands<Option<Buffer>> {
        let mut dx = Buffer::zeros(context.operands.x.len);
        current().add_transposed(self.d, &context.grad, &self.rows, &mut dx);
        ColumnsOperands { x: Some(dx) }
    }
}
