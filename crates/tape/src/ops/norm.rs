//! Layer normalization and its variants, over the features of each row; alone or fused with a residual connection.

use attentive_kernels::norm::{
    Norm, NormCall, NormGradients, norm as kernel, norm_backward, residual_norm as residual_kernel,
    residual_norm_backward,
};

use crate::kernel::{Context, Kept, Kernel, Mode, Output, apply};
use crate::{Buffer, Dropout, Value};

/// Normalizes every row; see [`Norm`] for the three formulas.
///
/// # Shapes
/// - `x`, result: `[rows, d]`
/// - `gain`, `bias`: `[d]`, or `[1]` for [`Norm::Scalar`]; [`Norm::Rms`] has no bias
pub fn norm(kind: Norm, x: Value, gain: Value, bias: Option<Value>, epsilon: f64) -> Value {
    let shape = x.shape();
    let operands = NormOperands { x, gain, bias };
    apply(NormKernel(call(kind, shape, epsilon)), operands, shape)
}

/// The norm of `x + dropout(y)`, the end of a post-norm sublayer.
///
/// # Shapes
/// Same as [`norm`], with `y` of the same shape as `x`.
pub fn residual_norm(
    kind: Norm,
    [x, y]: [Value; 2],
    dropout: Option<Dropout>,
    gain: Value,
    bias: Option<Value>,
    epsilon: f64,
) -> Value {
    let shape = x.shape();
    let kernel = ResidualNorm {
        call: call(kind, shape, epsilon),
        dropout,
    };
    let operands = ResidualNormOperands { x, y, gain, bias };
    apply(kernel, operands, shape)
}

fn call(kind: Norm, [rows, d]: [usize; 2], epsilon: f64) -> NormCall {
    NormCall {
        kind,
        rows,
        d,
        epsilon: epsilon as f32,
    }
}

operands! {
    struct NormOperands {
        x: One,
        gain: One,
        bias: Maybe,
    }
}

#[derive(Clone, Debug)]
struct NormKernel(NormCall);

impl Kernel for NormKernel {
    const NAME: &'static str = "norm";
    type Operands = NormOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: NormOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let NormOperands { x, gain, bias } = inputs;
        let mut out = Buffer::take(x.len());
        kernel(self.0, x, gain, bias, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> NormOperands<Option<Buffer>> {
        let NormOperands { x, gain, bias } = context.inputs;
        let mut gradients = Gradients::new(x.len(), gain.len(), bias.is_some());
        norm_backward(self.0, x, gain, &context.grad, gradients.targets());
        let Gradients { x, gain, bias } = gradients;
        NormOperands {
            x: Some(x),
            gain: Some(gain),
            bias: bias.map(Some),
        }
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

#[derive(Clone, Debug)]
struct ResidualNorm {
    call: NormCall,
    dropout: Option<Dropout>,
}

impl Kernel for ResidualNorm {
    const NAME: &'static str = "dropout, sum, norm";
    type Operands = ResidualNormOperands<()>;
    /// The sum of both branches and the gain.
    type Saved = [Buffer; 2];
    type Side = ();

    fn keeps(&self) -> Kept {
        Kept::Nothing
    }

    fn forward(&self, inputs: ResidualNormOperands<&[f32]>, mode: Mode) -> Output<Self> {
        let ResidualNormOperands { x, y, gain, bias } = inputs;
        let [mut sum, mut out] = [0, 1].map(|_| Buffer::take(x.len()));
        let (call, dropout) = (self.call, self.dropout);
        residual_kernel(call, dropout, [x, y], gain, bias, &mut sum, &mut out);
        match mode {
            Mode::Tracked => Output::new(out, [sum, Buffer::copy_of(gain)]),
            Mode::Plain => Output::new(out, Default::default()),
        }
    }

    fn backward(&self, context: Context<'_, Self>) -> ResidualNormOperands<Option<Buffer>> {
        let [sum, gain] = context.saved;
        let has_bias = context.wanted.bias.is_some();
        let mut gradients = Gradients::new(sum.len(), gain.len(), has_bias);
        let mut dy = Buffer::take(sum.len());
        let (call, dropout, targets) = (self.call, self.dropout, gradients.targets());
        residual_norm_backward(call, dropout, &sum, &gain, &context.grad, targets, &mut dy);
        let Gradients { x, gain, bias } = gradients;
        ResidualNormOperands {
            x: Some(x),
            y: Some(dy),
            gain: Some(gain),
            bias: bias.map(Some),
        }
    }
}

struct Gradients {
    x: Buffer,
    gain: Buffer,
    bias: Option<Buffer>,
}

impl Gradients {
    fn new(elements: usize, gains: usize, has_bias: bool) -> Self {
        Self {
            x: Buffer::take(elements),
            gain: Buffer::zeros(gains),
            bias: has_bias.then(|| Buffer::zeros(gains)),
        }
    }

    fn targets(&mut self) -> NormGradients<'_> {
        NormGradients {
            x: &mut self.x,
            gain: &mut self.gain,
            bias: self.bias.as_deref_mut(),
        }
    }
}
