//! Reference implementations of the norms.

use super::dropout_scale;
use crate::dropout::DropoutCall;
use crate::norm::{NormCall, NormKind};

/// Mean and divisor of one row.
fn norm_statistics(kind: NormKind, x: &[f64], eps: f64) -> (f64, f64) {
    let d = x.len() as f64;
    let mean = x.iter().sum::<f64>() / d;
    let squares = |center: f64| x.iter().map(|x| (x - center).powi(2)).sum::<f64>();
    match kind {
        NormKind::Layer => (mean, (squares(mean) / d + eps).sqrt()),
        NormKind::Rms => (0.0, (squares(0.0) / d + eps).sqrt()),
        NormKind::Scalar => (mean, (squares(mean) / (d - 1.0).max(1.0)).sqrt() + eps),
    }
}

/// [`crate::norm::norm`].
pub fn norm(call: NormCall, x: &[f64], gain: &[f64], bias: Option<&[f64]>) -> Vec<f64> {
    let normalize = |row: &[f64]| {
        let (mean, divisor) = norm_statistics(call.kind, row, call.epsilon.into());
        let one = |(j, x): (usize, &f64)| {
            (x - mean) / divisor * gain[j % gain.len()] + bias.map_or(0.0, |bias| bias[j % bias.len()])
        };
        row.iter().enumerate().map(one).collect::<Vec<f64>>()
    };
    x.chunks_exact(call.d).flat_map(normalize).collect()
}

/// [`crate::norm::norm_backward`]: the gradients of input, gain and bias.
///
/// With x̂ = c/t, where c is the centered row and t the divisor, dx̂ᵢ/dxⱼ = (dcᵢ/dxⱼ)/t − cᵢ/t² · dt/dxⱼ.
pub fn norm_backward(call: NormCall, x: &[f64], gain: &[f64], grad_out: &[f64]) -> [Vec<f64>; 3] {
    let (kind, d, eps) = (call.kind, call.d, call.epsilon.into());
    let mut dx = vec![0.0; x.len()];
    let (mut dgain, mut dbias) = (vec![0.0; gain.len()], vec![0.0; gain.len()]);
    for (row, (x, grad)) in x.chunks_exact(d).zip(grad_out.chunks_exact(d)).enumerate() {
        let (mean, t) = norm_statistics(kind, x, eps);
        let centered: Vec<f64> = x.iter().map(|x| x - mean).collect();
        for j in 0..d {
            dgain[j % gain.len()] += grad[j] * centered[j] / t;
            dbias[j % gain.len()] += grad[j];
            let dt = match kind {
                NormKind::Layer | NormKind::Rms => centered[j] / (d as f64 * t),
                NormKind::Scalar if t == eps => 0.0,
                NormKind::Scalar => centered[j] / ((d as f64 - 1.0) * (t - eps)),
            };
            for i in 0..d {
                let dmean = if kind == NormKind::Rms { 0.0 } else { 1.0 / d as f64 };
                let dcentered = if i == j { 1.0 - dmean } else { -dmean };
                dx[row * d + j] +=
                    grad[i] * gain[i % gain.len()] * (dcentered / t - centered[i] / (t * t) * dt);
            }
        }
    }
    [dx, dgain, dbias]
}

/// `residual` + [`DropoutCall`] of `x`.
pub fn dropout_add(x: &[f64], residual: &[f64], dropout: Option<DropoutCall>) -> Vec<f64> {
    let scale = |i| dropout.map_or(1.0, |dropout| dropout_scale(dropout, i));
    let pairs = x.iter().zip(residual).enumerate();
    pairs.map(|(i, (x, r))| r + x * scale(i)).collect()
}

/// [`crate::norm::residual_norm`]: the sum and its norm.
pub fn residual_norm(
    call: NormCall,
    dropout: Option<DropoutCall>,
    [x, y]: [&[f64]; 2],
    gain: &[f64],
    bias: Option<&[f64]>,
) -> [Vec<f64>; 2] {
    let sum = dropout_add(y, x, dropout);
    let out = norm(call, &sum, gain, bias);
    [sum, out]
}

/// [`crate::norm::residual_norm_backward`]: the gradients of x, gain, bias and y.
pub fn residual_norm_backward(
    call: NormCall,
    dropout: Option<DropoutCall>,
    sum: &[f64],
    gain: &[f64],
    grad_out: &[f64],
) -> [Vec<f64>; 4] {
    let [dx, dgain, dbias] = norm_backward(call, sum, gain, grad_out);
    let dy = dropout_add(&dx, &vec![0.0; dx.len()], dropout);
    [dx, dgain, dbias, dy]
}
