//! Additive attention with one query per sentence (Bahdanau et al. 2015, appendix A.1.2).

use crate::additive_attention::AdditiveAttentionShape;

/// Operands of attention.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceAdditiveAttention<'a> {
    /// Dimensions.
    pub shape: AdditiveAttentionShape,
    /// `[rows, d_key]`
    pub queries: &'a [f64],
    /// `[rows * src_len, d_key]`
    pub keys: &'a [f64],
    /// `[rows * src_len, d_value]`
    pub values: &'a [f64],
    /// Number of real keys of each sentence.
    pub lens: Option<&'a [usize]>,
    /// `[d_key]`
    pub v: &'a [f64],
}

impl ReferenceAdditiveAttention<'_> {
    /// All pairs of a query and a key visible to it.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let AdditiveAttentionShape { rows, src_len, .. } = self.shape;
        (0..rows * src_len)
            .filter(move |&key| (self.lens).is_none_or(|lens| key % src_len < lens[key / src_len]))
            .map(move |key| (key / src_len, key))
    }

    /// vᵀ tanh(q + k)
    fn score(&self, row: usize, key: usize) -> f64 {
        let d = self.shape.d_key;
        let (q, k) = (&self.queries[row * d..], &self.keys[key * d..]);
        (0..d).map(|c| self.v[c] * (q[c] + k[c]).tanh()).sum()
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

    /// The contexts, `[rows, d_value]`.
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

    /// The gradients of queries, keys, values and v given those of the contexts.
    pub fn backward(&self, grad_contexts: &[f64]) -> [Vec<f64>; 4] {
        let AdditiveAttentionShape { rows, src_len, d_key, d_value } = self.shape;
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
            for (c, dv) in dv.iter_mut().enumerate() {
                let (at_q, at_k) = (row * d_key + c, key * d_key + c);
                let y = (self.queries[at_q] + self.keys[at_k]).tanh();
                let dsum = dscore * self.v[c] * (1.0 - y * y);
                *dv += dscore * y;
                dqueries[at_q] += dsum;
                dkeys[at_k] = dsum;
            }
        }
        [dqueries, dkeys, dvalues, dv]
    }
}
