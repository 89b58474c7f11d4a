//! Attention, step by step.

use attentive_kernels::cached_attention::Heads;

use super::matrix::{TraceMatrix, dot, softmax};
use super::operation::TracedValues;
use super::tracer::Tracer;

/// Queries, keys and values, `[rows, heads · d_head]`, and what changes scores before the softmax.
pub(super) struct AttentionOperands<'a> {
    pub(super) queries: &'a TraceMatrix,
    pub(super) keys: &'a TraceMatrix,
    pub(super) values: &'a TraceMatrix,
    pub(super) heads: Heads,
    /// Added to the scores, `[n_heads, queries · keys]`.
    pub(super) bias: Option<Vec<f32>>,
    pub(super) is_causal: bool,
}

/// Returns the scores X·Xᵀ, their softmax row by row, and softmax(X·Xᵀ)·X: self-attention without weights,
/// in which each position is replaced by an average of those that are like it.
///
/// # Shapes
/// - `x`: `[rows, d]`
/// - result: `[rows, rows]`, `[rows, rows]`, `[rows, d]`
pub fn unweighted_self_attention(x: &TraceMatrix) -> [TraceMatrix; 3] {
    let scores = x.times(x.values(), None);
    let weights = scores.softmax_rows();
    let contexts = weights.times(&transposed(x), None);
    [scores, weights, contexts]
}

fn transposed(x: &TraceMatrix) -> Vec<f32> {
    let columns = 0..x.columns_count();
    columns.flat_map(|column| (0..x.rows()).map(move |row| x.row(row)[column])).collect()
}

impl Tracer {
    /// Records softmax(X·Xᵀ)·X of `x`.
    pub(super) fn unweighted(&mut self, x: &TraceMatrix) {
        let [scores, weights, contexts] = unweighted_self_attention(x);
        let name = |part: &str| format!("{x}.unweighted.{part}");
        let no_part = "not computed by the model";
        self.record(&name("scores"), &format!("X·Xᵀ, X {x}; {no_part}"), scores);
        self.record(&name("weights"), &format!("softmax of each row of the scores; {no_part}"), weights);
        self.record(&name("contexts"), &format!("weights·X, X {x}; {no_part}"), contexts);
    }

    /// Scaled dot-product attention; returns the contexts of all heads side by side.
    pub(super) fn attend(&mut self, place: &str, operands: &AttentionOperands<'_>) -> TraceMatrix {
        let AttentionOperands { queries, keys, values, heads, .. } = operands;
        let Heads { n_heads, n_kv_heads, d_head, scale } = *heads;
        let (n, m) = (queries.rows(), keys.rows());
        let shape = [n_heads, n, m];
        let part = |row: &[f32], head: usize| row[head * d_head..][..d_head].to_vec();
        let kv_head = |head: usize| head * n_kv_heads / n_heads;
        let mut scores = Vec::with_capacity(n_heads * n * m);
        for head in 0..n_heads {
            for query in 0..n {
                let q = part(queries.row(query), head);
                let score =
                    |key: usize| (dot(&q, &part(keys.row(key), kv_head(head))) * f64::from(scale)) as f32;
                scores.extend((0..m).map(score));
            }
        }
        let is_usual = (scale * (d_head as f32).sqrt() - 1.0).abs() < 1e-6;
        let factor = if is_usual { format!("/ √{d_head}") } else { format!("· {scale:.4}") };
        let shared =
            if n_kv_heads == n_heads { String::new() } else { format!(", {n_kv_heads} of keys and values") };
        let columns = match n_heads {
            1 => String::new(),
            _ => format!("{n_heads} heads{shared}, the first of which has columns 0:{d_head}; "),
        };
        let formula = format!(
            "Q·Kᵀ {factor} of each head, Q {queries}, K {keys}; {columns}a row for each query, a column for \
             each key"
        );
        self.record_heads(&format!("{place}.scores"), &formula, shape, scores.clone());
        if let Some(bias) = &operands.bias {
            let formula = "the learned bias of each distance between a query and a key";
            self.record_heads(&format!("{place}.bias"), formula, shape, bias.clone());
            scores.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
        }
        let sees = |query: usize, key: usize| !operands.is_causal || key <= query;
        if operands.is_causal {
            let mask = (0..n * m).map(|i| f32::from(u8::from(sees(i / m, i % m)))).collect();
            let formula = "1 where a position (row) may look: at itself and at those before; 0 at those behind, \
                           which are what it has to predict";
            self.record(&format!("{place}.mask"), formula, TraceMatrix::new("", [n, m], mask));
        }
        let weights: Vec<f32> = scores
            .chunks(m.max(1))
            .enumerate()
            .flat_map(|(row, scores)| {
                let seen = if operands.is_causal { row % n + 1 } else { m };
                let mut weights = softmax(&scores[..seen]);
                weights.resize(m, 0.0);
                weights
            })
            .collect();
        let masked = if operands.is_causal { " where the mask is 1, 0 elsewhere" } else { "" };
        let biased = if operands.bias.is_some() { " + bias" } else { "" };
        let formula = format!("softmax of each row of scores{biased}{masked}: rows sum to 1");
        self.record_heads(&format!("{place}.weights"), &formula, shape, weights.clone());
        let mut contexts = vec![0.0; n * n_heads * d_head];
        for head in 0..n_heads {
            for query in 0..n {
                let weights = &weights[(head * n + query) * m..][..m];
                for column in 0..d_head {
                    let value = |key: usize| f64::from(values.row(key)[kv_head(head) * d_head + column]);
                    let sum: f64 = (0..m).map(|key| f64::from(weights[key]) * value(key)).sum();
                    contexts[(query * n_heads + head) * d_head + column] = sum as f32;
                }
            }
        }
        let formula = format!("weights·V of each head, side by side, V {values}");
        self.record(
            &format!("{place}.contexts"),
            &formula,
            TraceMatrix::new("", [n, n_heads * d_head], contexts),
        )
    }

    /// The contexts of additive attention: e_ij = vᵀ tanh(q_i + k_j).
    pub(super) fn attend_additively(
        &mut self,
        place: &str,
        queries: &TraceMatrix,
        keys: &TraceMatrix,
        v: (&str, &[f32]),
    ) -> TraceMatrix {
        let score = |query: usize, key: usize| {
            let sums = queries.row(query).iter().zip(keys.row(key)).zip(v.1);
            sums.map(|((q, k), v)| f64::from(*v) * f64::from(q + k).tanh()).sum::<f64>() as f32
        };
        let (n, m) = (queries.rows(), keys.rows());
        let scores = (0..n * m).map(|i| score(i / m, i % m)).collect();
        let formula = format!("vᵀ tanh(q + k), q {queries}, k {keys}, v {}", v.0);
        let scores = self.record(&format!("{place}.scores"), &formula, TraceMatrix::new("", [n, m], scores));
        self.average(place, &scores)
    }

    /// The contexts of scores of the memory's rows.
    pub(super) fn average(&mut self, place: &str, scores: &TraceMatrix) -> TraceMatrix {
        let memory = self.memory();
        let weights = scores.softmax_rows();
        let weights = self.record(&format!("{place}.weights"), "softmax of each row of scores", weights);
        let context = weights.times(&transposed(&memory), None);
        self.record(&format!("{place}.contexts"), &format!("weights·H, H {memory}"), context)
    }

    fn record_heads(&mut self, name: &str, formula: &str, shape: [usize; 3], values: Vec<f32>) {
        self.push(name, formula, || TracedValues { shape: shape.into(), values });
    }
}
