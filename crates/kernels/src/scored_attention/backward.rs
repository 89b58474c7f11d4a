//! The gradients of scored attention; additive scores are computed again.

use super::{Row, Score, ScoredAttentionInputs, ScoredAttentionShape, bounded_sums};
use crate::attention::softmax_backward_row;
use crate::gemm::View;
use crate::linear::add_column_sums;
use crate::parallel::for_each;
use crate::scratch::{with_scratch, with_scratches};
use crate::simd::sum_of_two;
use crate::tile::TileMut;

/// Where gradients go.
#[derive(Debug)]
pub struct ScoredAttentionGradients<'a> {
    /// `[rows, d_key]`
    pub queries: &'a mut [f32],
    /// `[rows * src_len, d_key]`, zeros at padding.
    pub keys: &'a mut [f32],
    /// `[rows * src_len, d_value]`, zeros at padding.
    pub values: &'a mut [f32],
    /// `[d_key]`, for [`Score::Additive`] only; not computed if it is `None`.
    pub v: Option<&'a mut [f32]>,
}

/// The gradients of [`super::scored_attention`], which gave `weights`, from `grad_contexts` `[rows, d_value]`.
///
/// # Panics
/// If a slice does not fit the shape, or [`Score::Dot`] is given a `v`.
pub fn scored_attention_backward(
    shape: ScoredAttentionShape,
    inputs: ScoredAttentionInputs<'_>,
    weights: &[f32],
    grad_contexts: &[f32],
    gradients: ScoredAttentionGradients<'_>,
) {
    inputs.check(shape);
    let ScoredAttentionShape {
        rows,
        src_len,
        d_key,
        d_value,
    } = shape;
    assert_eq!(weights.len(), rows * src_len, "`weights` of {shape:?}");
    let elements = rows * d_value;
    assert_eq!(
        grad_contexts.len(),
        elements,
        "`grad_contexts` of {shape:?}"
    );
    gradients.check(shape, inputs);
    let queries = TileMut::new(gradients.queries, rows, d_key, d_key);
    let keys = TileMut::new(gradients.keys, rows, src_len * d_key, src_len * d_key);
    let values = TileMut::new(gradients.values, rows, src_len * d_value, src_len * d_value);
    // Each row's share of the gradient of v, so that their sum has one order.
    with_scratch(rows * d_key, |shares| {
        let shares_of = TileMut::new(shares, rows, d_key, d_key);
        for_each(rows, shape.is_large(), |row| {
            // SAFETY: each task has a row of its own, and this call borrows the matrices mutably.
            let mut parts = unsafe {
                [
                    queries.part(row, 0, 1, d_key),
                    keys.part(row, 0, 1, src_len * d_key),
                    values.part(row, 0, 1, src_len * d_value),
                    shares_of.part(row, 0, 1, d_key),
                ]
            };
            let [query, keys, values, share] = parts.each_mut().map(|part| part.row_mut(0));
            let weights = &weights[row * src_len..][..src_len];
            let grad = &grad_contexts[row * d_value..][..d_value];
            let row = inputs.row(shape, row, row);
            values_backward(row, weights, grad, values);
            keys.fill(0.0);
            share.fill(0.0);
            row.query_backward(weights, grad, query, keys, share);
        });
        if let Some(v) = gradients.v {
            v.fill(0.0);
            add_column_sums(View::rows(shares, d_key), rows, v);
        }
    });
}

impl ScoredAttentionGradients<'_> {
    fn check(&self, shape: ScoredAttentionShape, inputs: ScoredAttentionInputs<'_>) {
        let pairs = [
            ("dqueries", self.queries.len(), inputs.queries.len()),
            ("dkeys", self.keys.len(), inputs.keys.len()),
            ("dvalues", self.values.len(), inputs.values.len()),
        ];
        for (name, found, expected) in pairs {
            assert_eq!(found, expected, "`{name}` of {shape:?}");
        }
        if let Some(v) = self.v.as_deref() {
            assert!(
                matches!(inputs.score, Score::Additive { .. }),
                "a dot score has no `v`"
            );
            assert_eq!(v.len(), shape.d_key, "`dv` of {shape:?}");
        }
    }
}

impl Row<'_> {
    /// The gradient of the query from `grad` of the context; those of keys and v are added to `dkeys` `[src_len, d_key]`
    /// and `dv` `[d_key]`, but not at padding.
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

vectorised! {
    /// The gradients of the values; zeros at padding.
    fn values_backward(row: Row<'_>, weights: &[f32], grad: &[f32], dvalues: &mut [f32]) {
        let d = grad.len();
        for (j, &weight) in weights.iter().enumerate() {
            let dvalue = &mut dvalues[j * d..][..d];
            if !row.sees(j) {
                dvalue.fill(0.0);
                continue;
            }
            for (dvalue, &grad) in dvalue.iter_mut().zip(grad) {
                *dvalue = weight * grad;
            }
        }
    }
}

vectorised! {
    /// The gradients of the weights; zeros at padding.
    fn weights_backward(row: Row<'_>, grad: &[f32], dweights: &mut [f32]) {
        let d = grad.len();
        for (j, dweight) in dweights.iter_mut().enumerate() {
            *dweight = match row.sees(j) {
                true => sum_of_two(grad, &row.values[j * d..][..d], |grad, value| grad * value),
                false => 0.0,
            };
        }
    }
}

vectorised! {
    /// The gradient of the query; those of keys and v are added. `room` is for `d_key` numbers.
    fn scores_backward(
        row: Row<'_>,
        dscores: &[f32],
        dquery: &mut [f32],
        dkeys: &mut [f32],
        dv: &mut [f32],
        room: &mut [f32],
    ) {
        let d = dquery.len();
        dquery.fill(0.0);
        for (j, &dscore) in dscores.iter().enumerate() {
            if !row.sees(j) {
                continue;
            }
            let dkey = &mut dkeys[j * d..][..d];
            match row.score {
                Score::Additive { v } => {
                    bounded_sums(row.query, row.key(j), room);
                    add_scaled(dscore, room, dv);
                    for (y, &v) in room.iter_mut().zip(v) {
                        *y = dscore * v * (1.0 - *y * *y);
                    }
                    add_scaled(1.0, room, dkey);
                    add_scaled(1.0, room, dquery);
                }
                Score::Dot => {
                    add_scaled(dscore, row.key(j), dquery);
                    add_scaled(dscore, row.query, dkey);
                }
            }
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
