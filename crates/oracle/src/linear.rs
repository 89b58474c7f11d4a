//! Fully connected layers: the reference has one at a time.

use attentive_kernels::reference;

use crate::columns::{copied, written};
use attentive_device::*;

/// Multiplies each element by the factor of dropout.
pub(super) fn dropped(dropout: Option<DropoutCall>, x: &mut [f64]) {
    if let Some(dropout) = dropout {
        for (element, x) in x.iter_mut().enumerate() {
            *x *= reference::dropout_scale(dropout, element);
        }
    }
}

/// The results of all layers, side by side.
pub(super) fn linear(call: LinearCall, x: &[f64], maps: &[Affine<&[f64]>]) -> Vec<f64> {
    let one = LinearCall { dropout: None, ..call };
    let width = maps.len() * call.d_out;
    let mut out = vec![0.0; call.rows * width];
    for (number, map) in maps.iter().enumerate() {
        let part = reference::linear(one, x, map.weight, map.bias);
        written(&mut out, width, number * call.d_out, &part, call.d_out);
    }
    dropped(call.dropout, &mut out);
    out
}

/// The gradient of the input, and those of each layer's weight and bias. What is not kept counts as zeros.
pub(super) fn backward(
    call: LinearCall,
    kept: LinearKept<'_, &[f64]>,
    grad: &[f64],
    layers: usize,
) -> (Vec<f64>, Vec<[Vec<f64>; 2]>) {
    let LinearCall { rows, d_in, d_out, .. } = call;
    let one = LinearCall { dropout: None, ..call };
    let width = layers * d_out;
    let mut grad = grad.to_vec();
    dropped(call.dropout, &mut grad);
    let out = or_zeros(kept.out, rows * width);
    let x = or_zeros(kept.x, rows * d_in);
    let mut dx = vec![0.0; rows * d_in];
    let of_layer = |number: usize| {
        let part = |all: &[f64]| copied(all, width, number * d_out, d_out);
        let weight = kept.weights.get(number).copied().unwrap_or_default();
        let weight = or_zeros(weight, d_out * d_in);
        let [through, dweight, dbias] =
            reference::linear_backward(one, &x, &weight, &part(&out), &part(&grad));
        dx.iter_mut().zip(through).for_each(|(dx, part)| *dx += part);
        [dweight, dbias]
    };
    let gradients = (0..layers).map(of_layer).collect();
    (dx, gradients)
}

fn or_zeros(x: &[f64], len: usize) -> Vec<f64> {
    match x {
        [] => vec![0.0; len],
        x => x.to_vec(),
    }
}
