//! Multiplication by a number.

use attentive_device::current;

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Value};

/// `factor` · `x`
pub fn scale(x: Value, factor: f32) -> Value {
    let shape = x.shape();
    apply(Scale(factor), ScaleOperands { x }, shape)
}

operands! {
    struct ScaleOperands {
        x: One,
    }
}

struct Scale(f32);

impl TapeOp for Scale {
    const NAME: &'static str = "scale";
    type Operands = ScaleOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: ScaleOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = inputs.x.clone();
        current().scale(&mut out, self.0);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> ScaleOperands<Option<Buffer>> {
        let mut dx = context.grad;
        current().scale(&mut dx, self.0);
        ScaleOperands { x: Some(dx) }
    }
}
