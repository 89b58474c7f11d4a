//! x·Wᵀ + b, with the ReLU on top where one follows.

use attentive_kernels::linear::{
    Activation, LinearGradients, LinearShape, linear as kernel, linear_backward,
};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::fused::{self, Context, Kernel, Pass};

/// A linear map of every row: `activation(x · weightᵀ + bias)`.
///
/// # Shapes
/// - `x`: `[rows, d_in]`
/// - `weight`: `[d_out, d_in]`
/// - `bias`: `[d_out]`
/// - result: `[rows, d_out]`
pub fn linear(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    activation: Activation,
) -> Tensor<2> {
    if !fused::applies(&x) {
        return portable(x, weight, bias, activation);
    }
    let [rows, d_in] = x.dims();
    let [d_out, weight_in] = weight.dims();
    assert_eq!(
        d_in, weight_in,
        "linear: rows are {d_in} wide, the weight takes {weight_in}"
    );
    let kernel = Linear {
        shape: LinearShape { rows, d_in, d_out },
        activation,
    };
    match bias {
        Some(bias) => fused::apply(
            kernel,
            [x.into(), weight.into(), bias.into()],
            [rows, d_out],
        ),
        None => fused::apply(kernel, [x.into(), weight.into()], [rows, d_out]),
    }
}

pub(super) fn portable(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    activation: Activation,
) -> Tensor<2> {
    let product = x.matmul(weight.transpose());
    let sum = match bias {
        Some(bias) => product + bias.unsqueeze(),
        None => product,
    };
    match activation {
        Activation::Identity => sum,
        Activation::Relu => relu(sum),
    }
}

/// Inputs: x, weight and, with `N` = 3, bias.
#[derive(Clone, Debug)]
struct Linear {
    shape: LinearShape,
    activation: Activation,
}

impl<const N: usize> Kernel<N> for Linear {
    type Saved = ();
    const KEEPS_OUTPUT: bool = true;

    fn forward(&self, inputs: [&[f32]; N], _pass: Pass) -> (Vec<f32>, ()) {
        let bias = inputs.get(2).copied();
        let mut out = vec![0.0; self.shape.rows * self.shape.d_out];
        kernel(
            self.shape,
            inputs[0],
            inputs[1],
            bias,
            self.activation,
            &mut out,
        );
        (out, ())
    }

    fn backward(&self, context: Context<'_, N, ()>) -> [Option<Vec<f32>>; N] {
        let LinearShape { rows, d_in, d_out } = self.shape;
        let sizes = [rows * d_in, d_out * d_in, d_out];
        let mut gradients: [Option<Vec<f32>>; N] =
            std::array::from_fn(|i| context.wanted[i].then(|| vec![0.0; sizes[i]]));
        let mut parts = gradients.iter_mut();
        let mut next = || parts.next().and_then(Option::as_deref_mut);
        let (x, weight, bias) = (next(), next(), next());
        linear_backward(
            self.shape,
            context.inputs[0],
            context.inputs[1],
            context.output,
            context.grad,
            self.activation,
            LinearGradients { x, weight, bias },
        );
        gradients
    }
}
