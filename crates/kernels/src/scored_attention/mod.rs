//! Attention of one query for each sentence, as recurrent decoders use it: a score for each key, their softmax, and the
//! values' mean with those weights.
//!
//! Keys and values at padding are never read.

mod backward;

pub use backward::{ScoredAttentionGradients, scored_attention_backward};

use crate::attention::softmax_row;
use crate::parallel::{for_each, is_large};
use crate::scratch::with_scratch;
use crate::simd::{sum_of_two, tanh};
use crate::tile::TileMut;

/// How well a query q and a key k fit together.
#[derive(Clone, Copy, Debug)]
pub enum Score<'a> {
    /// vᵀ tanh(q + k) (Bahdanau et al. 2015, appendix A.1.2), where q = W s and k = U h were projected before.
    Additive {
        /// `[d_key]`
        v: &'a [f32],
    },
    /// qᵀ k (Luong et al. 2015, equation 8). Their "general" score is a linear map of the query before it.
    Dot,
}

/// The shape of a call.
#[derive(Clone, Copy, Debug)]
pub struct ScoredAttentionShape {
    /// Queries, and sentences to attend to.
    pub rows: usize,
    /// Keys of a sentence.
    pub src_len: usize,
    /// Columns of queries and keys.
    pub d_key: usize,
    /// Columns of values.
    pub d_value: usize,
}

impl ScoredAttentionShape {
    /// Whether several threads are worth while.
    pub(crate) fn is_large(&self) -> bool {
        is_large(self.rows * self.src_len * (self.d_key + self.d_value))
    }
}

/// What attention reads.
#[derive(Clone, Copy, Debug)]
pub struct ScoredAttentionInputs<'a> {
    /// `[rows, d_key]`
    pub queries: &'a [f32],
    /// `[rows * src_len, d_key]`
    pub keys: &'a [f32],
    /// `[rows * src_len, d_value]`
    pub values: &'a [f32],
    /// `[rows * src_len]`: keys that are not 0 here are ignored.
    pub pad: Option<&'a [u8]>,
    /// How well a query and a key fit together.
    pub score: Score<'a>,
}

impl<'a> ScoredAttentionInputs<'a> {
    fn check(&self, shape: ScoredAttentionShape) {
        let queries = shape.rows * shape.d_key;
        assert_eq!(self.queries.len(), queries, "`queries` of {shape:?}");
        self.check_sentences(shape);
    }

    /// Checks everything but the queries.
    pub(crate) fn check_sentences(&self, shape: ScoredAttentionShape) {
        let ScoredAttentionShape {
            rows,
            src_len,
            d_key,
            d_value,
        } = shape;
        let keys = rows * src_len;
        assert_eq!(self.keys.len(), keys * d_key, "`keys` of {shape:?}");
        assert_eq!(self.values.len(), keys * d_value, "`values` of {shape:?}");
        if let Some(pad) = self.pad {
            assert_eq!(pad.len(), keys, "`pad` of {shape:?}");
        }
        if let Score::Additive { v } = self.score {
            assert_eq!(v.len(), d_key, "`v` of {shape:?}");
        }
    }

    /// A query and the sentence that it attends to.
    pub(crate) fn row(self, shape: ScoredAttentionShape, query: usize, sentence: usize) -> Row<'a> {
        let ScoredAttentionShape {
            src_len,
            d_key,
            d_value,
            ..
        } = shape;
        let first = sentence * src_len;
        Row {
            query: &self.queries[query * d_key..][..d_key],
            keys: &self.keys[first * d_key..][..src_len * d_key],
            values: &self.values[first * d_value..][..src_len * d_value],
            pad: self.pad.map(|pad| &pad[first..][..src_len]),
            score: self.score,
        }
    }
}

/// One query and its sentence.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// `[d_key]`
    query: &'a [f32],
    /// `[src_len, d_key]`
    keys: &'a [f32],
    /// `[src_len, d_value]`
    values: &'a [f32],
    /// `[src_len]`
    pad: Option<&'a [u8]>,
    score: Score<'a>,
}

impl Row<'_> {
    /// The `weights` `[src_len]` and the `context` `[d_value]`.
    pub(crate) fn attend(self, weights: &mut [f32], context: &mut [f32]) {
        with_scratch(self.query.len(), |room| scores(self, room, weights));
        softmax_row(weights, weights.len(), self.pad, 1.0);
        weighted_mean(self, weights, context);
    }

    /// Whether key `j` is there.
    #[inline(always)]
    fn sees(&self, j: usize) -> bool {
        self.pad.is_none_or(|pad| pad[j] == 0)
    }

    /// Key `j`.
    #[inline(always)]
    fn key(&self, j: usize) -> &[f32] {
        &self.keys[j * self.query.len()..][..self.query.len()]
    }
}

/// `contexts` `[rows, d_value]` and the `weights` `[rows, src_len]` that they are means with; both are zeros for a query
/// that sees no key.
///
/// # Panics
/// If a slice does not fit the shape.
pub fn scored_attention(
    shape: ScoredAttentionShape,
    inputs: ScoredAttentionInputs<'_>,
    weights: &mut [f32],
    contexts: &mut [f32],
) {
    inputs.check(shape);
    let ScoredAttentionShape {
        rows,
        src_len,
        d_value,
        ..
    } = shape;
    assert_eq!(weights.len(), rows * src_len, "`weights` of {shape:?}");
    assert_eq!(contexts.len(), rows * d_value, "`contexts` of {shape:?}");
    let weights = TileMut::new(weights, rows, src_len, src_len);
    let contexts = TileMut::new(contexts, rows, d_value, d_value);
    for_each(rows, shape.is_large(), |row| {
        // SAFETY: each task has a row of its own, and this call borrows both matrices mutably.
        let (mut weights, mut context) = unsafe {
            (
                weights.part(row, 0, 1, src_len),
                contexts.part(row, 0, 1, d_value),
            )
        };
        let (weights, context) = (weights.row_mut(0), context.row_mut(0));
        inputs.row(shape, row, row).attend(weights, context);
    });
}

vectorised! {
    /// The scores of the keys that are seen; those of others become 0. `room` is for `d_key` numbers.
    fn scores(row: Row<'_>, room: &mut [f32], scores: &mut [f32]) {
        for (j, score) in scores.iter_mut().enumerate() {
            *score = match row.score {
                _ if !row.sees(j) => 0.0,
                Score::Additive { v } => {
                    bounded_sums(row.query, row.key(j), room);
                    sum_of_two(v, room, |v, y| v * y)
                }
                Score::Dot => sum_of_two(row.query, row.key(j), |q, k| q * k),
            };
        }
    }
}

/// tanh(q + k)
#[inline(always)]
fn bounded_sums(q: &[f32], k: &[f32], out: &mut [f32]) {
    for ((out, &q), &k) in out.iter_mut().zip(q).zip(k) {
        *out = tanh(q + k);
    }
}

vectorised! {
    /// Σ w v over the keys that are seen.
    fn weighted_mean(row: Row<'_>, weights: &[f32], context: &mut [f32]) {
        let d = context.len();
        context.fill(0.0);
        for (j, &weight) in weights.iter().enumerate() {
            if row.sees(j) {
                for (sum, &value) in context.iter_mut().zip(&row.values[j * d..][..d]) {
                    *sum += weight * value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
