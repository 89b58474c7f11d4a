//! Multi-head attention.

use std::sync::Arc;

use attentive_kernels::attention::{Causality, scale_of};
use attentive_kernels::rotary::frequencies;

use super::RotaryScaling;

/// Multi-head attention (*Attention Is All You Need*, section 3.2.2), with grouped keys and values if
/// `n_kv_heads` is below `n_heads` (Ainslie et al. 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionSpec {
    /// Number of query heads.
    pub n_heads: usize,
    /// Number of key and value heads; divides `n_heads`.
    pub n_kv_heads: usize,
    /// Width of a head.
    pub d_head: usize,
    /// True if the query, key and value maps have a bias.
    pub bias: bool,
    /// True if the output map has a bias.
    pub output_bias: bool,
    /// Factor of the scores; `None` for 1/√d_head.
    pub scale: Option<f64>,
    /// Dropout on the attention weights.
    pub dropout: f64,
    /// Relative positions.
    pub positions: RelativePositions,
}

/// Relative positions in the scores of self-attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RelativePositions {
    /// No relative positions.
    None,
    /// Rotary positions (Su et al. 2021): queries and keys are rotated by an angle proportional to their
    /// position.
    Rotary {
        /// Base of the wavelengths; 10,000 in the paper.
        base: f64,
        /// A change of the frequencies.
        scaling: RotaryScaling,
    },
    /// A learned bias for each head and bucket of distances (Raffel et al. 2020, section 2.1). All layers of
    /// a stack share one table.
    Buckets {
        n_buckets: usize,
        /// Distances from here on share the last bucket.
        max_distance: usize,
    },
}

impl AttentionSpec {
    /// Returns the factor of the scores.
    pub fn scale(&self) -> f32 {
        match self.scale {
            Some(scale) => scale as f32,
            None => scale_of(self.d_head),
        }
    }

    /// Returns the frequencies of rotary positions, one for each pair of features of a head, in radians per
    /// position.
    pub fn frequencies(&self) -> Option<Arc<[f64]>> {
        let RelativePositions::Rotary { base, scaling } = self.positions else {
            return None;
        };
        let plain = frequencies(base, self.d_head);
        Some(plain.iter().map(|&one| scaling.scaled(one)).collect())
    }

    /// Returns the width of the queries of all heads together.
    pub fn d_query(&self) -> usize {
        self.n_heads * self.d_head
    }

    /// Returns the width of the keys of all heads together, which is also the width of the values.
    pub fn d_key(&self) -> usize {
        self.n_kv_heads * self.d_head
    }
}

impl RelativePositions {
    /// Returns the bucket of the distance between the positions `query` and `key` (Raffel et al. 2020,
    /// section 2.1), if there are buckets. Causal attention has buckets for earlier keys only; otherwise half
    /// of them are for later keys. Half of the buckets of a direction hold one distance each, the other half
    /// logarithmically growing ranges up to `max_distance`.
    pub fn bucket(self, causality: Causality, query: usize, key: usize) -> Option<usize> {
        let Self::Buckets { n_buckets, max_distance } = self else {
            return None;
        };
        Some(match causality {
            Causality::Causal => bucket_of(n_buckets, max_distance, query.saturating_sub(key)),
            Causality::Full => {
                let each = n_buckets / 2;
                let first = if key > query { each } else { 0 };
                first + bucket_of(each, max_distance, query.abs_diff(key))
            }
        })
    }
}

fn bucket_of(n_buckets: usize, max_distance: usize, distance: usize) -> usize {
    let exact = n_buckets / 2;
    if distance < exact {
        return distance;
    }
    // In f32, like the published models of this kind.
    let growth = (distance as f32 / exact as f32).ln() / (max_distance as f32 / exact as f32).ln()
        * (n_buckets - exact) as f32;
    (exact + growth as usize).min(n_buckets - 1)
}
