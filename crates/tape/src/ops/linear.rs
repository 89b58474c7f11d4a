//! x·Wᵀ + b for one or several layers with the same input, with optional ReLU and dropout.

use std::iter::repeat;

use attentive_device::{Affine, AffineGradients, LinearCall, LinearKept, current};
use attentive_kernels::gemm::Activation;

use super::{AffineMap, TapeEpilogue};
use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Value};

/// Linear layers with the same input: `dropout(activation(x · weightᵀ + bias))` for each layer, concatenated.
///
/// # Shapes
/// - `x`: `[rows, d_in]`
/// - `maps`: at most three layers with weights of the same shape; layers without a bias follow those that
///   have one
/// - result: `[rows, maps.len() · d_out]`
pub fn linear(x: Value, maps: Vec<AffineMap>, epilogue: TapeEpilogue) -> Value {
    assert!(
        epilogue.dropout.is_none() || epilogue.activation == Activation::Relu,
        "linear: dropout follows ReLU, since the backward pass recovers the mask from the zeros of the output"
    );
    let [rows, d_in] = x.shape();
    let (d_out, weight_in) = (maps[0].d_out(), maps[0].weight.shape()[1]);
    assert_eq!(d_in, weight_in, "linear: rows have {d_in} columns, the weight expects {weight_in}");
    assert!(
        maps.is_sorted_by_key(|map| map.bias.is_none()),
        "linear: layers without a bias follow those that have one"
    );
    let op = Linear {
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
    let mut operands = LinearOperands { x, weights: Vec::new(), biases: Vec::new() };
    for AffineMap { weight, bias } in maps {
        operands.weights.push(weight);
        operands.biases.extend(bias);
    }
    apply(op, operands, [rows, width])
}

operands! {
    /// The biases are those of the first layers.
    struct LinearOperands {
        x: One,
        weights: Many,
        biases: Many,
    }
}

struct Linear {
    call: LinearCall,
    maps: usize,
}

impl TapeOp for Linear {
    const NAME: &'static str = "linear";
    type Operands = LinearOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self, operands: LinearOperands<OperandInfo>) -> LinearOperands<bool> {
        LinearOperands {
            x: operands.weights.iter().any(|weight| weight.is_wanted),
            weights: vec![operands.x.is_wanted; operands.weights.len()],
            biases: vec![false; operands.biases.len()],
        }
    }

    fn keeps_output(&self) -> bool {
        self.call.activation == Activation::Relu
    }

    fn flops(&self) -> [f64; 2] {
        let LinearCall { rows, d_in, d_out, .. } = self.call;
        let product = 2.0 * (rows * d_in * self.maps * d_out) as f64;
        [product, 2.0 * product]
    }

    fn forward(&self, inputs: LinearOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let LinearCall { rows, d_out, .. } = self.call;
        let mut out = Buffer::take(rows * self.maps * d_out);
        let biases = inputs.biases.into_iter().map(Some).chain(repeat(None));
        let maps = inputs.weights.into_iter().zip(biases);
        let maps: Vec<_> = maps.map(|(weight, bias)| Affine { weight, bias }).collect();
        current().linear(self.call, inputs.x, &maps, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, mut context: Context<'_, Self>) -> LinearOperands<Option<Buffer>> {
        let mut gradients = context.operands.map(OperandInfo::room);
        let mut biases = gradients.biases.iter_mut();
        let maps = gradients
            .weights
            .iter_mut()
            .map(|weight| AffineGradients {
                weight: weight.as_mut(),
                bias: biases.next().and_then(Option::as_mut),
            })
            .collect();
        let kept = LinearKept { x: context.inputs.x, weights: &context.inputs.weights, out: context.output };
        let dx = gradients.x.as_mut();
        current().linear_backward(self.call, kept, &mut context.grad, dx, maps);
        gradients
    }
}
