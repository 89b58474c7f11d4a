use attentive_device::{ActivationKind, Lengths, NormCall, NormGradients, ResidualNormCall};
use attentive_kernels::norm::NormKind;

use super::*;

/// The width of the gain, and whether there is a bias.
fn parameters(norm: NormCall) -> (usize, bool) {
    let width = if norm.kind == NormKind::Scalar { 1 } else { norm.d };
    (width, norm.kind != NormKind::Rms)
}

/// Numbers whose mean is not 0.
fn shifted(seed: u64, count: usize) -> Buffer {
    let shift = |(index, x): (usize, f32)| x + if index % 2 == 0 { 2.0 } else { -2.0 };
    Vec::from_iter(numbers(seed, count).into_iter().enumerate().map(shift)).into()
}

/// The norm and its gradients.
pub(super) fn norm_of(device: &dyn Device, norm: NormCall) -> Vec<Buffer> {
    let ((width, has_bias), len) = (parameters(norm), norm.rows * norm.d);
    let (x, grad) = (shifted(1, len), random(2, len));
    let (gain, bias) = (random(3, width), random(4, width));
    let [mut out, mut dx] = [len; 2].map(room);
    let [mut dgain, mut dbias] = [width; 2].map(room);
    device.norm(norm, &x, &gain, has_bias.then_some(&bias), &mut out);
    let gradients = NormGradients { x: &mut dx, gain: &mut dgain, bias: has_bias.then_some(&mut dbias) };
    device.norm_backward(norm, &x, &gain, &grad, gradients);
    let mut results = vec![out, dx, dgain];
    results.extend(has_bias.then_some(dbias));
    results
}

/// The sum, its norm and their gradients.
pub(super) fn residual_norm_of(device: &dyn Device, call: ResidualNormCall) -> Vec<Buffer> {
    let ((width, has_bias), len) = (parameters(call.norm), call.norm.rows * call.norm.d);
    let (x, y, grad) = (shifted(1, len), random(5, len), random(2, len));
    let (gain, bias) = (random(3, width), random(4, width));
    let [mut sum, mut out, mut dx, mut dy] = [len; 4].map(room);
    let [mut dgain, mut dbias] = [width; 2].map(room);
    let bias = has_bias.then_some(&bias);
    device.residual_norm(call, [&x, &y], &gain, bias, [&mut sum, &mut out]);
    let gradients = NormGradients { x: &mut dx, gain: &mut dgain, bias: has_bias.then_some(&mut dbias) };
    device.residual_norm_backward(call, &sum, &gain, &grad, gradients, &mut dy);
    let mut results = vec![sum, out, dx, dy, dgain];
    results.extend(has_bias.then_some(dbias));
    results
}

#[test]
fn norms() {
    for (rows, d) in [(1, 1), (3, 5), (70, 130), (5, 1000), (0, 4), (130, 64)] {
        for kind in [NormKind::Layer, NormKind::Rms, NormKind::Scalar] {
            let norm = NormCall { kind, rows, d, epsilon: 1e-5 };
            agree(&format!("{norm:?}"), |device| norm_of(device, norm));
            for dropout in [None, Some(dropout(0.3))] {
                let call = ResidualNormCall { norm, dropout };
                agree(&format!("{call:?}"), |device| residual_norm_of(device, call));
            }
        }
    }
}

pub(super) const NONLINEARITIES: [ActivationKind; 4] =
    [ActivationKind::Relu, ActivationKind::Gelu, ActivationKind::GeluTanh, ActivationKind::Silu];

/// The function of a matrix `[rows, 2 · d]`, alone and as a gate, with gradients.
pub(super) fn nonlinear_of(device: &dyn Device, f: ActivationKind, rows: usize, d: usize) -> Vec<Buffer> {
    // Also where they are flat.
    let wide = |x: f32| 12.0 * x * x * x;
    let x: Buffer = Vec::from_iter(numbers(1, rows * 2 * d).into_iter().map(wide)).into();
    let (grad, half) = (random(2, rows * 2 * d), random(3, rows * d));
    let [mut out, mut dx, mut dgated] = [rows * 2 * d; 3].map(room);
    let mut gated = room(rows * d);
    device.nonlinear(f, &x, &mut out);
    device.nonlinear_backward(f, &x, &grad, &mut dx);
    device.gated(f, d, &x, &mut gated);
    device.gated_backward(f, d, &x, &half, &mut dgated);
    vec![out, dx, gated, dgated]
}

#[test]
fn nonlinearities() {
    for f in NONLINEARITIES {
        for (rows, d) in [(1, 1), (3, 7), (40, 33), (0, 2)] {
            agree(&format!("{f:?} of [{rows}, {d}]"), |device| nonlinear_of(device, f, rows, d));
        }
    }
    agree("tanh", |device| {
        let wide = |x: f32| 100.0 * x * x * x;
        let x: Buffer = Vec::from_iter(numbers(1, 1000).into_iter().map(wide)).into();
        let (mut y, mut grad) = (room(1000), random(2, 1000));
        device.tanh(&x, &mut y);
        device.tanh_backward(&y, &mut grad);
        vec![y, grad]
    });
}

#[test]
fn dropout_has_the_masks_of_the_cpu() {
    for len in [0, 1, 5, 63, 64, 65, 1000, 70_001] {
        for rate in [0.0, 0.1, 0.5, 1.0] {
            let mask = dropout(rate);
            let found = agree(&format!("{len} at {rate}"), |device| {
                let (x, residual) = (random(1, len), random(2, len));
                let mut dropped = x.clone();
                device.dropout(mask, &mut dropped);
                let [mut alone, mut sum, mut copy, mut plain] = [len; 4].map(room);
                device.dropout_add(&x, None, Some(mask), &mut alone);
                device.dropout_add(&x, Some(&residual), Some(mask), &mut sum);
                device.dropout_add(&x, None, None, &mut copy);
                device.dropout_add(&x, Some(&residual), None, &mut plain);
                vec![dropped, alone, sum, copy, plain]
            });
            let mut scales = vec![1.0; len];
            mask.apply(&mut scales);
            let exact = |x: Vec<f32>| -> Vec<f32> {
                x.into_iter().zip(&scales).map(|(x, scale)| x * scale).collect()
            };
            for found in found.into_iter().take(2) {
                assert_eq!(found, exact(numbers(1, len)), "{len} at {rate}");
            }
        }
    }
}

#[test]
fn means() {
    let cases: [(&[usize], usize, usize); 5] =
        [(&[3, 0, 4, 1], 4, 5), (&[2], 2, 300), (&[0, 0], 0, 3), (&[], 3, 4), (&[90, 7, 61], 100, 33)];
    for (lens, width, d) in cases {
        let lengths = Lengths::new(lens, width);
        agree(&format!("{lengths:?}"), |device| {
            let x = random(1, lengths.positions() * d);
            let grad = random(2, lengths.rows() * d);
            let (mut out, mut dx) = (room(lengths.rows() * d), room(lengths.positions() * d));
            device.mean_rows(&lengths, d, &x, &mut out);
            device.mean_rows_backward(&lengths, d, &grad, &mut dx);
            vec![out, dx]
        });
    }
}
