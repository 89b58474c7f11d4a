//! Layer normalisation and its variants, over the features of each row.

use attentive_kernels::norm::{Norm, norm as kernel, norm_backward};
use burn::tensor::Tensor;

use super::fused::{self, Context, Kernel, Pass};

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
    let [rows, d] = x.dims();
    let kernel = NormKernel {
        kind,
        rows,
        d,
        epsilon: epsilon as f32,
    };
    match bias {
        Some(bias) => fused::apply(kernel, [x.into(), gain.into(), bias.into()], [rows, d]),
        None => fused::apply(kernel, [x.into(), gain.into()], [rows, d]),
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

/// Inputs: x, gain and, with `N` = 3, bias.
#[derive(Clone, Debug)]
struct NormKernel {
    kind: Norm,
    rows: usize,
    d: usize,
    epsilon: f32,
}

impl<const N: usize> Kernel<N> for NormKernel {
    type Saved = ();

    fn forward(&self, inputs: [&[f32]; N], _pass: Pass) -> (Vec<f32>, ()) {
        let bias = inputs.get(2).copied();
        let mut out = vec![0.0; inputs[0].len()];
        kernel(
            self.kind,
            self.rows,
            self.d,
            inputs[0],
            inputs[1],
            bias,
            self.epsilon,
            &mut out,
        );
        (out, ())
    }

    fn backward(&self, context: Context<'_, N, ()>) -> [Option<Vec<f32>>; N] {
        let mut gradients = context.inputs.map(|input| vec![0.0; input.len()]);
        let mut parts = gradients.iter_mut().map(Vec::as_mut_slice);
        if let (Some(dx), Some(dgain)) = (parts.next(), parts.next()) {
            norm_backward(
                self.kind,
                self.rows,
                self.d,
                context.inputs[0],
                context.inputs[1],
                self.epsilon,
                context.grad,
                dx,
                dgain,
                parts.next(),
            );
        }
        gradients.map(Some)
    }
}
