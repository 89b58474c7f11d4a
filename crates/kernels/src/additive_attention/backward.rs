//! Gradients of additive attention; the scores are recomputed.

use super::{AdditiveAttentionInputs, AdditiveAttentionShape, AttentionRow, bounded_sums};
use crate::area::assert_shape;
use crate::attention::softmax_backward_row;
use crate::gemm::View;
use crate::linear::add_column_sums;
use crate::parallel::for_each;
use crate::scratch::{with_scratch, with_scratches};
use crate::simd::sum_of_two;
use crate::tile::TileMut;

/// The gradients of additive attention, with the shapes of the operands. Those of keys and values are zero at
/// padding.
#[derive(Debug)]
pub struct AdditiveAttentionGradients<T> {
    pub queries: T,
    pub keys: T,
    pub values: T,
    pub v: T,
}

impl<T> AdditiveAttentionGradients<T> {
    /// Applies `f` to each gradient.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> AdditiveAttentionGradients<U> {
        AdditiveAttentionGradients {
            queries: f(self.queries),
            keys: f(self.keys),
            values: f(self.values),
            v: f(self.v),
        }
    }
}

/// The gradients of [`super::additive_attention_of_each`], whose weights were `weights`, given `grad`
/// `[rows, d_value]`.
///
/// # Panics
/// If a slice does not fit.
pub fn additive_attention_backward(
    shape: AdditiveAttentionShape,
    inputs: AdditiveAttentionInputs<'_, &[f32]>,
    weights: &[f32],
    grad: &[f32],
    gradients: AdditiveAttentionGradients<&mut [f32]>,
) {
    let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
    let AdditiveAttentionGradients { queries, keys, values, v } = gradients;
    assert_shape("queries", inputs.queries, [rows, d_key]);
    inputs.check_sentences(shape);
    assert_shape("weights", weights, [rows, src_len]);
    assert_shape("grad", grad, [rows, d_value]);
    assert_shape("dqueries", queries, [rows, d_key]);
    assert_shape("dkeys", keys, [rows, src_len, d_key]);
    assert_shape("dvalues", values, [rows, src_len, d_value]);
    assert_shape("dv", v, [d_key]);
    keys.fill(0.0);
    with_scratch(rows * d_key, |shares| {
        shares.fill(0.0);
        let widths = [d_key, src_len * d_key, src_len * d_value, d_key];
        let matrix = |data, number: usize| TileMut::new(data, rows, widths[number], widths[number]);
        let tiles = [matrix(queries, 0), matrix(keys, 1), matrix(values, 2), matrix(&mut *shares, 3)];
        for_each(rows, shape.is_large(), |row| {
            let part = |number: usize| {
                // SAFETY: each task has its own row of each matrix.
                unsafe { tiles[number].part(row, 0, 1, widths[number]) }
            };
            let mut parts = [0, 1, 2, 3].map(part);
            let [dquery, dkeys, dvalues, share] = parts.each_mut().map(|part| part.row_mut(0));
            let weights = &weights[row * src_len..][..src_len];
            let grad = &grad[row * d_value..][..d_value];
            inputs.row(shape, row, row).query_backward(weights, grad, dquery, dkeys, share);
            for (dvalue, &weight) in dvalues.chunks_exact_mut(d_value.max(1)).zip(weights) {
                dvalue.iter_mut().zip(grad).for_each(|(dvalue, grad)| *dvalue = weight * grad);
            }
        });
        v.fill(0.0);
        add_column_sums(View::rows(shares, d_key), rows, v);
    });
}

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
