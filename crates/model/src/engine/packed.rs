//! Weights as decoding reads them.

use std::sync::Arc;

use attentive_architecture::AttentionSpec;
use attentive_kernels::attention::Causality;
use attentive_kernels::cached_attention::DistanceBiasValues;
use attentive_kernels::rotary::RotaryTable;

use super::matrix::Matrix;
use crate::nn::Storage;

/// Weights that are packed for products.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed;

/// The relative positions of a stack's self-attention.
#[derive(Clone, Debug, Default)]
pub(super) struct Relative {
    pub(super) rotary: Option<Arc<RotaryTable>>,
    pub(super) bias: Option<Arc<DistanceBiasValues>>,
}

impl Storage for Packed {
    type Matrix = Arc<Matrix>;
    type Vector = Arc<Vec<f32>>;
    type Relative = Relative;

    fn relative(
        attention: &AttentionSpec,
        causality: Causality,
        max_len: usize,
        table: Option<Arc<Vec<f32>>>,
    ) -> Relative {
        let rotary = |frequencies| Arc::new(RotaryTable::new(frequencies, max_len));
        Relative {
            rotary: attention.frequencies().map(rotary),
            bias: table.map(|table| Arc::new(bias(attention, causality, max_len, &table))),
        }
    }
}

/// The biases of all heads and pairs of positions, with the `table` of buckets `[n_buckets, n_heads]`.
fn bias(
    attention: &AttentionSpec,
    causality: Causality,
    max_len: usize,
    table: &[f32],
) -> DistanceBiasValues {
    let (n_heads, positions) = (attention.n_heads, attention.positions);
    let bucket = |query, key| {
        let bucket = positions.bucket(causality, query, key);
        bucket.expect("a table of buckets is that of positions with buckets")
    };
    DistanceBiasValues::new(n_heads, max_len, |head, query, key| table[bucket(query, key) * n_heads + head])
}
