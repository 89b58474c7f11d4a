//! Layer normalization and its variants, over the features of each row; alone or fused with a residual
//! connection.

use attentive_device::{NormCall, NormGradients, ResidualNormCall, current};
use attentive_kernels::norm::NormKind;

use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, DropoutCall, Value};

/// Normalizes every row; see [`NormKind`] for the formulas.
///
/// # Shapes
/// - `x`, result: `[rows, d]`
/// - `gain`, `bias`: [`NormKind::width`]; a bias if the kind [has one](NormKind::has_bias)
pub fn norm(kind: NormKind, x: Value, gain: Value, bias: Option<Value>, epsilon: f64) -> Value {
    let shape = x.shape();
    let operands = NormOperands { x, gain, bias };
    apply(NormOp(call(kind, shape, epsilon)), operands, shape)
}

/// The norm of `x + dropout(y)`, the end of a post-norm sublayer.
///
/// # Shapes
/// Same as [`norm`], with `y` of the same shape as `x`.
pub fn residual_norm(
    kind: NormKind,
    [x, y]: [Value; 2],
    dropout: Option<DropoutCall>,
    gain: Value,
    bias: Option<Value>,
    epsilon: f64,
) -> Value {
    let shape = x.shape();
    let op = ResidualNorm(ResidualNormCall { norm: call(kind, shape, epsilon), dropout });
    let operands = ResidualNormOperands { x, y, gain, bias };
    apply(op, operands, shape)
}

fn call(kind: NormKind, [rows, d]: [usize; 2], epsilon: f64) -> NormCall {
    NormCall { kind, rows, d, epsilon: epsilon as f32 }
}

operands! {
    struct NormOperands {
        x: One,
        gain: One,
        bias: Maybe,
    }
}

struct NormOp(NormCall);

impl TapeOp for NormOp {
    const NAME: &'static str = "norm";
    type Operands = NormOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self, operands: NormOperands<OperandInfo>) -> NormOperands<bool> {
        NormOperands { x: true, gain: true, bias: operands.bias.map(|_| false) }
    }

    fn forward(&self, inputs: NormOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let NormOperands { x, gain, bias } = inputs;
        let mut out = Buffer::take(x.len());
        current().norm(self.0, x, gain, bias, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> NormOperands<Option<Buffer>> {
        let NormOperands { x, gain, .. } = context.inputs;
        let NormOperands { bias, .. } = context.operands;
        let mut gradients = Gradients::new(x.len(), gain.len(), bias);
        let targets = gradients.targets();
        current().norm_backward(self.0, x, gain, &context.grad, targets);
        NormOperands { x: Some(gradients.x), gain: Some(gradients.gain), bias: bias.map(|_| gradients.bias) }
    }
}

operands! {
    struct ResidualNormOperands {
        x: One,
        y: One,
        gain: One,
        bias: Maybe,
    }
}

struct ResidualNorm(ResidualNormCall);

impl TapeOp for ResidualNorm {
    const NAME: &'static str = "dropout, sum, norm";
    type Operands = ResidualNormOperands<()>;
    /// The sum of both branches.
    type Saved = Buffer;
    type Side = ();

    fn keeps(&self, operands: ResidualNormOperands<OperandInfo>) -> ResidualNormOperands<bool> {
        ResidualNormOperands { gain: true, ..operands.map(|_| false) }
    }

    fn forward(&self, inputs: ResidualNormOperands<&Buffer>, mode: Mode<Self>) -> OpOutput<Self> {
        let ResidualNormOperands { x, y, gain, bias } = inputs;
        let [mut sum, mut out] = [0, 1].map(|_| Buffer::take(x.len()));
        current().residual_norm(self.0, [x, y], gain, bias, [&mut sum, &mut out]);
        OpOutput::new(out, mode.map_or_else(Buffer::default, |_| sum))
    }

    fn backward(&self, context: Context<'_, Self>) -> ResidualNormOperands<Option<Buffer>> {
        let (sum, gain) = (context.saved, context.inputs.gain);
        let ResidualNormOperands { bias, .. } = context.operands;
        let mut gradients = Gradients::new(sum.len(), gain.len(), bias);
        let mut dy = Buffer::take(sum.len());
        let (targets, grad) = (gradients.targets(), &context.grad);
        current().residual_norm_backward(self.0, &sum, gain, grad, targets, &mut dy);
        ResidualNormOperands {
            x: Some(gradients.x),
            y: Some(dy),
            gain: Some(gradients.gain),
            bias: bias.map(|_| gradients.bias),
        }
    }
}

struct Gradients {
    x: Buffer,
    gain: Buffer,
    bias: Option<Buffer>,
}

impl Gradients {
    fn new(elements: usize, gains: usize, bias: Option<OperandInfo>) -> Self {
        Self { x: Buffer::take(elements), gain: Buffer::take(gains), bias: bias.and_then(OperandInfo::room) }
    }

    fn targets(&mut self) -> NormGradients<&mut Buffer> {
        NormGradients { x: &mut self.x, gain: &mut self.gain, bias: self.bias.as_mut() }
    }
}
