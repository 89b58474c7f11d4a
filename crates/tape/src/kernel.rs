//! The infrastructure of all operations: slices in, buffers out, with a rule for the backward pass.

use std::sync::Arc;

use crate::backward::{Node, Step};
use crate::operands::Operands;
use crate::profile::{Spent, timed};
use crate::value::Origin;
use crate::{Buffer, Value};

/// An operation with its own forward and backward pass.
pub(crate) trait Kernel: Clone + 'static {
    /// Name used in profiles.
    const NAME: &'static str;

    /// The operands.
    type Operands: Operands;

    /// Values computed by the forward pass for the backward pass.
    type Saved: 'static;

    /// Values computed by the forward pass for the caller.
    type Side;

    /// Computes the output and, in `Mode::Tracked`, the values for the backward pass.
    fn forward(&self, inputs: Of<Self, &[f32]>, mode: Mode) -> Output<Self>;

    /// Computes the gradient of each input; `None` is allowed if it is not wanted.
    fn backward(&self, context: Context<'_, Self>) -> Of<Self, Option<Buffer>>;

    /// Inputs read by the backward pass; the others need not be kept.
    fn keeps(&self) -> Kept {
        Kept::All
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

/// The operands of a kernel, with a `T` for each.
pub(crate) type Of<K, T> = <<K as Kernel>::Operands as Operands>::Of<T>;

/// Result of a forward pass.
pub(crate) struct Output<K: Kernel> {
    /// The output.
    pub(crate) values: Buffer,
    /// Values for the backward pass.
    pub(crate) saved: K::Saved,
    /// Values for the caller.
    pub(crate) side: K::Side,
}

impl<K: Kernel<Side = ()>> Output<K> {
    /// An output without side values.
    pub(crate) fn new(values: Buffer, saved: K::Saved) -> Self {
        Self {
            values,
            saved,
            side: (),
        }
    }
}

/// Inputs kept for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All.
    All,
    /// All but the first.
    AllButFirst,
    /// None.
    Nothing,
}

impl Kept {
    fn keeps(self, number: usize) -> bool {
        match self {
            Self::All => true,
            Self::AllButFirst => number > 0,
            Self::Nothing => false,
        }
    }
}

/// Whether a backward pass may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Inference only.
    Plain,
    /// A gradient may be requested.
    Tracked,
}

/// Inputs of a backward pass.
pub(crate) struct Context<'a, K: Kernel> {
    /// The inputs of the forward pass; empty unless kept ([`Kernel::keeps`]).
    pub(crate) inputs: Of<K, &'a [f32]>,
    /// The output of the forward pass; empty unless `keeps_output`.
    pub(crate) output: &'a [f32],
    /// Values saved by the forward pass.
    pub(crate) saved: K::Saved,
    /// The gradient of the output.
    pub(crate) grad: Buffer,
    /// Which inputs need a gradient.
    pub(crate) wanted: Of<K, bool>,
}

/// Runs `kernel`, and records how to go back if any operand has a gradient.
pub(crate) fn apply<K: Kernel<Side = ()>>(
    kernel: K,
    operands: Of<K, Value>,
    shape: [usize; 2],
) -> Value {
    apply_with_side(kernel, operands, shape).0
}

/// Like [`apply`], and also returns the values that the forward pass computed for the caller.
pub(crate) fn apply_with_side<K: Kernel>(
    kernel: K,
    operands: Of<K, Value>,
    shape: [usize; 2],
) -> (Value, K::Side) {
    let layout = K::Operands::layout(&operands);
    let operands = K::Operands::list(operands);
    let mode = match operands.iter().any(|operand| operand.origin.is_some()) {
        true => Mode::Tracked,
        false => Mode::Plain,
    };
    let book = |spent: &mut Spent, elapsed| {
        spent.calls += 1;
        spent.forward += elapsed;
        spent.flops += kernel.flops()[0];
    };
    let inputs = layout.named(operands.iter().map(Value::values).collect());
    let Output {
        values,
        saved,
        side,
    } = timed(K::NAME, book, || kernel.forward(inputs, mode));
    let output = Arc::new(values);
    let origin = (mode == Mode::Tracked).then(|| {
        let parents = operands.iter().map(|operand| operand.origin.clone());
        let parents = parents.collect();
        let keep = |(number, operand): (usize, Value)| {
            let is_kept = kernel.keeps().keeps(number);
            is_kept.then_some(operand.data)
        };
        let recorded = Recorded {
            inputs: operands.into_iter().enumerate().map(keep).collect(),
            output: kernel.keeps_output().then(|| Arc::clone(&output)),
            kernel,
            layout,
            saved,
        };
        let rule = Box::new(|grad, wanted| recorded.backward(grad, wanted));
        Origin::Node(Node::new(Step { parents, rule }))
    });
    (Value::with_origin(output, shape, origin), side)
}

/// What the backward pass needs of a call.
struct Recorded<K: Kernel> {
    kernel: K,
    layout: K::Operands,
    saved: K::Saved,
    inputs: Vec<Option<Arc<Buffer>>>,
    output: Option<Arc<Buffer>>,
}

impl<K: Kernel> Recorded<K> {
    fn backward(self, grad: Buffer, wanted: Vec<bool>) -> Vec<Option<Buffer>> {
        let kernel = &self.kernel;
        let context = Context {
            inputs: (self.layout).named(self.inputs.iter().map(kept).collect()),
            output: kept(&self.output),
            saved: self.saved,
            grad,
            wanted: self.layout.named(wanted),
        };
        let book = |spent: &mut Spent, elapsed| {
            spent.backward += elapsed;
            spent.flops += kernel.flops()[1];
        };
        let gradients = timed(K::NAME, book, || kernel.backward(context));
        K::Operands::list(gradients)
    }
}

fn kept(buffer: &Option<Arc<Buffer>>) -> &[f32] {
    buffer.as_ref().map_or(&[], |buffer| buffer)
}
