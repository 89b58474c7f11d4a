//! Additive attention with one query per sentence (Bahdanau et al. 2015, appendix A.1.2): the score of a key
//! k is vᵀ tanh(q + k), where q = W s and k = U h are projected beforehand, and the context is the average of
//! the values weighted by the softmax of the scores.
//!
//! Keys and values at padding are never read. [`mod@crate::attentive_recurrent`] calls this position by
//! position.

mod backward;
#[cfg(test)]
mod tests;

pub use backward::{AdditiveAttentionGradients, additive_attention_backward};

use attentive_base::lengths::Lengths;

use crate::area::assert_shape;
use crate::attention::softmax_row;
use crate::parallel::{for_each, is_large};
use crate::scratch::with_scratch;
use crate::simd::{sum_of_two, tanh};
use crate::tile::TileMut;

/// Dimensions of a call.
#[derive(Clone, Copy, Debug)]
pub struct AdditiveAttentionShape {
    /// Queries, one per sentence.
    pub rows: usize,
    /// Keys per sentence.
    pub src_len: usize,
    /// Columns of queries and keys.
    pub d_key: usize,
    /// Columns of values.
    pub d_value: usize,
}

impl AdditiveAttentionShape {
    /// Whether the work is worth splitting over threads.
    pub(crate) fn is_large(&self) -> bool {
        is_large(self.rows * self.src_len * (self.d_key + self.d_value))
    }
}

/// Operands of additive attention.
#[derive(Clone, Copy, Debug)]
pub struct AdditiveAttentionInputs<'a, T> {
    /// `[rows, d_key]`
    pub queries: T,
    /// `[rows * src_len, d_key]`
    pub keys: T,
    /// `[rows * src_len, d_value]`
    pub values: T,
    /// Keys per sentence; `None` if all are real.
    pub lengths: Option<&'a Lengths>,
    /// `[d_key]`
    pub v: T,
}

impl<'a, T> AdditiveAttentionInputs<'a, T> {
    /// Applies `f` to each operand.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> AdditiveAttentionInputs<'a, U> {
        AdditiveAttentionInputs {
            queries: f(self.queries),
            keys: f(self.keys),
            values: f(self.values),
            lengths: self.lengths,
            v: f(self.v),
        }
    }
}

impl<'a> AdditiveAttentionInputs<'a, &'a [f32]> {
    /// Checks everything except the queries.
    pub(crate) fn check_sentences(&self, shape: AdditiveAttentionShape) {
        let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
        assert_shape("keys", self.keys, [rows, src_len, d_key]);
        assert_shape("values", self.values, [rows, src_len, d_value]);
        if let Some(lengths) = self.lengths {
            let found = (lengths.rows(), lengths.width());
            assert_eq!(found, (rows, src_len), "`lengths` of {shape:?}");
        }
        assert_shape("v", self.v, [d_key]);
    }

    /// Returns query `row` with its sentence.
    pub(crate) fn row(
        self,
        shape: AdditiveAttentionShape,
        query: usize,
        sentence: usize,
    ) -> AttentionRow<'a> {
        let AdditiveAttentionShape { src_len, d_key, d_value, .. } = shape;
        let first = sentence * src_len;
        AttentionRow {
            query: &self.queries[query * d_key..][..d_key],
            keys: &self.keys[first * d_key..][..src_len * d_key],
            values: &self.values[first * d_value..][..src_len * d_value],
            n_keys: (self.lengths).map_or(src_len, |lengths| lengths.lens()[sentence]),
            v: self.v,
        }
    }
}

/// A query and its sentence.
#[derive(Clone, Copy)]
pub(crate) struct AttentionRow<'a> {
    /// `[d_key]`
    query: &'a [f32],
    /// `[src_len, d_key]`
    keys: &'a [f32],
    /// `[src_len, d_value]`
    values: &'a [f32],
    /// Keys that are not padding.
    n_keys: usize,
    /// `[d_key]`
    v: &'a [f32],
}

/// Computes the context `[d_value]` and the `weights` `[n_keys]` of one query; both are zero without keys.
///
/// # Panics
/// If a slice does not fit.
pub fn additive_attention(
    query: &[f32],
    keys: &[f32],
    values: &[f32],
    v: &[f32],
    weights: &mut [f32],
    context: &mut [f32],
) {
    let n_keys = weights.len();
    assert_shape("v", v, [query.len()]);
    assert_shape("keys", keys, [n_keys, query.len()]);
    assert_shape("values", values, [n_keys, context.len()]);
    let row = AttentionRow { query, keys, values, n_keys, v };
    row.attend(weights, context);
}

/// Computes the contexts `out` `[rows, d_value]` and the `weights` `[rows, src_len]` of one query per
/// sentence; both are zero without keys, and weights are zero at padding.
///
/// # Panics
/// If a slice does not fit.
pub fn additive_attention_of_each(
    shape: AdditiveAttentionShape,
    inputs: AdditiveAttentionInputs<'_, &[f32]>,
    out: &mut [f32],
    weights: &mut [f32],
) {
    let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
    assert_shape("queries", inputs.queries, [rows, d_key]);
    inputs.check_sentences(shape);
    assert_shape("out", out, [rows, d_value]);
    assert_shape("weights", weights, [rows, src_len]);
    let out = TileMut::new(out, rows, d_value, d_value);
    let weights = TileMut::new(weights, rows, src_len, src_len);
    for_each(rows, shape.is_large(), |row| {
        // SAFETY: each task has its own row.
        let mut parts = unsafe { [weights.part(row, 0, 1, src_len), out.part(row, 0, 1, d_value)] };
        let [weights, context] = parts.each_mut().map(|part| part.row_mut(0));
        inputs.row(shape, row, row).attend(weights, context);
    });
}

impl AttentionRow<'_> {
    /// Computes the `weights` `[src_len]` and the `context` `[d_value]`; both are zero for a query without
    /// visible keys.
    pub(crate) fn attend(self, weights: &mut [f32], context: &mut [f32]) {
        with_scratch(self.query.len(), |room| scores(self, room, weights));
        softmax_row(weights, self.n_keys, 1.0, None);
        weighted_mean(self, weights, context);
    }

    #[inline(always)]
    fn key(&self, j: usize) -> &[f32] {
        &self.keys[j * self.query.len()..][..self.query.len()]
    }
}

vectorized! {
    /// The scores of the visible keys, 0 elsewhere. `room` is scratch for `d_key` elements.
    fn scores(row: AttentionRow<'_>, room: &mut [f32], scores: &mut [f32]) {
        let (seen, padding) = scores.split_at_mut(row.n_keys);
        for (j, score) in seen.iter_mut().enumerate() {
            bounded_sums(row.query, row.key(j), room);
            *score = sum_of_two(row.v, room, |v, y| v * y);
        }
        padding.fill(0.0);
    }
}

/// tanh(q + k)
#[inline(always)]
fn bounded_sums(q: &[f32], k: &[f32], out: &mut [f32]) {
    for ((out, &q), &k) in out.iter_mut().zip(q).zip(k) {
        *out = tanh(q + k);
    }
}

vectorized! {
    /// Σ w v over the visible keys.
    fn weighted_mean(row: AttentionRow<'_>, weights: &[f32], context: &mut [f32]) {
        let d = context.len();
        context.fill(0.0);
        for (j, &weight) in weights[..row.n_keys].iter().enumerate() {
            for (sum, &value) in context.iter_mut().zip(&row.values[j * d..][..d]) {
                *sum += weight * value;
            }
        }
    }
}
