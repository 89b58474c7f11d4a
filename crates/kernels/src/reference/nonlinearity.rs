//! Reference implementation of [`mod@crate::nonlinearity`].

use std::f64::consts::{PI, TAU};

use crate::nonlinearity::ActivationKind;

/// The density of the standard normal distribution.
fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / TAU.sqrt()
}

/// The distribution function of the standard normal distribution, by Simpson's rule.
fn distribution(x: f64) -> f64 {
    const STEPS: i32 = 400;
    let h = x / f64::from(STEPS);
    let term = |i: i32| {
        let weight = match i {
            0 | STEPS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * density(f64::from(i) * h)
    };
    0.5 + h / 3.0 * (0..=STEPS).map(term).sum::<f64>()
}

/// Value and derivative of a function at `x`.
pub fn nonlinear(f: ActivationKind, x: f64) -> [f64; 2] {
    match f {
        ActivationKind::Relu => [x.max(0.0), if x > 0.0 { 1.0 } else { 0.0 }],
        ActivationKind::Gelu => [x * distribution(x), distribution(x) + x * density(x)],
        ActivationKind::GeluTanh => {
            let factor = (2.0 / PI).sqrt();
            let bounded = (factor * (x + 0.044715 * x.powi(3))).tanh();
            let slope = factor * (1.0 + 3.0 * 0.044715 * x * x);
            [0.5 * x * (1.0 + bounded), 0.5 * (1.0 + bounded) + 0.5 * x * (1.0 - bounded * bounded) * slope]
        }
        ActivationKind::Silu => {
            let y = 1.0 / (1.0 + (-x).exp());
            [x * y, y + x * y * (1.0 - y)]
        }
    }
}

/// [`crate::nonlinearity::gated`] and its gradient given `grad_out`.
pub fn gated(f: ActivationKind, d: usize, x: &[f64], grad_out: &[f64]) -> [Vec<f64>; 2] {
    let (mut out, mut dx) = (vec![0.0; grad_out.len()], vec![0.0; x.len()]);
    for (i, grad) in grad_out.iter().enumerate() {
        let (a, b) = (i / d * 2 * d + i % d, i / d * 2 * d + d + i % d);
        let [value, slope] = nonlinear(f, x[a]);
        out[i] = value * x[b];
        dx[a] = grad * x[b] * slope;
        dx[b] = grad * value;
    }
    [out, dx]
}
