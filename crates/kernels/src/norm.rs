//! Layer norm and its variants, row by row; alone, or fused with dropout and the residual sum.

use rayon::prelude::*;

use crate::area::area;
use crate::dropout::{Dropout, dropout_add};
use crate::parallel::{CHUNK, for_row_chunks, is_large};
use crate::scratch::with_scratch;
use crate::simd::{sum_of, sum_of_two};

/// Rows whose gain and bias gradients are summed before they are added to the running total.
const SUM_ROWS: usize = 64;

/// Kind of norm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Norm {
    /// (x − mean) / √(variance + ε) · gain + bias with the biased variance (Ba et al. 2016); gain and bias `[d]`.
    Layer,
    /// x / √(mean of x² + ε) · gain (Zhang and Sennrich 2019); gain `[d]`, no bias.
    Rms,
    /// (x − mean) / (unbiased standard deviation + ε) · gain + bias; one gain and one bias for all columns.
    Scalar,
}

impl Norm {
    fn gain_len(self, d: usize) -> usize {
        match self {
            Self::Layer | Self::Rms => d,
            Self::Scalar => 1,
        }
    }
}

/// Kind and dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct NormCall {
    /// Kind of norm.
    pub kind: Norm,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub d: usize,
    /// ε.
    pub epsilon: f32,
}

impl NormCall {
    fn check(&self, x: &[f32], gain: &[f32], bias: Option<&[f32]>, out: &[f32]) {
        let Self { kind, rows, d, .. } = *self;
        assert_eq!(x.len(), area(rows, d), "`x` is [{rows}, {d}]");
        assert_eq!(out.len(), area(rows, d), "`out` is [{rows}, {d}]");
        assert_eq!(
            gain.len(),
            kind.gain_len(d),
            "`gain` of {kind:?} with {d} columns"
        );
        if let Some(bias) = bias {
            assert!(kind != Norm::Rms, "{kind:?} has no bias");
            assert_eq!(
                bias.len(),
                kind.gain_len(d),
                "`bias` of {kind:?} with {d} columns"
            );
        }
    }
}

/// `out` = the norm of each row of `x`, both `[rows, d]`.
///
/// # Panics
/// If a slice does not fit, or [`Norm::Rms`] is given a bias.
pub fn norm(call: NormCall, x: &[f32], gain: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
    call.check(x, gain, bias, out);
    if call.d == 0 {
        return;
    }
    for_row_chunks(out, call.d, |first, out| {
        norm_rows(call, &x[first * call.d..][..out.len()], gain, bias, out);
    });
}

/// `sum` = `x` + dropout(`y`) and `out` = its norm, all `[rows, d]`.
///
/// # Panics
/// See [`norm`].
#[allow(clippy::too_many_arguments)]
pub fn residual_norm(
    call: NormCall,
    dropout: Option<Dropout>,
    x: &[f32],
    y: &[f32],
    gain: &[f32],
    bias: Option<&[f32]>,
    sum: &mut [f32],
    out: &mut [f32],
) {
    call.check(x, gain, bias, out);
    assert_eq!(y.len(), x.len(), "both branches must have the same shape");
    assert_eq!(sum.len(), x.len(), "the sum must have the shape of `x`");
    if call.d == 0 {
        return;
    }
    let chunk = (CHUNK / call.d).max(1) * call.d;
    let one = |(number, (sum, out)): (usize, (&mut [f32], &mut [f32]))| {
        let part = number * chunk..number * chunk + sum.len();
        dropout_add(part.start, &y[part.clone()], Some(&x[part]), dropout, sum);
        norm_rows(call, sum, gain, bias, out);
    };
    if is_large(sum.len()) {
        let chunks = sum.par_chunks_mut(chunk).zip(out.par_chunks_mut(chunk));
        chunks.enumerate().for_each(one);
    } else {
        let chunks = sum.chunks_mut(chunk).zip(out.chunks_mut(chunk));
        chunks.enumerate().for_each(one);
    }
}

fn norm_rows(call: NormCall, x: &[f32], gain: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
    let NormCall {
        kind, d, epsilon, ..
    } = call;
    for (x, out) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        norm_row(kind, x, gain, bias, epsilon, out);
    }
}

/// Statistics of a row: x̂ = (x − mean) · inverse.
#[derive(Clone, Copy)]
struct Statistics {
    mean: f32,
    inverse: f32,
    /// The factor of the mean of ĝ·x̂ in the gradient: 1, or the corresponding term of the unbiased deviation.
    curvature: f32,
}

impl Statistics {
    #[inline(always)]
    fn of(kind: Norm, x: &[f32], eps: f32) -> Self {
        let d = x.len() as f32;
        if kind == Norm::Rms {
            let square = sum_of(x, |x| x * x) / d;
            return Self {
                mean: 0.0,
                inverse: 1.0 / (square + eps).sqrt(),
                curvature: 1.0,
            };
        }
        let mean = sum_of(x, |x| x) / d;
        let squares = sum_of(x, |x| (x - mean) * (x - mean));
        if kind == Norm::Layer {
            return Self {
                mean,
                inverse: 1.0 / (squares / d + eps).sqrt(),
                curvature: 1.0,
            };
        }
        let freedom = (d - 1.0).max(1.0);
        let deviation = (squares / freedom).sqrt();
        let curvature = if deviation == 0.0 {
            0.0
        } else {
            (deviation + eps) / deviation * (d / freedom)
        };
        Self {
            mean,
            inverse: 1.0 / (deviation + eps),
            curvature,
        }
    }
}

vectorized! {
    fn norm_row(kind: Norm, x: &[f32], gain: &[f32], bias: Option<&[f32]>, eps: f32, out: &mut [f32]) {
        let Statistics { mean, inverse, .. } = Statistics::of(kind, x, eps);
        for (out, &x) in out.iter_mut().zip(x) {
            *out = (x - mean) * inverse;
        }
        if kind == Norm::Scalar {
            let (gain, bias) = (gain[0], bias.map_or(0.0, |bias| bias[0]));
            for out in out.iter_mut() {
                *out = *out * gain + bias;
            }
            return;
        }
        for (out, &gain) in out.iter_mut().zip(gain) {
            *out *= gain;
        }
        if let Some(bias) = bias {
            for (out, &bias) in out.iter_mut().zip(bias) {
                *out += bias;
            }
        }
    }
}

/// Gradient outputs.
#[derive(Debug)]
pub struct NormGradients<'a> {
    /// Gradient of the input, `[rows, d]`; for [`residual_norm_backward`], of the sum of both inputs.
    pub x: &'a mut [f32],
    /// As long as the gain.
    pub gain: &'a mut [f32],
    /// As long as the gain.
    pub bias: Option<&'a mut [f32]>,
}

/// The gradients of [`norm`] given `grad_out` `[rows, d]`.
///
/// # Panics
/// If a slice does not fit, or [`Norm::Rms`] is given a bias.
pub fn norm_backward(
    call: NormCall,
    x: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    gradients: NormGradients<'_>,
) {
    backward(call, x, gain, grad_out, gradients, |_, _, _| (), &mut []);
}

/// The gradients of [`residual_norm`] given the saved `sum` and `grad_out` `[rows, d]`. `gradients.x` is the gradient
/// of `x`, and `dy` `[rows, d]` that of `y`.
///
/// # Panics
/// See [`norm_backward`].
pub fn residual_norm_backward(
    call: NormCall,
    dropout: Option<Dropout>,
    sum: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    gradients: NormGradients<'_>,
    dy: &mut [f32],
) {
    assert_eq!(
        dy.len(),
        sum.len(),
        "both branches must have the same shape"
    );
    let through = |first: usize, dsum: &[f32], dy: &mut [f32]| {
        dropout_add(first, dsum, None, dropout, dy);
    };
    backward(call, sum, gain, grad_out, gradients, through, dy);
}

/// [`norm_backward`] that calls `then(first element, dx, further)` for each chunk of rows and the same chunk of
/// `further`.
fn backward(
    call: NormCall,
    x: &[f32],
    gain: &[f32],
    grad_out: &[f32],
    gradients: NormGradients<'_>,
    then: impl Fn(usize, &[f32], &mut [f32]) + Sync + Send,
    further: &mut [f32],
) {
    let NormCall { rows, d, .. } = call;
    let NormGradients {
        x: dx,
        gain: dgain,
        bias: mut dbias,
    } = gradients;
    call.check(x, gain, dbias.as_deref(), dx);
    assert_eq!(grad_out.len(), rows * d, "`grad_out` is [{rows}, {d}]");
    assert_eq!(dgain.len(), gain.len(), "`dgain` must be as long as `gain`");
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
            .map(|(dx, sums)| Chunk {
                dx,
                sums,
                further: further.next().unwrap_or_default(),
            })
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
            add(dgain, gain_sums);
            if let Some(dbias) = dbias.as_deref_mut() {
                add(dbias, bias_sums);
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

vectorized! {
    fn add(sums: &mut [f32], terms: &[f32]) {
        for (sum, &term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
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
    let NormCall {
        kind,
        d,
        epsilon: eps,
        ..
    } = call;
    sums.fill(0.0);
    let (dgain, dbias) = sums.split_at_mut(gain.len());
    with_scratch(d, |scaled| {
        for ((x, grad), dx) in x
            .chunks_exact(d)
            .zip(grad_out.chunks_exact(d))
            .zip(dx.chunks_exact_mut(d))
        {
            row_backward(kind, x, gain, eps, grad, scaled, dx, dgain, dbias);
        }
    });
}

vectorized! {
    /// Processes one row. `scaled` is scratch for ĝ = `grad` · `gain`; `dx` holds x̂ until the end.
    #[allow(clippy::too_many_arguments)]
    fn row_backward(
        kind: Norm,
        x: &[f32],
        gain: &[f32],
        eps: f32,
        grad: &[f32],
        scaled: &mut [f32],
        dx: &mut [f32],
        dgain: &mut [f32],
        dbias: &mut [f32],
    ) {
        let Statistics { mean, inverse, curvature } = Statistics::of(kind, x, eps);
        for (dx, &x) in dx.iter_mut().zip(x) {
            *dx = (x - mean) * inverse;
        }
        if kind == Norm::Scalar {
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
        let shift = if kind == Norm::Rms { 0.0 } else { sum_of(scaled, |g| g) / d };
        let slope = sum_of_two(scaled, dx, |g, x| g * x) / d * curvature;
        for (dx, &g) in dx.iter_mut().zip(&*scaled) {
            *dx = (g - shift - *dx * slope) * inverse;
        }
    }
}

#[cfg(test)]
mod tests;
