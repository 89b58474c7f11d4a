//! Gradients of additive attention; the scores are recomputed.

use super::{AttentionRow, bounded_sums};
use crate::attention::softmax_backward_row;
use crate::scratch::with_scratches;
use crate::simd::sum_of_two;

impl AttentionRow<'_> {
    /// Returns the gradient of the query given the gradient `grad` of the context, and adds the gradients of
    /// the keys to `dkeys` `[src_len, d_key]` and that of v to `dv` `[d_key]`, skipping padding.
    pub(crate) fn query_backward(
        self,
        weights: &[f32],
        grad: &[f32],
        dquery: &mut [f32],
        dkeys: &mut [f32],
        dv: &mut [f32],
    ) {
        with_scratches([weights.len(), dquery.len()], |[dscores, room]| {
            weights_backward(self, grad, dscores);
            softmax_backward_row(weights, dscores, 1.0);
            scores_backward(self, dscores, dquery, dkeys, dv, room);
        });
    }
}

vectorized! {
    /// The gradients of the weights; zero at padding.
    fn weights_backward(row: AttentionRow<'_>, grad: &[f32], dweights: &mut [f32]) {
        let d = grad.len();
        let (seen, padding) = dweights.split_at_mut(row.n_keys);
        for (j, dweight) in seen.iter_mut().enumerate() {
            *dweight = sum_of_two(grad, &row.values[j * d..][..d], |grad, value| grad * value);
        }
        padding.fill(0.0);
    }
}

vectorized! {
    /// Computes the gradient of the query and adds those of keys and v. `room` is scratch for `d_key`
    /// elements.
    fn scores_backward(
        row: AttentionRow<'_>,
        dscores: &[f32],
        dquery: &mut [f32],
        dkeys: &mut [f32],
        dv: &mut [f32],
        room: &mut [f32],
    ) {
        let d = dquery.len();
        dquery.fill(0.0);
        for (j, &dscore) in dscores[..row.n_keys].iter().enumerate() {
            bounded_sums(row.query, row.key(j), room);
            add_scaled(dscore, room, dv);
            for (y, &v) in room.iter_mut().zip(row.v) {
                *y = dscore * v * (1.0 - *y * *y);
            }
            add_scaled(1.0, room, &mut dkeys[j * d..][..d]);
            add_scaled(1.0, room, dquery);
        }
    }
}

/// `sums` += `factor` · `terms`
#[inline(always)]
fn add_scaled(factor: f32, terms: &[f32], sums: &mut [f32]) {
    for (sum, &term) in sums.iter_mut().zip(terms) {
        *sum += factor * term;
    }
}
