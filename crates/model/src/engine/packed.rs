//! Weights as decoding reads them.

use std::sync::Arc;

use attentive_architecture::{self as architecture, RelativePositions};
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
        attention: &architecture::AttentionSpec,
        causality: Causality,
        max_len: usize,
        table: Option<Arc<Vec<f32>>>,
    ) -> Relative {
        let rotary = |frequencies| Arc::new(RotaryTable::new(frequencies, max_len));
        Relative {
            rotary: attention.frequencies().map(rotary),
            bias: table.and_then(|table| bias(attention, causality, max_len, &table)).map(Arc::new),
        }
    }
}

fn bias(
    attention: &architecture::AttentionSpec,
    causality: Causality,
    max_len: usize,
    table: &[f32],
) -> Option<DistanceBiasValues> {
    let RelativePositions::Buckets { n_buckets, max_distance } = attention.positions else {
        return None;
    };
    let n_heads = attention.n_heads;
    let bucket = match causality {
        Causality::Causal => architecture::earlier_bucket,
        Causality::Full => architecture::bucket,
    };
    let of = |head, query, key| table[bucket(n_buckets, max_distance, query, key) * n_heads + head];
    Some(DistanceBiasValues::new(n_heads, max_len, of))
}
