//! Dropout and residual sum.

use attentive_device::{DropoutCall, current};

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Value};

/// `residual + dropout(x)`, element-wise, for matrices of equal shape.
///
/// The mask is a function of (seed, micro-batch, site, element), so the backward pass recomputes it instead
/// of storing it.
pub fn dropout_add(x: Value, residual: Option<Value>, dropout: Option<DropoutCall>) -> Value {
    if residual.is_none() && dropout.is_none() {
        return x;
    }
    let shape = x.shape();
    apply(DropoutAdd(dropout), DropoutOperands { x, residual }, shape)
}

/// `x + y`, for matrices of equal shape.
pub fn add(x: Value, y: Value) -> Value {
    dropout_add(y, Some(x), None)
}

operands! {
    struct DropoutOperands {
        x: One,
        residual: Maybe,
    }
}

struct DropoutAdd(Option<DropoutCall>);

impl TapeOp for DropoutAdd {
    const NAME: &'static str = "dropout";
    type Operands = DropoutOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: DropoutOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let DropoutOperands { x, residual } = inputs;
        let mut out = Buffer::take(x.len());
        current().dropout_add(x, residual, self.0, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> DropoutOperands<Option<Buffer>> {
        let x = context.operands.x.is_wanted.then(|| {
            let mut dx = Buffer::take(context.grad.len());
            current().dropout_add(&context.grad, None, self.0, &mut dx);
            dx
        });
        let residual = context.operands.residual;
        DropoutOperands { x, residual: residual.map(|_| Some(context.grad)) }
    }
}
