//! Gradients of the norms.

use rayon::prelude::*;

use super::{NormCall, NormKind, Statistics};
use crate::area::assert_shape;
use crate::dropout::{DropoutCall, dropout_add};
use crate::elementwise::add_chunk;
use crate::parallel::is_large;
use crate::scratch::with_scratch;
use crate::simd::{sum_of, sum_of_two};

/// Rows whose gain and bias gradients are summed before they are added to the running total.
const SUM_ROWS: usize = 64;

/// Gradient outputs.
#[derive(Debug)]
pub struct NormGradients<T> {
    /// Gradient of the input, `[rows, d]`; for [`residual_norm_backward`], of the sum of both inputs.
    pub x: T,
    /// As long as the gain.
    pub gain: T,
    /// As long as the gain.
    pub bias: Option<T>,
}

impl<T> NormGradients<T> {
    /// Applies `f` to each output.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> NormGradients<U> {
        NormGradients { x: f(self.x), gain: f(self.gain), bias: self.bias.map(f) }
    }
}

/// The gradients of [`super::norm`] given `grad_out` `[rows, d]`.
///
/// # Panics
/// If a slice does not fit, or a kind without a bias is given one.
pub fn norm_backward(
    call: NormCall,
    x: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    gradients: NormGradients<&mut [f32]>,
) {
    backward(call, x, gain, grad_out, gradients, |_, _, _| (), &mut []);
}

/// The gradients of [`super::residual_norm`] given the saved `sum` and `grad_out` `[rows, d]`. `gradients.x`
/// is the gradient of `x`, and `dy` `[rows, d]` that of `y`.
///
/// # Panics
/// See [`norm_backward`].
pub fn residual_norm_backward(
    call: NormCall,
    dropout: Option<DropoutCall>,
    sum: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    gradients: NormGradients<&mut [f32]>,
    dy: &mut [f32],
) {
    assert_shape("dy", dy, [call.rows, call.d]);
    let through = |first: usize, dsum: &[f32], dy: &mut [f32]| {
        dropout_add(first, dsum, None, dropout, dy);
    };
    backward(call, sum, gain, grad_out, gradients, through, dy);
}

/// [`norm_backward`] that calls `then(first element, dx, further)` for each chunk of rows and the same chunk
/// of `further`.
fn backward(
    call: NormCall,
    x: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    gradients: NormGradients<&mut [f32]>,
    then: impl Fn(usize, &[f32], &mut [f32]) + Sync + Send,
    further: &mut [f32],
) {
    let NormCall { rows, d, .. } = call;
    let NormGradients { x: dx, gain: dgain, bias: mut dbias } = gradients;
    call.check(x, gain, dbias.as_deref(), dx);
    assert_shape("grad_out", grad_out, [rows, d]);
    assert_shape("dgain", dgain, [gain.len()]);
    dgain.fill(0.0);
    if let Some(dbias) = dbias.as_deref_mut() {
        dbias.fill(0.0);
    }
    if rows == 0 || d == 0 {
        return;
    }
    let (gains, chunk) = (gain.len(), SUM_ROWS * d);
    with_scratch(rows.div_ceil(SUM_ROWS) * 2 * gains, |sums| {
        let mut further = further.chunks_mut(chunk);
        let chunks = dx.chunks_mut(chunk).zip(sums.chunks_mut(2 * gains));
        let tasks: Vec<_> = chunks
            .map(|(dx, sums)| Chunk { dx, sums, further: further.next().unwrap_or_default() })
            .collect();
        let one = |(number, task): (usize, Chunk<'_>)| {
            let Chunk { dx, sums, further } = task;
            let part = number * chunk..number * chunk + dx.len();
            let (x, grad_out) = (&x[part.clone()], &grad_out[part.clone()]);
            rows_backward(call, x, gain, grad_out, dx, sums);
            then(part.start, dx, further);
        };
        if is_large(rows * d) {
            tasks.into_par_iter().enumerate().for_each(one);
        } else {
            tasks.into_iter().enumerate().for_each(one);
        }
        for sums in sums.chunks_exact(2 * gains) {
            let (gain_sums, bias_sums) = sums.split_at(gains);
            add_chunk(dgain, gain_sums);
            if let Some(dbias) = dbias.as_deref_mut() {
                add_chunk(dbias, bias_sums);
            }
        }
    });
}

/// Outputs of one task of [`backward`].
struct Chunk<'a> {
    dx: &'a mut [f32],
    sums: &'a mut [f32],
    further: &'a mut [f32],
}

/// Processes one chunk of rows; `sums` receives the gain gradients, then the bias gradients.
fn rows_backward(
    call: NormCall,
    x: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    dx: &mut [f32],
    sums: &mut [f32],
) {
    let d = call.d;
    sums.fill(0.0);
    with_scratch(d, |scaled| {
        let rows = x.chunks_exact(d).zip(grad_out.chunks_exact(d));
        for ((x, grad), dx) in rows.zip(dx.chunks_exact_mut(d)) {
            row_backward(call, x, gain, grad, scaled, dx, sums);
        }
    });
}

vectorized! {
    /// Processes one row. `scaled` is scratch for ĝ = `grad` · `gain`; `dx` holds x̂ until the end.
    fn row_backward(
        call: NormCall,
        x: &[f32],
        gain: &[f32],
        grad: &[f32],
        scaled: &mut [f32],
        dx: &mut [f32],
        sums: &mut [f32],
    ) {
        let kind = call.kind;
        let (dgain, dbias) = sums.split_at_mut(gain.len());
        let Statistics { mean, inverse, curvature } = Statistics::of(call, x);
        for (dx, &x) in dx.iter_mut().zip(x) {
            *dx = (x - mean) * inverse;
        }
        if kind == NormKind::Scalar {
            dgain[0] += sum_of_two(grad, dx, |grad, x| grad * x);
            dbias[0] += sum_of(grad, |grad| grad);
            for (scaled, &grad) in scaled.iter_mut().zip(grad) {
                *scaled = grad * gain[0];
            }
        } else {
            for ((dgain, &grad), &x) in dgain.iter_mut().zip(grad).zip(&*dx) {
                *dgain += grad * x;
            }
            for (dbias, &grad) in dbias.iter_mut().zip(grad) {
                *dbias += grad;
            }
            for ((scaled, &grad), &gain) in scaled.iter_mut().zip(grad).zip(gain) {
                *scaled = grad * gain;
            }
        }
        let d = x.len() as f32;
        let shift = if kind.is_centered() { sum_of(scaled, |g| g) / d } else { 0.0 };
        let slope = sum_of_two(scaled, dx, |g, x| g * x) / d * curvature;
        for (dx, &g) in dx.iter_mut().zip(&*scaled) {
            *dx = (g - shift - *dx * slope) * inverse;
        }
    }
}
