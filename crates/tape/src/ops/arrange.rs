//! Columns side by side, taken apart and transposed.

use std::ops::Range;

use attentive_device::{MatrixColumns, current};

use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Value};

/// Matrices with equal numbers of rows, side by side: `[rows, Σ columns]`.
///
/// # Panics
/// If there are none, or their numbers of rows differ.
pub fn join(parts: Vec<Value>) -> Value {
    let rows = parts[0].shape()[0];
    let width = |part: &Value| {
        let [own, width] = part.shape();
        assert_eq!(own, rows, "matrices side by side have equal numbers of rows");
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
    column_ranges(x, vec![range])
}

/// The columns of `x` in disjoint ranges, side by side.
///
/// # Panics
/// If there are no such columns, or ranges overlap: the gradient of a column would have to be a sum.
pub fn column_ranges(x: Value, ranges: Vec<Range<usize>>) -> Value {
    let [rows, width] = x.shape();
    for (number, range) in ranges.iter().enumerate() {
        assert!(range.start <= range.end && range.end <= width, "{range:?}");
        let overlaps = |other: &Range<usize>| range.start.max(other.start) < range.end.min(other.end);
        assert!(!ranges[..number].iter().any(overlaps), "{ranges:?} overlap");
    }
    let found = ranges.iter().map(ExactSizeIterator::len).sum();
    apply(Columns { ranges, width }, ColumnsOperands { x }, [rows, found])
}

/// The rows of each position of sequences of `len` positions, `[batch, d]`, given those of all positions,
/// `[batch · len, d]`.
pub fn positions_apart(x: Value, len: usize) -> Vec<Value> {
    let [rows, d] = x.shape();
    let sequences = x.reshaped([rows / len.max(1), len * d]);
    (0..len).map(|position| columns(sequences.clone(), position * d..(position + 1) * d)).collect()
}

/// The rows of all positions of sequences, `[batch · len, d]`, given those of each position, `[batch, d]`.
///
/// # Panics
/// If there is no position.
pub fn positions_together(positions: Vec<Value>) -> Value {
    let ([batch, d], len) = (positions[0].shape(), positions.len());
    join(positions).reshaped([batch * len, d])
}

/// The rows of `table` with the given numbers, one after another as columns: `[d, rows.len()]` of a table
/// `[n, d]`.
///
/// # Panics
/// If there is no such row.
pub fn transposed_rows(table: Value, rows: Vec<usize>) -> Value {
    let [_, d] = table.shape();
    let shape = [d, rows.len()];
    apply(TransposedRows { rows, d }, ColumnsOperands { x: table }, shape)
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

/// The columns of matrices with these widths, side by side.
fn side_by_side(widths: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    widths.scan(0, |start, width| {
        let range = *start..*start + width;
        *start = range.end;
        Some(range)
    })
}

impl Join {
    /// The range of each part's columns.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        side_by_side(self.widths.iter().copied())
    }
}

impl TapeOp for Join {
    const NAME: &'static str = "columns";
    type Operands = JoinOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: JoinOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let width: usize = self.widths.iter().sum();
        let mut out = Buffer::take(self.rows * width);
        for (part, range) in inputs.parts.into_iter().zip(self.ranges()) {
            copy((part, range.len(), 0..range.len()), (&mut out, width, range));
        }
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> JoinOperands<Option<Buffer>> {
        let width = self.widths.iter().sum();
        let part = |(range, operand): (Range<usize>, OperandInfo)| {
            operand.is_wanted.then(|| {
                let (mut part, count) = (operand.buffer(), range.len());
                copy((&context.grad, width, range), (&mut part, count, 0..count));
                part
            })
        };
        let parts = self.ranges().zip(context.operands.parts);
        JoinOperands { parts: parts.map(part).collect() }
    }
}

struct Columns {
    ranges: Vec<Range<usize>>,
    /// Of all columns.
    width: usize,
}

impl Columns {
    /// Each range, and that of the same columns in the result.
    fn pairs(&self) -> impl Iterator<Item = [Range<usize>; 2]> {
        let results = side_by_side(self.ranges.iter().map(ExactSizeIterator::len));
        (self.ranges.iter().cloned().zip(results)).map(|(range, result)| [range, result])
    }

    /// The columns of the result.
    fn count(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

impl TapeOp for Columns {
    const NAME: &'static str = "columns";
    type Operands = ColumnsOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: ColumnsOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let rows = inputs.x.len().checked_div(self.width).unwrap_or(0);
        let mut out = Buffer::take(rows * self.count());
        for [range, result] in self.pairs() {
            copy((inputs.x, self.width, range), (&mut out, self.count(), result));
        }
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> ColumnsOperands<Option<Buffer>> {
        let mut dx = Buffer::zeros(context.operands.x.len);
        for [range, result] in self.pairs() {
            copy((&context.grad, self.count(), result), (&mut dx, self.width, range));
        }
        ColumnsOperands { x: Some(dx) }
    }
}

/// Copies a range of columns of a matrix to one of another matrix; each matrix comes with its width.
fn copy(from: (&Buffer, usize, Range<usize>), to: (&mut Buffer, usize, Range<usize>)) {
    let (from, from_width, columns) = from;
    let (to, to_width, to_columns) = to;
    let from = MatrixColumns { matrix: from, width: from_width, first: columns.start };
    let to = MatrixColumns { matrix: to, width: to_width, first: to_columns.start };
    current().copy_columns(columns.len(), from, to);
}

struct TransposedRows {
    rows: Vec<usize>,
    d: usize,
}

impl TapeOp for TransposedRows {
    const NAME: &'static str = "rows";
    type Operands = ColumnsOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: ColumnsOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(self.d * self.rows.len());
        current().select_transposed(self.d, inputs.x, &self.rows, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> ColumnsOperands<Option<Buffer>> {
        let mut dx = Buffer::zeros(context.operands.x.len);
        current().add_transposed(self.d, &context.grad, &self.rows, &mut dx);
        ColumnsOperands { x: Some(dx) }
    }
}
