//! Layer normalisation and its variants, over the features of each row; alone and behind a residual connection.

use attentive_kernels::norm::{
    Norm, NormCall, NormGradients, norm as kernel, norm_backward, residual_norm as residual_kernel,
    residual_norm_backward,
};
use burn::tensor::Tensor;

use super::fused::{self, Context, Kernel, Pass};
use super::{Dropout, buffers, dropout_add};

/// Normalises every row; see [`Norm`] for the three formulas.
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
    let mut operands = vec![x.into(), gain.into()];
    operands.extend(bias.map(Into::into));
    fused::apply(NormKernel(call(kind, shape, epsilon)), operands, shape)
}

/// The norm of `x + dropout(y)`: a post-norm sublayer's end.
///
/// # Shapes
/// As [`norm`], with `y` of the shape of `x`.
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
    let mut operands = vec![x.into(), y.into(), gain.into()];
    operands.extend(bias.map(Into::into));
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
    let centred = |x: Tensor<2>| x.clone() - x.mean_dim(1);
    let normalised = match kind {
        Norm::Layer => {
            let x = centred(x);
            let variance = x.clone().square().mean_dim(1);
            x / (variance + epsilon).sqrt()
        }
        Norm::Rms => {
            let mean_square = x.clone().square().mean_dim(1);
            x / (mean_square + epsilon).sqrt()
        }
        Norm::Scalar => {
            let x = centred(x);
            let variance = x.clone().square().sum_dim(1) / (d.max(2) - 1) as f64;
            x / (variance.sqrt() + epsilon)
        }
    };
    let scaled = normalised * gain.unsqueeze();
    match bias {
        Some(bias) => scaled + bias.unsqueeze(),
        None => scaled,
    }
}

/// Inputs: x, gain and, if there is one, bias.
#[derive(Clone, Debug)]
struct NormKernel(NormCall);

impl Kernel for NormKernel {
    const NAME: &'static str = "norm";
    type Saved = ();

    fn forward(&self, inputs: &[&[f32]], _pass: Pass) -> (Vec<f32>, ()) {
        let mut out = buffers::take(inputs[0].len());
        let bias = inputs.get(2).copied();
        kernel(self.0, inputs[0], inputs[1], bias, &mut out);
        (out, ())
    }

    fn backward(&self, context: Context<'_, ()>) -> Vec<Option<Vec<f32>>> {
        let (x, gain) = (context.inputs[0], context.inputs[1]);
        let mut gradients = Gradients::new(x.len(), gain.len(), context.inputs.len() > 2);
        norm_backward(self.0, x, gain, context.grad, gradients.targets());
        let Gradients { x, gain, bias } = gradients;
        let all = [Some(x), Some(gain), bias];
        all.into_iter().take(context.inputs.len()).collect()
    }
}

/// Inputs: x, y, gain and, if there is one, bias.
#[derive(Clone, Debug)]
struct ResidualNorm {
    call: NormCall,
    dropout: Option<Dropout>,
}

impl Kernel for ResidualNorm {
    const NAME: &'static str = "dropout, sum, norm";
    /// The sum of both branches, and the gain.
    type Saved = [Vec<f32>; 2];

    fn keeps_input(&self, _input: usize) -> bool {
        false
    }

    fn forward(&self, inputs: &[&[f32]], pass: Pass) -> (Vec<f32>, Self::Saved) {
        let [mut sum, mut out] = [0, 1].map(|_| buffers::take(inputs[0].len()));
        residual_kernel(
            self.call,
            self.dropout,
            inputs[0],
            inputs[1],
            inputs[2],
            inputs.get(3).copied(),
            &mut sum,
            &mut out,
        );
        match pass {
            Pass::Tracked => (out, [sum, inputs[2].to_vec()]),
            Pass::Plain => {
                buffers::give(sum);
                (out, Default::default())
            }
        }
    }

    fn backward(&self, context: Context<'_, Self::Saved>) -> Vec<Option<Vec<f32>>> {
        let [sum, gain] = context.saved;
        let has_bias = context.wanted.len() > 3;
        let mut gradients = Gradients::new(sum.len(), gain.len(), has_bias);
        let mut dy = buffers::take(sum.len());
        let (call, dropout, targets) = (self.call, self.dropout, gradients.targets());
        residual_norm_backward(call, dropout, &sum, &gain, context.grad, targets, &mut dy);
        buffers::give(sum);
        let Gradients { x, gain, bias } = gradients;
        let all = [Some(x), Some(dy), Some(gain), bias];
        all.into_iter().take(context.wanted.len()).collect()
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
