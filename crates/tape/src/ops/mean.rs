//! The mean over the real positions of each sequence.

use attentive_device::current;

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Lengths, Value};

/// The mean over the real positions of each sequence; zero for an empty one.
///
/// Positions are added one by one, so padding does not change the result.
///
/// # Shapes
/// - `x`: `[rows · width, d]`
/// - result: `[rows, d]`
pub fn mean_rows(x: Value, lengths: &Lengths) -> Value {
    let [_, d] = x.shape();
    let lengths = lengths.clone();
    let shape = [lengths.rows(), d];
    apply(Mean { lengths, d }, MeanOperands { x }, shape)
}

operands! {
    struct MeanOperands {
        x: One,
    }
}

struct Mean {
    lengths: Lengths,
    d: usize,
}

impl TapeOp for Mean {
    const NAME: &'static str = "mean";
    type Operands = MeanOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: MeanOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(self.lengths.rows() * self.d);
        current().mean_rows(&self.lengths, self.d, inputs.x, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> MeanOperands<Option<Buffer>> {
        let mut dx = Buffer::take(self.lengths.positions() * self.d);
        current().mean_rows_backward(&self.lengths, self.d, &context.grad, &mut dx);
        MeanOperands { x: Some(dx) }
    }
}
