//! x·Wᵀ + b, for one or several maps of the same rows, with the ReLU and the dropout on top where they follow.

use attentive_kernels::linear::{
    Activation, Affine, AffineGradients, LinearCall, linear as kernel, linear_backward,
};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::fused::{self, Context, Kernel, Operand, Pass};
use super::{Dropout, Precision, buffers};

/// A map's weight `[d_out, d_in]` and bias `[d_out]`.
pub type Map = (Tensor<2>, Option<Tensor<1>>);

/// What follows a map, and how its products are computed.
#[derive(Clone, Copy, Debug)]
pub struct Finish {
    /// Follows the affine map.
    pub activation: Activation,
    /// Follows the activation.
    pub dropout: Option<Dropout>,
    /// Of the products.
    pub precision: Precision,
}

impl Finish {
    /// Nothing follows.
    pub fn plain(precision: Precision) -> Self {
        Self {
            activation: Activation::Identity,
            dropout: None,
            precision,
        }
    }
}

/// Linear maps of every row: `dropout(activation(x · weightᵀ + bias))` for each map, side by side.
///
/// # Shapes
/// - `x`: `[rows, d_in]`
/// - `maps`: at most three, with weights of one shape; either all have a bias or none
/// - result: `[rows, maps.len() · d_out]`
pub fn linear(x: Tensor<2>, maps: Vec<Map>, finish: Finish) -> Tensor<2> {
    // The kernel finds the mask by the zeros that it left.
    let hidden = finish.dropout.is_none() || finish.activation == Activation::Relu;
    if !(fused::applies(&x) && hidden) {
        return portable(x, maps, finish);
    }
    let [rows, d_in] = x.dims();
    let [d_out, weight_in] = maps[0].0.dims();
    assert_eq!(
        d_in, weight_in,
        "linear: rows are {d_in} wide, the weight takes {weight_in}"
    );
    let kernel = Linear {
        call: LinearCall {
            rows,
            d_in,
            d_out,
            activation: finish.activation,
            dropout: finish.dropout,
            precision: finish.precision,
        },
        maps: maps.len(),
    };
    let width = maps.len() * d_out;
    let (weights, biases): (Vec<_>, Vec<_>) = maps.into_iter().unzip();
    let mut operands = vec![x.into()];
    operands.extend(weights.into_iter().map(Operand::from));
    operands.extend(biases.into_iter().flatten().map(Operand::from));
    fused::apply(kernel, operands, [rows, width])
}

pub(super) fn portable(x: Tensor<2>, maps: Vec<Map>, finish: Finish) -> Tensor<2> {
    let results = maps.into_iter().map(|(weight, bias)| {
        let product = x.clone().matmul(weight.transpose());
        match bias {
            Some(bias) => product + bias.unsqueeze(),
            None => product,
        }
    });
    let all = Tensor::cat(results.collect(), 1);
    let activated = match finish.activation {
        Activation::Identity => all,
        Activation::Relu => relu(all),
    };
    match finish.dropout {
        Some(dropout) => super::dropout::portable(activated, dropout),
        None => activated,
    }
}

/// Inputs: x, all weights, and all biases if there are any.
#[derive(Clone, Debug)]
struct Linear {
    call: LinearCall,
    maps: usize,
}

impl Linear {
    fn maps<'a>(&self, inputs: &[&'a [f32]]) -> Vec<Affine<'a>> {
        let (weights, biases) = inputs[1..].split_at(self.maps);
        let biases = biases.iter().copied().map(Some);
        weights
            .iter()
            .zip(biases.chain(std::iter::repeat(None)))
            .map(|(weight, bias)| Affine { weight, bias })
            .collect()
    }
}

impl Kernel for Linear {
    const NAME: &'static str = "linear";
    type Saved = ();

    fn keeps_output(&self) -> bool {
        self.call.activation == Activation::Relu
    }

    fn flops(&self) -> [f64; 2] {
        let LinearCall {
            rows, d_in, d_out, ..
        } = self.call;
        let product = 2.0 * (rows * d_in * self.maps * d_out) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: &[&[f32]], _pass: Pass) -> (Vec<f32>, ()) {
        let LinearCall { rows, d_out, .. } = self.call;
        let mut out = buffers::take(rows * self.maps * d_out);
        kernel(self.call, inputs[0], &self.maps(inputs), &mut out);
        (out, ())
    }

    fn backward(&self, context: Context<'_, ()>) -> Vec<Option<Vec<f32>>> {
        let room = |(input, &wanted): (&&[f32], &bool)| wanted.then(|| buffers::take(input.len()));
        let inputs = context.inputs.iter().zip(context.wanted);
        let mut gradients: Vec<_> = inputs.map(room).collect();
        let (x, rest) = gradients.split_at_mut(1);
        let (weights, biases) = rest.split_at_mut(self.maps);
        let mut biases = biases.iter_mut();
        let mut maps: Vec<_> = weights
            .iter_mut()
            .map(|weight| AffineGradients {
                weight: weight.as_deref_mut(),
                bias: biases.next().and_then(Option::as_deref_mut),
            })
            .collect();
        linear_backward(
            self.call,
            context.inputs[0],
            &self.maps(context.inputs),
            context.output,
            context.grad,
            x[0].as_deref_mut(),
            &mut maps,
        );
        gradients
    }
}
