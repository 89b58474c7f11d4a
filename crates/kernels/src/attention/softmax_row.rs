//! The softmax of one query, and its gradient, for attention to a cache and additive attention.
//!
//! [`super::softmax_columns`] computes the same for many queries at once, with the same bits: the tests of
//! [`crate::cached_attention`] compare both.

use crate::simd::{LANES, exp_and_sum, max_of, scale_and_hide, sum_of_two};

vectorized! {
    /// Turns scores into attention weights in place: the softmax of `scale` times the first `visible` scores,
    /// plus `bias` if given; the rest becomes 0.
    pub(crate) fn softmax_row(row: &mut [f32], visible: usize, scale: f32, bias: Option<&[f32]>) {
        let max = match bias {
            None if row.len().is_multiple_of(LANES) => {
                scale_and_hide(row.as_chunks_mut().0, visible, scale)
            }
            _ => scale_and_bias(row, visible, scale, bias),
        };
        if max == f32::NEG_INFINITY && row.iter().all(|score| *score == max) {
            return row.fill(0.0);
        }
        let inverse = 1.0 / exp_and_sum(row, max);
        for weight in row {
            *weight *= inverse;
        }
    }
}

/// Scales the visible scores, adds the bias, and sets the others to −∞. Returns the largest.
#[inline(always)]
fn scale_and_bias(row: &mut [f32], visible: usize, scale: f32, bias: Option<&[f32]>) -> f32 {
    let (seen, hidden) = row.split_at_mut(visible);
    hidden.fill(f32::NEG_INFINITY);
    seen.iter_mut().for_each(|score| *score *= scale);
    if let Some(bias) = bias {
        for (score, &bias) in seen.iter_mut().zip(bias) {
            *score += bias;
        }
    }
    max_of(row)
}

vectorized! {
    /// Softmax gradient in place: turns the gradient `grad` of the weights into that of the unscaled scores.
    pub(crate) fn softmax_backward_row(weights: &[f32], grad: &mut [f32], scale: f32) {
        let mean = sum_of_two(weights, grad, |weight, grad| weight * grad);
        for (grad, &weight) in grad.iter_mut().zip(weights) {
            *grad = weight * (*grad - mean) * scale;
        }
    }
}
