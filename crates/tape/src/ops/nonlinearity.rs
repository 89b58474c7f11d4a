//! The activation functions of feed-forward networks, plain and gated.

pub use attentive_device::ActivationKind;
use attentive_device::current;

use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Value};

/// f(`x`), element by element.
pub fn nonlinear(f: ActivationKind, x: Value) -> Value {
    let shape = x.shape();
    apply(Function(f), FunctionOperands { x }, shape)
}

/// tanh(`x`), element by element.
pub fn tanh(x: Value) -> Value {
    let shape = x.shape();
    apply(Tanh, FunctionOperands { x }, shape)
}

/// Gated linear unit (Shazeer 2020): f(a) ⊙ b, where a and b are the halves of each row of `x`.
///
/// # Shapes
/// - `x`: `[rows, 2 · d]`
/// - result: `[rows, d]`
pub fn gated(f: ActivationKind, x: Value) -> Value {
    let [rows, width] = x.shape();
    let d = width / 2;
    apply(Gate { f, d }, FunctionOperands { x }, [rows, d])
}

operands! {
    struct FunctionOperands {
        x: One,
    }
}

struct Function(ActivationKind);

impl TapeOp for Function {
    const NAME: &'static str = "activation";
    type Operands = FunctionOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self, operands: FunctionOperands<OperandInfo>) -> FunctionOperands<bool> {
        operands.map(|_| true)
    }

    fn forward(&self, inputs: FunctionOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(inputs.x.len());
        current().nonlinear(self.0, inputs.x, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> FunctionOperands<Option<Buffer>> {
        let x = context.inputs.x;
        let mut dx = Buffer::take(x.len());
        current().nonlinear_backward(self.0, x, &context.grad, &mut dx);
        FunctionOperands { x: Some(dx) }
    }
}

struct Gate {
    f: ActivationKind,
    d: usize,
}

impl TapeOp for Gate {
    const NAME: &'static str = "gate";
    type Operands = FunctionOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self, operands: FunctionOperands<OperandInfo>) -> FunctionOperands<bool> {
        operands.map(|_| true)
    }

    fn forward(&self, inputs: FunctionOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(inputs.x.len() / 2);
        current().gated(self.f, self.d, inputs.x, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> FunctionOperands<Option<Buffer>> {
        let x = context.inputs.x;
        let mut dx = Buffer::take(x.len());
        current().gated_backward(self.f, self.d, x, &context.grad, &mut dx);
        FunctionOperands { x: Some(dx) }
    }
}

struct Tanh;

impl TapeOp for Tanh {
    const NAME: &'static str = "activation";
    type Operands = FunctionOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps_output(&self) -> bool {
        true
    }

    fn forward(&self, inputs: FunctionOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(inputs.x.len());
        current().tanh(inputs.x, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> FunctionOperands<Option<Buffer>> {
        let mut dx = context.grad;
        current().tanh_backward(context.output, &mut dx);
        FunctionOperands { x: Some(dx) }
    }
}
