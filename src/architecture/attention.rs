//! Multi-head attention.

use super::Start;
use super::layout::Layout;

/// Multi-head attention (*Attention Is All You Need*, section 3.2.2), with grouped keys and values if `n_kv_heads` is
/// below `n_heads` (Ainslie et al. 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Heads of queries.
    pub n_heads: usize,
    /// Heads of keys and values; divides `n_heads`.
    pub n_kv_heads: usize,
    /// Width of a head.
    pub d_head: usize,
    /// Whether the query, key, value and output maps have a bias.
    pub bias: bool,
    /// Multiplies the scores; `None` for 1/√d_head.
    pub scale: Option<f64>,
    /// Dropout on the attention weights.
    pub dropout: f64,
    /// How positions enter the scores.
    pub positions: RelativePositions,
}

/// How positions enter the scores of self-attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RelativePositions {
    /// Not at all.
    None,
    /// Queries and keys turn with their position (Su et al. 2021); `base` is 10 000 in the paper.
    Rotary {
        /// Sets the wavelengths.
        base: f64,
    },
    /// A learned bias for each head and bucket of distances (Raffel et al. 2020, section 2.1). The first layer's table serves
    /// all layers of its stack.
    Buckets {
        /// Buckets of distances.
        n_buckets: usize,
        /// Larger distances share the last bucket.
        max_distance: usize,
    },
}

impl Attention {
    /// 1/√d_head, or the scale that is set.
    pub fn scale(&self) -> f32 {
        match self.scale {
            Some(scale) => scale as f32,
            None => 1.0 / (self.d_head as f32).sqrt(),
        }
    }

    /// Columns of the queries.
    pub fn d_query(&self) -> usize {
        self.n_heads * self.d_head
    }

    /// Columns of the keys, and of the values.
    pub fn d_key(&self) -> usize {
        self.n_kv_heads * self.d_head
    }

    /// From `d_model` features, and keys and values from `d_memory`.
    pub(super) fn lay_out(
        &self,
        name: &str,
        [d_model, d_memory]: [usize; 2],
        n_sublayers: usize,
        layout: &mut Layout,
    ) {
        layout.at(name, |layout| {
            layout.linear("query", d_model, self.d_query(), self.bias);
            layout.linear("key", d_memory, self.d_key(), self.bias);
            layout.linear("value", d_memory, self.d_key(), self.bias);
            layout.residual_linear("output", self.d_query(), d_model, self.bias, n_sublayers);
        });
    }

    /// The table of [`RelativePositions::Buckets`].
    pub(super) fn lay_out_buckets(&self, layout: &mut Layout) {
        if let RelativePositions::Buckets { n_buckets, .. } = self.positions {
            let shape = [n_buckets, self.n_heads];
            layout.at("distance_bias", |layout| {
                layout.add("table", shape, Start::Embedding)
            });
        }
    }
}
