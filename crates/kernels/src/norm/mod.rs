//! Layer norm and its variants, row by row; alone, or fused with dropout and the residual sum.

mod backward;

pub use backward::{NormGradients, norm_backward, residual_norm_backward};

use rayon::prelude::*;

use crate::area::{assert_shape, assert_shape_if_any};
use crate::dropout::{DropoutCall, dropout_add};
use crate::parallel::{CHUNK, for_row_chunks, is_large};
use crate::simd::sum_of;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum NormKind {
    // Shaders know a norm by its place in this list.
    /// Layer normalization (Ba et al. 2016), with a gain and a bias for each feature.
    Layer,
    /// Root mean square normalization (Zhang and Sennrich 2019), with a gain for each feature.
    Rms,
    /// The variant of some tutorials: (x − mean) / (unbiased standard deviation + ε), with one gain and one
    /// bias for all features.
    Scalar,
}

impl NormKind {
    /// Returns the width of the gain, and of the bias, for rows of `d` features.
    pub fn width(self, d: usize) -> usize {
        match self {
            Self::Layer | Self::Rms => d,
            Self::Scalar => 1,
        }
    }

    /// Returns true if the norm has a bias besides its gain.
    pub fn has_bias(self) -> bool {
        self != Self::Rms
    }

    /// True if the mean of a row is subtracted.
    pub(crate) fn is_centered(self) -> bool {
        self != Self::Rms
    }
}

/// Kind and dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct NormCall {
    /// Kind of norm.
    pub kind: NormKind,
    pub rows: usize,
    /// Columns.
    pub d: usize,
    pub epsilon: f32,
}

impl NormCall {
    fn check(&self, x: &[f32], gain: &[f32], bias: Option<&[f32]>, out: &[f32]) {
        let Self { kind, rows, d, .. } = *self;
        assert!(kind.has_bias() || bias.is_none(), "{kind:?} has no bias");
        assert_shape("x", x, [rows, d]);
        assert_shape("out", out, [rows, d]);
        assert_shape("gain", gain, [kind.width(d)]);
        assert_shape_if_any("bias", bias, [kind.width(d)]);
    }
}

/// `out` = the norm of each row of `x`, both `[rows, d]`.
///
/// # Panics
/// If a slice does not fit, or a kind without a bias is given one.
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
pub fn residual_norm(
    call: NormCall,
    dropout: Option<DropoutCall>,
    [x, y]: [&[f32]; 2],
    gain: &[f32],
    bias: Option<&[f32]>,
    sum: &mut [f32],
    out: &mut [f32],
) {
    call.check(x, gain, bias, out);
    assert_shape("y", y, [call.rows, call.d]);
    assert_shape("sum", sum, [call.rows, call.d]);
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
    for (x, out) in x.chunks_exact(call.d).zip(out.chunks_exact_mut(call.d)) {
        norm_row(call, x, gain, bias, out);
    }
}

/// Statistics of a row: x̂ = (x − mean) · inverse.
#[derive(Clone, Copy)]
struct Statistics {
    mean: f32,
    inverse: f32,
    /// The factor of the mean of ĝ·x̂ in the gradient: 1, or the corresponding term of the unbiased
    /// deviation.
    curvature: f32,
}

impl Statistics {
    #[inline(always)]
    fn of(call: NormCall, x: &[f32]) -> Self {
        let (kind, eps, d) = (call.kind, call.epsilon, x.len() as f32);
        if kind == NormKind::Rms {
            let square = sum_of(x, |x| x * x) / d;
            return Self { mean: 0.0, inverse: 1.0 / (square + eps).sqrt(), curvature: 1.0 };
        }
        let mean = sum_of(x, |x| x) / d;
        let squares = sum_of(x, |x| (x - mean) * (x - mean));
        if kind == NormKind::Layer {
            return Self { mean, inverse: 1.0 / (squares / d + eps).sqrt(), curvature: 1.0 };
        }
        let freedom = (d - 1.0).max(1.0);
        let deviation = (squares / freedom).sqrt();
        let curvature = if deviation == 0.0 { 0.0 } else { (deviation + eps) / deviation * (d / freedom) };
        Self { mean, inverse: 1.0 / (deviation + eps), curvature }
    }
}

vectorized! {
    fn norm_row(call: NormCall, x: &[f32], gain: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
        let Statistics { mean, inverse, .. } = Statistics::of(call, x);
        for (out, &x) in out.iter_mut().zip(x) {
            *out = (x - mean) * inverse;
        }
        if call.kind == NormKind::Scalar {
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

#[cfg(test)]
mod tests;
