//! Layer normalization and its variants, over the features of each row; alone or fused with a residual connection.

use attentive_kernels::norm::{
    Norm, NormCall, NormGradients, norm as kernel, norm_backward, residual_norm as residual_kernel,
    residual_norm_backward,
};
use burn::tensor::Tensor;

use super::fused::{self, Context, Kept, Kernel, Mode, Output};
use super::{Dropout, buffers, dropout_add};

/// Normalizes every row; see [`Norm`] for the three formulas.
///
/// # Shapes
/// - `x`, result: `[rows, d]`
/// - `gain`, `bias`: `[d]`, or `[1]` for [`Norm::Scalar`]; [`Norm::Rms`] has no bias
pub fn norm(
    kind: Norm,
    x: Tensor<2>,
    gain: Tensor<1>,
    bias: Option<Tensor<1>>,
    epsilon: f64,
) -> Tensor<2> {
    if !fused::applies(&x) {
        return portable(kind, x, gain, bias, epsilon);
    }
    let shape = x.dims();
    let operands = NormOperands {
        x: x.into(),
        gain: gain.into(),
        bias: bias.map(Into::into),
    };
    fused::apply(NormKernel(call(kind, shape, epsilon)), operands, shape)
}

/// The norm of `x + dropout(y)`, the end of a post-norm sublayer.
///
/// # Shapes
/// Same as [`norm`], with `y` of the same shape as `x`.
pub fn residual_norm(
    kind: Norm,
    [x, y]: [Tensor<2>; 2],
    dropout: Option<Dropout>,
    gain: Tensor<1>,
    bias: Option<Tensor<1>>,
    epsilon: f64,
) -> Tensor<2> {
    if !fused::applies(&x) {
        return portable(kind, dropout_add(y, Some(x), dropout), gain, bias, epsilon);
    }
    let shape = x.dims();
    let kernel = ResidualNorm {
        call: call(kind, shape, epsilon),
        dropout,
    };
    let operands = ResidualNormOperands {
        x: x.into(),
        y: y.into(),
        gain: gain.into(),
        bias: bias.map(Into::into),
    };
    fused::apply(kernel, operands, shape)
}

fn call(kind: Norm, [rows, d]: [usize; 2], epsilon: f64) -> NormCall {
    NormCall {
        kind,
        rows,
        d,
        epsilon: epsilon as f32,
    }
}

pub(super) fn portable(
    kind: Norm,
    x: Tensor<2>,
    gain: Tensor<1>,
    bias: Option<Tensor<1>>,
    epsilon: f64,
) -> Tensor<2> {
    let [_, d] = x.dims();
    let centered = |x: Tensor<2>| x.clone() - x.mean_dim(1);
    let normalized = match kind {
        Norm::Layer => {
            let x = centered(x);
            let variance = x.clone().square().mean_dim(1);
            x / (variance + epsilon).sqrt()
        }
        Norm::Rms => {
            let mean_square = x.clone().square().mean_dim(1);
            x / (mean_square + epsilon).sqrt()
        }
        Norm::Scalar => {
            let x = centered(x);
            let variance = x.clone().square().sum_dim(1) / (d.max(2) - 1) as f64;
            x / (variance.sqrt() + epsilon)
        }
    };
    let scaled = normalized * gain.unsqueeze();
    match bias {
        Some(bias) => scaled + bias.unsqueeze(),
        None => scaled,
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
        let mut out = buffers::take(x.len());
        kernel(self.0, x, gain, bias, &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> NormOperands<Option<Vec<f32>>> {
        let NormOperands { x, gain, bias } = context.inputs;
        let mut gradients = Gradients::new(x.len(), gain.len(), bias.is_some());
        norm_backward(self.0, x, gain, context.grad, gradients.targets());
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
    type Saved = [Vec<f32>; 2];
    type Side = ();

    fn keeps(&self) -> Kept {
        Kept::Nothing
    }

    fn forward(&self, inputs: ResidualNormOperands<&[f32]>, mode: Mode) -> Output<Self> {
        let ResidualNormOperands { x, y, gain, bias } = inputs;
        let [mut sum, mut out] = [0, 1].map(|_| buffers::take(x.len()));
        let (call, dropout) = (self.call, self.dropout);
        residual_kernel(call, dropout, x, y, gain, bias, &mut sum, &mut out);
        match mode {
            Mode::Tracked => Output::new(out, [sum, gain.to_vec()]),
            Mode::Plain => {
                buffers::give(sum);
                Output::new(out, Default::default())
            }
        }
    }

    fn backward(&self, context: Context<'_, Self>) -> ResidualNormOperands<Option<Vec<f32>>> {
        let [sum, gain] = context.saved;
        let has_bias = context.wanted.bias.is_some();
        let mut gradients = Gradients::new(sum.len(), gain.len(), has_bias);
        let mut dy = buffers::take(sum.len());
        let (call, dropout, targets) = (self.call, self.dropout, gradients.targets());
        residual_norm_backward(call, dropout, &sum, &gain, context.grad, targets, &mut dy);
        buffers::give(sum);
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
    x: Vec<f32>,
    gain: Vec<f32>,
    bias: Option<Vec<f32>>,
}

impl Gradients {
    fn new(elements: usize, gains: usize, has_bias: bool) -> Self {
        Self {
            x: buffers::take(elements),
            gain: vec![0.0; gains],
            bias: has_bias.then(|| vec![0.0; gains]),
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
