//! x·Wᵀ + b for one or several layers with the same input, with optional ReLU and dropout.

use attentive_kernels::gemm::Activation;
use attentive_kernels::linear::{
    Affine, AffineGradients, LinearCall, linear as kernel, linear_backward,
};

use super::{Epilogue, Map};
use crate::kernel::{Context, Kernel, Mode, Output, apply};
use crate::{Buffer, Value};

/// Linear layers with the same input: `dropout(activation(x · weightᵀ + bias))` for each layer, concatenated.
///
/// # Shapes
/// - `x`: `[rows, d_in]`
/// - `maps`: at most three layers with weights of the same shape; layers without a bias follow those that have one
/// - result: `[rows, maps.len() · d_out]`
pub fn linear(x: Value, maps: Vec<Map>, epilogue: Epilogue) -> Value {
    assert!(
        epilogue.dropout.is_none() || epilogue.activation == Activation::Relu,
        "linear: dropout follows ReLU, since the backward pass recovers the mask from the zeros of the output"
    );
    let [rows, d_in] = x.shape();
    let (d_out, weight_in) = (maps[0].d_out(), maps[0].weight.shape()[1]);
    assert_eq!(
        d_in, weight_in,
        "linear: rows have {d_in} columns, the weight expects {weight_in}"
    );
    assert!(
        maps.is_sorted_by_key(|map| map.bias.is_none()),
        "linear: layers without a bias follow those that have one"
    );
    let kernel = Linear {
        call: LinearCall {
            rows,
            d_in,
            d_out,
            activation: epilogue.activation,
            dropout: epilogue.dropout,
            precision: epilogue.precision,
        },
        maps: maps.len(),
    };
    let width = maps.len() * d_out;
    let mut operands = LinearOperands {
        x,
        weights: Vec::new(),
        biases: Vec::new(),
    };
    for Map { weight, bias } in maps {
        operands.weights.push(weight);
        operands.biases.extend(bias);
    }
    apply(kernel, operands, [rows, width])
}

operands! {
    /// The biases are those of the first layers.
    struct LinearOperands {
        x: One,
        weights: Many,
        biases: Many,
    }
}

#[derive(Clone, Debug)]
struct Linear {
    call: LinearCall,
    maps: usize,
}

impl<'a> LinearOperands<&'a [f32]> {
    fn maps(&self) -> Vec<Affine<'a>> {
        let biases = self.biases.iter().copied().map(Some);
        self.weights
            .iter()
            .zip(biases.chain(std::iter::repeat(None)))
            .map(|(weight, bias)| Affine { weight, bias })
            .collect()
    }
}

impl Kernel for Linear {
    const NAME: &'static str = "linear";
    type Operands = LinearOperands<()>;
    type Saved = ();
    type Side = ();

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

    fn forward(&self, inputs: LinearOperands<&[f32]>, _mode: Mode) -> Output<Self> {
        let LinearCall { rows, d_out, .. } = self.call;
        let mut out = Buffer::take(rows * self.maps * d_out);
        kernel(self.call, inputs.x, &inputs.maps(), &mut out);
        Output::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> LinearOperands<Option<Buffer>> {
        let (inputs, wanted) = (context.inputs, context.wanted);
        let room = |input: &[f32], wanted: bool| wanted.then(|| Buffer::take(input.len()));
        let rooms = |inputs: &[&[f32]], wanted: &[bool]| -> Vec<_> {
            let pairs = inputs.iter().zip(wanted);
            pairs.map(|(input, &wanted)| room(input, wanted)).collect()
        };
        let mut gradients = LinearOperands {
            x: room(inputs.x, wanted.x),
            weights: rooms(&inputs.weights, &wanted.weights),
            biases: rooms(&inputs.biases, &wanted.biases),
        };
        let mut biases = gradients.biases.iter_mut();
        let mut maps: Vec<_> = gradients
            .weights
            .iter_mut()
            .map(|weight| AffineGradients {
                weight: weight.as_deref_mut(),
                bias: biases.next().and_then(Option::as_deref_mut),
            })
            .collect();
        let dx = gradients.x.as_deref_mut();
        let (maps_read, out) = (inputs.maps(), context.output);
        linear_backward(
            self.call,
            inputs.x,
            &maps_read,
            out,
            &context.grad,
            dx,
            &mut maps,
        );
        gradients
    }
}
