//! The loss of attention that is to follow given alignments.

use std::sync::Arc;

use attentive_base::batch::AlignedPositions;
use attentive_kernels::attention::AttentionShape;
use attentive_kernels::threads::Threads;

use crate::op::{Context, Mode, OpOutput, OperandInfo, TapeOp, apply};
use crate::{Buffer, Lengths, Value};

/// Keeps the logarithm of a weight of 0 finite.
const EPSILON: f64 = 1e-6;

/// What attention is to follow.
#[derive(Clone, Debug)]
pub struct AttentionGuide {
    /// The number of the head, counted from 0.
    pub head: usize,
    /// What each query is to attend to.
    pub aligned: Arc<[AlignedPositions]>,
    /// The factor of the loss.
    pub strength: f32,
}

/// `strength` · −Σ share · log(weight + 1e-6) over the aligned positions, where the weights are those of one
/// head of [`super::attention`] without dropout, `[1, 1]` (Chen et al. 2016, *Guided Alignment Training for
/// Topic-Aware Neural Machine Translation*, equation 4). It is computed by the CPU.
///
/// # Shapes
/// - `queries`: `[batch · tgt_len, n_heads · d_head]`
/// - `keys_values`: concatenated keys and values, `[batch · src_len, 2 · n_kv_heads · d_head]`
/// - `lengths`: lengths of the keys, `batch` rows of width `src_len`
///
/// # Panics
/// If a position is outside of its sequence.
pub fn guided_attention(
    shape: AttentionShape,
    [queries, keys_values]: [Value; 2],
    lengths: Option<&Lengths>,
    scale: f32,
    guide: &AttentionGuide,
) -> Value {
    let op =
        GuidedAttention { shape, lengths: lengths.cloned(), scale: f64::from(scale), guide: guide.clone() };
    apply(op, GuidedOperands { queries, keys_values }, [1, 1])
}

operands! {
    struct GuidedOperands {
        queries: One,
        keys_values: One,
    }
}

struct GuidedAttention {
    shape: AttentionShape,
    lengths: Option<Lengths>,
    scale: f64,
    guide: AttentionGuide,
}

impl GuidedAttention {
    /// The aligned positions of each query, which are neighbors.
    fn queries(&self) -> Vec<&[AlignedPositions]> {
        self.guide.aligned.chunk_by(|a, b| (a.row, a.tgt) == (b.row, b.tgt)).collect()
    }

    /// The query and the keys of aligned positions, as ranges of elements.
    fn places(&self, one: AlignedPositions) -> ([usize; 2], Vec<[usize; 2]>) {
        let AttentionShape { n_heads, n_kv_heads, tgt_len, src_len, d_head, .. } = self.shape;
        let (row, head) = (one.row as usize, self.guide.head);
        let query = (row * tgt_len + one.tgt as usize) * n_heads * d_head + head * d_head;
        let first = head * n_kv_heads / n_heads * d_head;
        let n_keys = self.lengths.as_ref().map_or(src_len, |lengths| lengths.lens()[row]);
        let key = |key: usize| (row * src_len + key) * 2 * n_kv_heads * d_head + first;
        let keys = (0..n_keys).map(|number| [key(number), key(number) + d_head]);
        ([query, query + d_head], keys.collect())
    }

    /// The weights of the keys of a query.
    fn weights(&self, query: &[f32], keys: &[[usize; 2]], values: &[f32]) -> Vec<f64> {
        let score = |&[start, end]: &[usize; 2]| {
            let products = query.iter().zip(&values[start..end]).map(|(&q, &k)| f64::from(q) * f64::from(k));
            self.scale * products.sum::<f64>()
        };
        let scores: Vec<f64> = keys.iter().map(score).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / sum).collect()
    }
}

impl TapeOp for GuidedAttention {
    const NAME: &'static str = "guided attention";
    type Operands = GuidedOperands<()>;
    type Saved = ();
    type Side = ();

    fn keeps(&self, operands: GuidedOperands<OperandInfo>) -> GuidedOperands<bool> {
        operands.map(|_| true)
    }

    fn forward(&self, inputs: GuidedOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let (queries, keys_values) = (inputs.queries.values(), inputs.keys_values.values());
        let loss = |aligned: &[AlignedPositions]| -> f64 {
            let ([start, end], keys) = self.places(aligned[0]);
            let weights = self.weights(&queries[start..end], &keys, &keys_values);
            let losses = aligned.iter();
            losses.map(|one| -f64::from(one.share) * (weights[one.src as usize] + EPSILON).ln()).sum()
        };
        let losses = Threads::current().map(self.queries(), loss);
        let sum: f64 = losses.into_iter().sum();
        let mut out = Buffer::take(1);
        out.edit(|out| out[0] = (f64::from(self.guide.strength) * sum) as f32);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> GuidedOperands<Option<Buffer>> {
        let (queries, keys_values) = (context.inputs.queries.values(), context.inputs.keys_values.values());
        let factor = f64::from(context.grad.values()[0]) * f64::from(self.guide.strength);
        // The gradient of each score: p·Σw − w with w = share·p/(p + ε).
        let gradient = |aligned: &[AlignedPositions]| {
            let ([start, end], keys) = self.places(aligned[0]);
            let weights = self.weights(&queries[start..end], &keys, &keys_values);
            let mut of_scores = vec![0.0; keys.len()];
            let mut total = 0.0;
            for one in aligned {
                let weight = weights[one.src as usize];
                let part = f64::from(one.share) * weight / (weight + EPSILON);
                of_scores[one.src as usize] -= part;
                total += part;
            }
            for (score, weight) in of_scores.iter_mut().zip(weights) {
                *score = factor * self.scale * (*score + weight * total);
            }
            ([start, end], keys, of_scores)
        };
        let gradients = Threads::current().map(self.queries(), gradient);
        let mut d_queries = vec![0.0; queries.len()];
        let mut d_keys_values = vec![0.0; keys_values.len()];
        for ([start, end], keys, of_scores) in gradients {
            for ([key_start, key_end], of_score) in keys.into_iter().zip(of_scores) {
                let (query, key) = (&queries[start..end], &keys_values[key_start..key_end]);
                add_scaled(&mut d_queries[start..end], key, of_score);
                add_scaled(&mut d_keys_values[key_start..key_end], query, of_score);
            }
        }
        GuidedOperands { queries: Some(d_queries.into()), keys_values: Some(d_keys_values.into()) }
    }
}

fn add_scaled(to: &mut [f32], values: &[f32], factor: f64) {
    for (to, &value) in to.iter_mut().zip(values) {
        *to += (factor * f64::from(value)) as f32;
    }
}
