//! Row operations between the two matrix products of attention.

use super::Visible;
use crate::simd::{LANES, exp_and_sum, max_of, scale_and_hide, sum_of_two};

vectorized! {
    /// Turns scores into attention weights in place: the softmax of `scale` times the first `visible` scores, plus
    /// `bias` if given; the rest becomes 0.
    pub(crate) fn softmax_row(row: &mut [f32], visible: usize, scale: f32, bias: Option<&[f32]>) {
        softmax(row, visible, scale, bias);
    }
}

vectorized! {
    /// [`softmax_row`] for the rows of the queries from `first` on, of length `stride`, with at least one key; `bias`
    /// `[tgt_len, src_len]` is that of all queries.
    pub(super) fn softmax_rows(
        rows: &mut [f32],
        stride: usize,
        first: usize,
        visible: Visible,
        scale: f32,
        bias: Option<&[f32]>,
    ) {
        let src_len = visible.src_len;
        for (query, row) in (first..).zip(rows.chunks_exact_mut(stride)) {
            let bias = bias.map(|bias| &bias[query * src_len..][..src_len]);
            softmax(row, visible.to(query), scale, bias);
        }
    }
}

#[inline(always)]
fn softmax(row: &mut [f32], visible: usize, scale: f32, bias: Option<&[f32]>) {
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
    /// Multiplies the first `keys` columns of `weights`, whose row stride is `stride`, by those of `scales`
    /// `[rows, src_len]`.
    pub(super) fn drop_weights(
        weights: &mut [f32],
        stride: usize,
        keys: usize,
        scales: &[f32],
        src_len: usize,
    ) {
        if keys == 0 {
            return;
        }
        for (weights, scales) in weights.chunks_exact_mut(stride).zip(scales.chunks_exact(src_len)) {
            for (weight, &scale) in weights[..keys].iter_mut().zip(scales) {
                *weight *= scale;
            }
        }
    }
}

vectorized! {
    /// `sums` += `terms`
    pub(super) fn add_row(sums: &mut [f32], terms: &[f32]) {
        for (sum, &term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
}

vectorized! {
    /// `row` = `scale` · `row`
    pub(super) fn scale_row(row: &mut [f32], scale: f32) {
        for x in row {
            *x *= scale;
        }
    }
}

vectorized! {
    /// Softmax gradient in place: turns the gradient `grad` of the weights into that of the unscaled scores.
    pub(crate) fn softmax_backward_row(weights: &[f32], grad: &mut [f32], scale: f32) {
        softmax_backward(weights, grad, scale);
    }
}

vectorized! {
    /// [`softmax_backward_row`] for rows of length `stride`, of which the first `keys` are gradients, and the rest becomes 0.
    pub(super) fn softmax_backward_rows(
        weights: &[f32],
        grad: &mut [f32],
        stride: usize,
        keys: usize,
        scale: f32,
    ) {
        for (weights, grad) in weights.chunks_exact(stride).zip(grad.chunks_exact_mut(stride)) {
            grad[keys..].fill(0.0);
            softmax_backward(weights, grad, scale);
        }
    }
}

#[inline(always)]
fn softmax_backward(weights: &[f32], grad: &mut [f32], scale: f32) {
    let mean = sum_of_two(weights, grad, |weight, grad| weight * grad);
    for (grad, &weight) in grad.iter_mut().zip(weights) {
        *grad = weight * (*grad - mean) * scale;
    }
}
