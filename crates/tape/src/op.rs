//! The infrastructure of all operations: slices in, buffers out, with a function for the backward pass.

use std::sync::Arc;

use crate::backward::{Node, Step};
use crate::operands::Operands;
use crate::profile::{OpTimings, timed};
use crate::value::GradientTarget;
use crate::{Buffer, Value};

/// An operation with its own forward and backward pass.
pub(crate) trait TapeOp: Sized + 'static {
    /// Name used in profiles.
    const NAME: &'static str;

    type Operands: Operands;

    /// Values computed by the forward pass for the backward pass.
    type Saved: 'static;

    /// Values computed by the forward pass for the caller.
    type Side;

    /// Computes the output and, if a backward pass may follow, the values for it.
    fn forward(&self, inputs: Of<Self, &Buffer>, mode: Mode<Self>) -> OpOutput<Self>;

    /// Computes the gradient of each input; `None` is allowed if it is not wanted.
    fn backward(&self, context: Context<'_, Self>) -> Of<Self, Option<Buffer>>;

    /// Which inputs are read by the backward pass; the others are not kept for it.
    fn keeps(&self, operands: Of<Self, OperandInfo>) -> Of<Self, bool> {
        let layout = Self::Operands::layout(&operands);
        layout.named(vec![false; Self::Operands::list(operands).len()])
    }

    /// Whether the backward pass reads the output.
    fn keeps_output(&self) -> bool {
        false
    }

    /// Floating-point operations of the matrix products in the forward and the backward pass.
    fn flops(&self) -> [f64; 2] {
        [0.0; 2]
    }
}

/// The operands of an operation, with a `T` for each.
pub(crate) type Of<O, T> = <<O as TapeOp>::Operands as Operands>::Of<T>;

/// Result of a forward pass.
pub(crate) struct OpOutput<O: TapeOp> {
    /// The output.
    pub(crate) values: Buffer,
    /// Values for the backward pass.
    pub(crate) saved: O::Saved,
    /// Values for the caller.
    pub(crate) side: O::Side,
}

impl<O: TapeOp<Side = ()>> OpOutput<O> {
    /// An output without side values.
    pub(crate) fn new(values: Buffer, saved: O::Saved) -> Self {
        Self { values, saved, side: () }
    }
}

/// The operands if a backward pass may follow; `None` for inference only.
pub(crate) type Mode<O> = Option<Of<O, OperandInfo>>;

/// What is known of an operand without its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandInfo {
    /// Number of elements.
    pub(crate) len: usize,
    /// Whether its gradient is wanted.
    pub(crate) is_wanted: bool,
}

impl OperandInfo {
    /// Returns a buffer for the gradient.
    pub(crate) fn buffer(self) -> Buffer {
        Buffer::take(self.len)
    }

    /// Returns a buffer for the gradient if it is wanted.
    pub(crate) fn room(self) -> Option<Buffer> {
        self.is_wanted.then(|| self.buffer())
    }
}

/// Inputs of a backward pass.
pub(crate) struct Context<'a, O: TapeOp> {
    /// The inputs of the forward pass; empty unless kept ([`TapeOp::keeps`]).
    pub(crate) inputs: Of<O, &'a Buffer>,
    /// The output of the forward pass; empty unless `keeps_output`.
    pub(crate) output: &'a Buffer,
    /// Values saved by the forward pass.
    pub(crate) saved: O::Saved,
    /// The gradient of the output.
    pub(crate) grad: Buffer,
    /// The operands, some of which need a gradient.
    pub(crate) operands: Of<O, OperandInfo>,
}

/// Runs the operation, and records how to go back if any operand has a gradient.
pub(crate) fn apply<O: TapeOp<Side = ()>>(op: O, operands: Of<O, Value>, shape: [usize; 2]) -> Value {
    apply_with_side(op, operands, shape).0
}

/// Like [`apply`], and also returns the values that the forward pass computed for the caller.
pub(crate) fn apply_with_side<O: TapeOp>(
    op: O,
    operands: Of<O, Value>,
    shape: [usize; 2],
) -> (Value, O::Side) {
    let layout = O::Operands::layout(&operands);
    let values = O::Operands::list(operands);
    let known = |value: &Value| OperandInfo { len: value.data.len(), is_wanted: value.target.is_some() };
    let known: Vec<OperandInfo> = values.iter().map(known).collect();
    let is_tracked = known.iter().any(|operand| operand.is_wanted);
    let record = |timings: &mut OpTimings, elapsed| {
        timings.calls += 1;
        timings.forward += elapsed;
        timings.flops += op.flops()[0];
    };
    let inputs = layout.named(values.iter().map(|value| &*value.data).collect());
    let mode = is_tracked.then(|| layout.named(known.clone()));
    let OpOutput { values: output, saved, side } = timed(O::NAME, record, || op.forward(inputs, mode));
    let output = Arc::new(output);
    let target = is_tracked.then(|| {
        let keeps = O::Operands::list(op.keeps(layout.named(known.clone())));
        let parents = values.iter().map(|value| value.target.clone()).collect();
        let kept = values.into_iter().zip(keeps);
        let recorded = Recorded {
            inputs: kept.map(|(value, keeps)| keeps.then_some(value.data)).collect(),
            output: op.keeps_output().then(|| Arc::clone(&output)),
            op,
            layout,
            operands: known,
            saved,
        };
        let backward = Box::new(|grad| recorded.backward(grad));
        GradientTarget::Node(Node::new(Step { parents, backward }))
    });
    (Value::with_target(output, shape, target), side)
}

/// What the backward pass needs of a call.
struct Recorded<O: TapeOp> {
    op: O,
    layout: O::Operands,
    operands: Vec<OperandInfo>,
    saved: O::Saved,
    inputs: Vec<Option<Arc<Buffer>>>,
    output: Option<Arc<Buffer>>,
}

impl<O: TapeOp> Recorded<O> {
    fn backward(self, grad: Buffer) -> Vec<Option<Buffer>> {
        let op = &self.op;
        let context = Context {
            inputs: (self.layout).named(self.inputs.iter().map(kept).collect()),
            output: kept(&self.output),
            saved: self.saved,
            grad,
            operands: self.layout.named(self.operands),
        };
        let record = |timings: &mut OpTimings, elapsed| {
            timings.backward += elapsed;
            timings.flops += op.flops()[1];
        };
        let gradients = timed(O::NAME, record, || op.backward(context));
        O::Operands::list(gradients)
    }
}

fn kept(buffer: &Option<Arc<Buffer>>) -> &Buffer {
    const NOTHING: &Buffer = &Buffer::EMPTY;
    buffer.as_deref().unwrap_or(NOTHING)
}
