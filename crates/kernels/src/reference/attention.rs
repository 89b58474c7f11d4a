//! Reference implementation of [`crate::attention`].

use super::dropout_scale;
use crate::attention::{AttentionShape, Causality};
use crate::dropout::DropoutCall;

/// Operands of attention, as in [`crate::attention::AttentionInputs`].
#[derive(Clone, Copy, Debug)]
pub struct ReferenceAttention<'a> {
    /// Dimensions.
    pub shape: AttentionShape,
    /// Queries.
    pub q: &'a [f64],
    /// Keys.
    pub k: &'a [f64],
    pub v: &'a [f64],
    /// Number of real keys of each sentence.
    pub lens: Option<&'a [usize]>,
    /// Which keys a query may attend to.
    pub causality: Causality,
    /// Factor of the dot products.
    pub scale: f64,
    /// Bias added to the scaled scores, `[n_heads, tgt_len, src_len]`.
    pub bias: Option<&'a [f64]>,
    /// Dropout on the attention weights.
    pub dropout: Option<DropoutCall>,
}

impl ReferenceAttention<'_> {
    fn q_at(&self, b: usize, i: usize, h: usize, c: usize) -> usize {
        let s = &self.shape;
        ((b * s.tgt_len + i) * s.n_heads + h) * s.d_head + c
    }

    fn k_at(&self, b: usize, j: usize, h: usize, c: usize) -> usize {
        let s = &self.shape;
        let kv_head = h / (s.n_heads / s.n_kv_heads);
        ((b * s.src_len + j) * s.n_kv_heads + kv_head) * s.d_head + c
    }

    fn bias_at(&self, h: usize, i: usize, j: usize) -> usize {
        (h * self.shape.tgt_len + i) * self.shape.src_len + j
    }

    fn sees(&self, b: usize, i: usize, j: usize) -> bool {
        let s = &self.shape;
        let padding = self.lens.is_some_and(|lens| j >= lens[b]);
        !padding && (self.causality == Causality::Full || j + s.tgt_len <= i + s.src_len)
    }

    /// The softmax weights of one query, before dropout.
    fn weights(&self, b: usize, h: usize, i: usize) -> Vec<f64> {
        let s = &self.shape;
        let exps: Vec<f64> = (0..s.src_len)
            .map(|j| {
                let product =
                    (0..s.d_head).map(|c| self.q[self.q_at(b, i, h, c)] * self.k[self.k_at(b, j, h, c)]);
                let bias = self.bias.map_or(0.0, |bias| bias[self.bias_at(h, i, j)]);
                let score = self.scale * product.sum::<f64>() + bias;
                if self.sees(b, i, j) { score.exp() } else { 0.0 }
            })
            .collect();
        let sum: f64 = exps.iter().sum();
        exps.iter().map(|exp| if sum == 0.0 { 0.0 } else { exp / sum }).collect()
    }

    /// The dropout factor of the weight (b, h, i, j).
    fn scale(&self, b: usize, h: usize, i: usize, j: usize) -> f64 {
        let s = &self.shape;
        let element = ((b * s.n_heads + h) * s.tgt_len + i) * s.src_len + j;
        self.dropout.map_or(1.0, |dropout| dropout_scale(dropout, element))
    }

    /// All (sentence, head, query).
    fn queries(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let AttentionShape { batch, n_heads, tgt_len, .. } = self.shape;
        (0..batch * n_heads * tgt_len)
            .map(move |t| (t / tgt_len / n_heads, t / tgt_len % n_heads, t % tgt_len))
    }

    /// [`crate::attention::attention`].
    pub fn forward(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.q.len()];
        for (b, h, i) in self.queries() {
            for (j, weight) in self.weights(b, h, i).into_iter().enumerate() {
                for c in 0..self.shape.d_head {
                    out[self.q_at(b, i, h, c)] +=
                        weight * self.scale(b, h, i, j) * self.v[self.k_at(b, j, h, c)];
                }
            }
        }
        out
    }

    /// [`crate::attention::attention_backward`]: the gradients of queries, keys, values and bias.
    pub fn backward(&self, grad_out: &[f64]) -> [Vec<f64>; 4] {
        let mut dq = vec![0.0; self.q.len()];
        let (mut dk, mut dv) = (vec![0.0; self.k.len()], vec![0.0; self.v.len()]);
        let mut dbias = vec![0.0; self.bias.map_or(0, <[f64]>::len)];
        let AttentionShape { src_len, d_head, .. } = self.shape;
        for (b, h, i) in self.queries() {
            let weights = self.weights(b, h, i);
            let dweights: Vec<f64> = (0..src_len)
                .map(|j| {
                    let product =
                        (0..d_head).map(|c| grad_out[self.q_at(b, i, h, c)] * self.v[self.k_at(b, j, h, c)]);
                    product.sum::<f64>() * self.scale(b, h, i, j)
                })
                .collect();
            let mean: f64 = weights.iter().zip(&dweights).map(|(w, d)| w * d).sum();
            for j in 0..src_len {
                let dscaled = weights[j] * (dweights[j] - mean);
                if self.bias.is_some() {
                    dbias[self.bias_at(h, i, j)] += dscaled;
                }
                let dscore = dscaled * self.scale;
                for c in 0..d_head {
                    let (at_q, at_k) = (self.q_at(b, i, h, c), self.k_at(b, j, h, c));
                    dq[at_q] += dscore * self.k[at_k];
                    dk[at_k] += dscore * self.q[at_q];
                    dv[at_k] += weights[j] * self.scale(b, h, i, j) * grad_out[at_q];
                }
            }
        }
        [dq, dk, dv, dbias]
    }
}
