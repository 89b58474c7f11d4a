//! Learned positional vectors.

use std::ops::Range;

use attentive_device::current;

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Value};

/// Adds the rows of `table` from `first` on to the vectors of every sequence.
///
/// # Shapes
/// - `x`, result: `[batch · len, d]`, sequences of `len` vectors
/// - `table`: `[n, d]`, with at least `first + len` rows
///
/// # Panics
/// If the table is too short.
pub fn add_positions(x: Value, table: Value, first: usize, len: usize) -> Value {
    let (shape, [n_rows, d]) = (x.shape(), table.shape());
    assert!(first + len <= n_rows, "positions up to {}", first + len);
    assert!(
        shape[1] == d && shape[0].is_multiple_of(len.max(1)),
        "sequences of {len} vectors of width {d}, not {shape:?}"
    );
    let op = AddPositions(first * d..(first + len) * d);
    apply(op, PositionOperands { x, table }, shape)
}

operands! {
    struct PositionOperands {
        x: One,
        table: One,
    }
}

/// The elements of the table that are added.
struct AddPositions(Range<usize>);

impl TapeOp for AddPositions {
    const NAME: &'static str = "positions";
    type Operands = PositionOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: PositionOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = inputs.x.clone();
        current().add_to_each(inputs.table, self.0.clone(), &mut out);
        OpOutput::new(out, ())
    }

    /// The gradient of a vector is summed over the sequences, one by one.
    fn backward(&self, context: Context<'_, Self>) -> PositionOperands<Option<Buffer>> {
        let table = context.operands.table.room().map(|mut table| {
            current().sum_of_each(&context.grad, self.0.clone(), &mut table);
            table
        });
        PositionOperands { x: Some(context.grad), table }
    }
}
