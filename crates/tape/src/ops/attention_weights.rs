//! Attention weights, for inspection. Attention itself never materializes them.

use std::borrow::Cow;

use attentive_kernels::attention::{AttentionShape, Causality};
use attentive_kernels::threads::Threads;

use super::{AdditiveMemory, AttentiveRecurrence, QkvSource, TapeScores};
use crate::{Lengths, Value};

/// The weight of each key for each query.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionWeights {
    /// `[batch, n_heads, tgt_len, src_len]`
    pub shape: [usize; 4],
    /// The weights, with the last dimension varying fastest. Those of a query sum to 1, with exact zeros at
    /// hidden keys; all are zero for a query without visible keys.
    pub values: Vec<f32>,
}

impl AttentionWeights {
    /// Returns the weights of these queries, and those of `behind` as the next of each sequence.
    ///
    /// # Panics
    /// If the shapes differ in more than the number of queries.
    pub fn followed_by(&self, behind: &Self) -> Self {
        let ([batch, n_heads, own, src_len], [.., more, _]) = (self.shape, behind.shape);
        assert_eq!([batch, n_heads, more, src_len], behind.shape, "queries of the same sequences");
        let mut values = Vec::with_capacity(self.values.len() + behind.values.len());
        for map in 0..batch * n_heads {
            for (weights, len) in [(self, own), (behind, more)] {
                values.extend_from_slice(&weights.values[map * len * src_len..][..len * src_len]);
            }
        }
        Self { shape: [batch, n_heads, own + more, src_len], values }
    }

    /// Returns the weights of the head number `head`, counted from 0, `[batch, 1, tgt_len, src_len]`.
    ///
    /// # Panics
    /// If there is no such head.
    pub fn of_head(&self, head: usize) -> Self {
        let [batch, n_heads, tgt_len, src_len] = self.shape;
        assert!(head < n_heads, "head {head} of {n_heads}");
        let size = tgt_len * src_len;
        let all = self.values.chunks_exact((n_heads * size).max(1));
        let values = all.flat_map(|heads| &heads[head * size..][..size]).copied().collect();
        Self { shape: [batch, 1, tgt_len, src_len], values }
    }

    /// Returns the average over the heads, `[batch, 1, tgt_len, src_len]`.
    pub fn mean_of_heads(&self) -> Self {
        let [batch, n_heads, tgt_len, src_len] = self.shape;
        let size = tgt_len * src_len;
        let mut values = Vec::with_capacity(batch * size);
        for heads in self.values.chunks_exact((n_heads * size).max(1)) {
            values.extend((0..size).map(|i| {
                let sum: f32 = heads.iter().skip(i).step_by(size).sum();
                sum / n_heads as f32
            }));
        }
        Self { shape: [batch, 1, tgt_len, src_len], values }
    }
}

/// The weights of [`super::attention`], zero where a query does not see a key:
/// `[batch, n_heads, tgt_len, src_len]`.
///
/// # Shapes
/// - `lengths`: lengths of the keys, `batch` rows of width `src_len`
pub fn attention_weights(
    shape: AttentionShape,
    attended: &QkvSource,
    lengths: Option<&Lengths>,
    scores: &TapeScores,
) -> AttentionWeights {
    let AttentionShape { batch, n_heads, n_kv_heads, tgt_len, src_len, d_head } = shape;
    let (queries, keys, first_key) = match attended {
        QkvSource::Itself(all) => (all, all, shape.query_width()),
        QkvSource::Other { queries, keys_values } => (queries, keys_values, 0),
    };
    let (queries, keys) = (Rows::of(queries), Rows::of(keys));
    let bias = scores.bias.as_ref().map(Value::values);
    let (scale, causality) = (f64::from(scores.scale), scores.causality);
    let mut values = vec![0.0; batch * n_heads * tgt_len * src_len];
    let rows = values.chunks_exact_mut(src_len.max(1)).enumerate();
    Threads::current().for_each(rows, |(number, weights)| {
        let (query, head) = (number % tgt_len, number / tgt_len % n_heads);
        let sequence = number / tgt_len / n_heads;
        let q = &queries.at(sequence * tgt_len + query)[head * d_head..][..d_head];
        let real = lengths.map_or(src_len, |lengths| lengths.lens()[sequence]);
        let visible = match causality {
            Causality::Full => real,
            Causality::Causal => real.min((query + src_len + 1).saturating_sub(tgt_len)),
        };
        let of_keys = first_key + head * n_kv_heads / n_heads * d_head;
        for (key, weight) in weights[..visible].iter_mut().enumerate() {
            let k = &keys.at(sequence * src_len + key)[of_keys..][..d_head];
            let bias = bias.as_ref().map_or(0.0, |bias| bias[(head * tgt_len + query) * src_len + key]);
            *weight = (dot(q, k) * scale) as f32 + bias;
        }
        softmax(&mut weights[..visible]);
    });
    AttentionWeights { shape: [batch, n_heads, tgt_len, src_len], values }
}

/// The weights of [`super::attentive_recurrent`], zero at padded keys: `[batch, 1, len, src_len]`.
///
/// # Shapes
/// - `before`: `[batch · len, d]`, the h before each position
pub fn attentive_recurrent_weights(recurrence: &AttentiveRecurrence, before: &Value) -> AttentionWeights {
    let AttentiveRecurrence { query, score, keys, src_lengths, .. } = recurrence;
    let [n_rows, d] = before.shape();
    let (before, query) = (Rows::of(before), query.values());
    let of_row = |number| query.chunks_exact(d).map(|row| dot(row, before.at(number))).collect();
    additive_weights(n_rows, of_row, keys, score, src_lengths)
}

/// The weights of [`super::additive_attention`] of several queries per sequence, zero at padded keys:
/// `[batch, 1, len, src_len]`.
///
/// # Shapes
/// - `queries`: `[batch · len, d_key]`
pub fn additive_attention_weights(queries: &Value, memory: &AdditiveMemory) -> AttentionWeights {
    let AdditiveMemory { keys, score, src_lengths, .. } = memory;
    let [n_rows, _] = queries.shape();
    let queries = Rows::of(queries);
    let of_row = |number| queries.at(number).iter().map(|&q| f64::from(q)).collect();
    additive_weights(n_rows, of_row, keys, score, src_lengths)
}

/// The weights of the queries `query(0)`, `query(1)`, … of all sequences.
fn additive_weights(
    n_rows: usize,
    query: impl Fn(usize) -> Vec<f64> + Sync,
    keys: &Value,
    score: &Value,
    src_lengths: &Lengths,
) -> AttentionWeights {
    let (keys, score) = (Rows::of(keys), score.values());
    let (batch, src_len) = (src_lengths.rows(), src_lengths.width());
    let len = n_rows / batch.max(1);
    let mut values = vec![0.0; n_rows * src_len];
    let rows = values.chunks_exact_mut(src_len.max(1)).enumerate();
    Threads::current().for_each(rows, |(number, weights)| {
        let q = query(number);
        let sequence = number / len;
        let real = src_lengths.lens()[sequence];
        for (key, weight) in weights[..real].iter_mut().enumerate() {
            let key = keys.at(sequence * src_len + key);
            let features = q.iter().zip(key).zip(&*score);
            let parts = features.map(|((q, &k), &v)| f64::from(v) * (q + f64::from(k)).tanh());
            *weight = parts.sum::<f64>() as f32;
        }
        softmax(&mut weights[..real]);
    });
    AttentionWeights { shape: [batch, 1, len, src_len], values }
}

/// The rows of a matrix.
struct Rows<'a> {
    values: Cow<'a, [f32]>,
    width: usize,
}

impl<'a> Rows<'a> {
    fn of(value: &'a Value) -> Self {
        Self { values: value.values(), width: value.shape()[1] }
    }

    fn at(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.width]
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
    products.sum()
}

/// Turns scores into weights that sum to 1.
fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exp = |score: f32| f64::from(score - largest).exp();
    let sum: f64 = scores.iter().map(|&score| exp(score)).sum();
    for score in scores {
        *score = (exp(*score) / sum) as f32;
    }
}
