//! What happens to a row of scores between the two products.

use crate::simd::{exp_and_sum, max_of, sum_of_two};

vectorised! {
    /// Turns scores into attention weights in place: the softmax of `scale` times the first `visible` scores whose key
    /// is not padding; all others become 0. Without such a key all do.
    pub(crate) fn softmax_row(row: &mut [f32], visible: usize, pad: Option<&[u8]>, scale: f32) {
        let (seen, hidden) = row.split_at_mut(visible);
        hidden.fill(f32::NEG_INFINITY);
        match pad {
            Some(pad) => {
                for (score, &pad) in seen.iter_mut().zip(pad) {
                    *score = if pad == 0 { *score * scale } else { f32::NEG_INFINITY };
                }
            }
            None => seen.iter_mut().for_each(|score| *score *= scale),
        }
        let max = max_of(row);
        if max == f32::NEG_INFINITY && row.iter().all(|score| *score == max) {
            return row.fill(0.0);
        }
        let inverse = 1.0 / exp_and_sum(row, max);
        for weight in row {
            *weight *= inverse;
        }
    }
}

vectorised! {
    /// Multiplies the first `keys` columns of `weights`, whose rows stand `stride` apart, by those of `scales`
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

vectorised! {
    /// The softmax's gradient in place: `grad` of the weights becomes that of the scores before they were scaled.
    pub(crate) fn softmax_backward_row(weights: &[f32], grad: &mut [f32], scale: f32) {
        let mean = sum_of_two(weights, grad, |weight, grad| weight * grad);
        for (grad, &weight) in grad.iter_mut().zip(weights) {
            *grad = weight * (*grad - mean) * scale;
        }
    }
}
