//! The twin of [`crate::scored_attention`].

use crate::scored_attention::ScoredAttentionShape;

/// What attention reads, as [`crate::scored_attention::ScoredAttentionInputs`].
#[derive(Clone, Copy, Debug)]
pub struct ScoredAttention<'a> {
    /// The shape.
    pub shape: ScoredAttentionShape,
    /// Queries.
    pub queries: &'a [f64],
    /// Keys.
    pub keys: &'a [f64],
    /// Values.
    pub values: &'a [f64],
    /// Keys to ignore.
    pub pad: Option<&'a [u8]>,
    /// The weight of [`crate::scored_attention::Score::Additive`]; without it the score is
    /// [`crate::scored_attention::Score::Dot`].
    pub v: Option<&'a [f64]>,
}

impl ScoredAttention<'_> {
    /// The pairs of a query and a key that it sees.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let ScoredAttentionShape { rows, src_len, .. } = self.shape;
        (0..rows * src_len)
            .filter(|&key| self.pad.is_none_or(|pad| pad[key] == 0))
            .map(move |key| (key / src_len, key))
    }

    fn score(&self, row: usize, key: usize) -> f64 {
        let d = self.shape.d_key;
        let (q, k) = (&self.queries[row * d..], &self.keys[key * d..]);
        (0..d)
            .map(|c| match self.v {
                Some(v) => v[c] * (q[c] + k[c]).tanh(),
                None => q[c] * k[c],
            })
            .sum()
    }

    /// The weights, `[rows, src_len]`.
    pub fn weights(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.shape.rows * self.shape.src_len];
        let mut sums = vec![0.0; self.shape.rows];
        for (row, key) in self.pairs() {
            weights[key] = self.score(row, key).exp();
            sums[row] += weights[key];
        }
        for (row, key) in self.pairs() {
            weights[key] /= sums[row];
        }
        weights
    }

    /// [`crate::scored_attention::scored_attention`]: the contexts.
    pub fn forward(&self) -> Vec<f64> {
        let d = self.shape.d_value;
        let mut contexts = vec![0.0; self.shape.rows * d];
        let weights = self.weights();
        for (row, key) in self.pairs() {
            for c in 0..d {
                contexts[row * d + c] += weights[key] * self.values[key * d + c];
            }
        }
        contexts
    }

    /// [`crate::scored_attention::scored_attention_backward`]: the gradients of queries, keys, values and v.
    pub fn backward(&self, grad_contexts: &[f64]) -> [Vec<f64>; 4] {
        let ScoredAttentionShape {
            rows,
            src_len,
            d_key,
            d_value,
        } = self.shape;
        let mut dqueries = vec![0.0; rows * d_key];
        let (mut dkeys, mut dv) = (vec![0.0; rows * src_len * d_key], vec![0.0; d_key]);
        let mut dvalues = vec![0.0; rows * src_len * d_value];
        let (weights, mut dweights) = (self.weights(), vec![0.0; rows * src_len]);
        let mut means = vec![0.0; rows];
        for (row, key) in self.pairs() {
            for c in 0..d_value {
                let grad = grad_contexts[row * d_value + c];
                dvalues[key * d_value + c] = weights[key] * grad;
                dweights[key] += grad * self.values[key * d_value + c];
            }
            means[row] += weights[key] * dweights[key];
        }
        for (row, key) in self.pairs() {
            let dscore = weights[key] * (dweights[key] - means[row]);
            for c in 0..d_key {
                let (at_q, at_k) = (row * d_key + c, key * d_key + c);
                let (q, k) = (self.queries[at_q], self.keys[at_k]);
                let (dq, dk) = match self.v {
                    Some(v) => {
                        let y = (q + k).tanh();
                        dv[c] += dscore * y;
                        let dsum = dscore * v[c] * (1.0 - y * y);
                        (dsum, dsum)
                    }
                    None => (dscore * k, dscore * q),
                };
                dqueries[at_q] += dq;
                dkeys[at_k] = dk;
            }
        }
        [dqueries, dkeys, dvalues, dv]
    }
}
