//! The activation functions of feed-forward networks, plain and gated, and their gradients.

use std::f32::consts::{PI, SQRT_2};

use crate::area::assert_shape;
use crate::parallel::{for_chunks, for_row_chunks};
use crate::simd::{self, exp_nonpositive, sigmoid};

/// Activation function of the feed-forward networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum ActivationKind {
    /// max(0, x), as in *Attention Is All You Need*.
    Relu,
    /// x·Φ(x), the Gaussian error linear unit.
    Gelu,
    /// The tanh approximation of GELU (Hendrycks and Gimpel 2016), as in GPT-2.
    GeluTanh,
    /// x·σ(x), the sigmoid linear unit.
    Silu,
}

/// `out` = f(`x`), element by element.
///
/// # Panics
/// If the lengths differ.
pub fn nonlinear(f: ActivationKind, x: &[f32], out: &mut [f32]) {
    for_chunks([x], out, |[x], out| values(f, x, out));
}

/// The gradient of [`nonlinear`] given `grad_out`.
///
/// # Panics
/// If the lengths differ.
pub fn nonlinear_backward(f: ActivationKind, x: &[f32], grad_out: &[f32], dx: &mut [f32]) {
    for_chunks([x, grad_out], dx, |[x, grad], dx| slopes(f, x, grad, dx));
}

/// Gated linear unit (Shazeer 2020): `out` `[rows, d]` = f(a) ⊙ b, where a and b are the halves of each row
/// of `x` `[rows, 2 * d]`.
///
/// # Panics
/// If a slice does not fit.
pub fn gated(f: ActivationKind, d: usize, x: &[f32], out: &mut [f32]) {
    check(d, x, out);
    if d == 0 {
        return;
    }
    for_row_chunks(out, d, |first, out| {
        let x = x[2 * first * d..].chunks_exact(2 * d);
        for (x, out) in x.zip(out.chunks_exact_mut(d)) {
            gate_row(f, x, out);
        }
    });
}

/// The gradient of [`gated`], `[rows, 2 * d]`, given `grad_out` `[rows, d]`.
///
/// # Panics
/// If a slice does not fit.
pub fn gated_backward(f: ActivationKind, d: usize, x: &[f32], grad_out: &[f32], dx: &mut [f32]) {
    check(d, x, grad_out);
    check(d, dx, grad_out);
    if d == 0 {
        return;
    }
    for_row_chunks(dx, 2 * d, |first, dx| {
        let x = x[2 * first * d..].chunks_exact(2 * d);
        let grad_out = grad_out[first * d..].chunks_exact(d);
        for ((x, grad_out), dx) in x.zip(grad_out).zip(dx.chunks_exact_mut(2 * d)) {
            gate_row_backward(f, x, grad_out, dx);
        }
    });
}

/// `out` = GELU(`x`) with an exact error function. It is slower than [`nonlinear`], which differs by at most
/// 1e-7.
///
/// # Panics
/// If the lengths differ.
pub fn exact_gelu(x: &[f32], out: &mut [f32]) {
    for_chunks([x], out, |[x], out| {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = 0.5 * x * (1.0 + libm::erff(x / SQRT_2));
        }
    });
}

/// The gradient of [`exact_gelu`] given `grad_out`.
///
/// # Panics
/// If the lengths differ.
pub fn exact_gelu_backward(x: &[f32], grad_out: &[f32], dx: &mut [f32]) {
    let density_of_0 = 1.0 / (2.0 * PI).sqrt();
    for_chunks([x, grad_out], dx, |[x, grad_out], dx| {
        for ((dx, &x), &grad) in dx.iter_mut().zip(x).zip(grad_out) {
            let below = 0.5 * (1.0 + libm::erff(x / SQRT_2));
            let density = density_of_0 * exp_nonpositive(-0.5 * x * x);
            *dx = grad * (below + x * density);
        }
    });
}

/// `out` = tanh(`x`), element by element.
///
/// # Panics
/// If the lengths differ.
pub fn tanh(x: &[f32], out: &mut [f32]) {
    for_chunks([x], out, |[x], out| {
        out.copy_from_slice(x);
        tanh_in_place(out);
    });
}

vectorized! {
    /// `x` = tanh(`x`), element by element, on the calling thread. All instruction sets and systems give the
    /// same bits.
    pub fn tanh_in_place(x: &mut [f32]) {
        x.iter_mut().for_each(|x| *x = simd::tanh(*x));
    }
}

/// Turns the gradient of [`tanh`]'s result `y` into that of its operand.
///
/// # Panics
/// If the lengths differ.
pub fn tanh_backward(y: &[f32], grad: &mut [f32]) {
    for_chunks([y], grad, |[y], grad| {
        for (grad, &y) in grad.iter_mut().zip(y) {
            *grad *= 1.0 - y * y;
        }
    });
}

fn check(d: usize, x: &[f32], out: &[f32]) {
    let rows = out.len().checked_div(d).unwrap_or(0);
    assert_shape("out", out, [rows, d]);
    assert_shape("x", x, [rows, 2 * d]);
}

/// Runs `$loop` with `$of` bound to a closure that returns (value, derivative) of the function.
macro_rules! for_function {
    ($f:ident, $of:ident => $loop:block) => {
        match $f {
            ActivationKind::Relu => {
                let $of = relu;
                $loop
            }
            ActivationKind::Gelu => {
                let $of = gelu;
                $loop
            }
            ActivationKind::GeluTanh => {
                let $of = gelu_tanh;
                $loop
            }
            ActivationKind::Silu => {
                let $of = silu;
                $loop
            }
        }
    };
}

vectorized! {
    fn values(f: ActivationKind, x: &[f32], out: &mut [f32]) {
        for_function!(f, of => {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = of(x).0;
            }
        });
    }
}

vectorized! {
    fn slopes(f: ActivationKind, x: &[f32], grad_out: &[f32], dx: &mut [f32]) {
        for_function!(f, of => {
            for ((dx, &x), &grad) in dx.iter_mut().zip(x).zip(grad_out) {
                *dx = grad * of(x).1;
            }
        });
    }
}

vectorized! {
    fn gate_row(f: ActivationKind, x: &[f32], out: &mut [f32]) {
        let (a, b) = x.split_at(out.len());
        for_function!(f, of => {
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *out = of(a).0 * b;
            }
        });
    }
}

vectorized! {
    fn gate_row_backward(f: ActivationKind, x: &[f32], grad_out: &[f32], dx: &mut [f32]) {
        let (a, b) = x.split_at(grad_out.len());
        let (da, db) = dx.split_at_mut(grad_out.len());
        for_function!(f, of => {
            for ((((da, db), &a), &b), &grad) in da.iter_mut().zip(db).zip(a).zip(b).zip(grad_out) {
                let (value, slope) = of(a);
                *da = grad * b * slope;
                *db = grad * value;
            }
        });
    }
}

#[inline(always)]
fn relu(x: f32) -> (f32, f32) {
    if x <= 0.0 { (0.0, 0.0) } else { (x, 1.0) }
}

/// Exact GELU: Φ(−|x|) by formula 7.1.26 of Abramowitz and Stegun (1964), with an error below 1e-7.
#[inline(always)]
fn gelu(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let polynomial =
        ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    let exp = exp_nonpositive(-z * z);
    let tail = 0.5 * polynomial * exp;
    let below = if x < 0.0 { tail } else { 1.0 - tail };
    // 1/√(2π)
    let density = 0.398_942_3 * exp;
    (x * below, below + x * density)
}

#[inline(always)]
fn gelu_tanh(x: f32) -> (f32, f32) {
    // √(2/π)
    const FACTOR: f32 = 0.797_884_6;
    const CUBIC: f32 = 0.044_715;
    // ½ (1 + tanh u) = σ(2u), which is accurate in both tails.
    let double = 2.0 * FACTOR * (x + CUBIC * x * x * x);
    let slope = 2.0 * FACTOR * (1.0 + 3.0 * CUBIC * x * x);
    let (above, below) = (sigmoid(double), sigmoid(-double));
    (x * above, above + x * above * below * slope)
}

#[inline(always)]
fn silu(x: f32) -> (f32, f32) {
    let y = sigmoid(x);
    (x * y, y * (1.0 + x * (1.0 - y)))
}

#[cfg(test)]
mod tests;
