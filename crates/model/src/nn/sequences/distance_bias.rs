//! Relative positions as a bias of the scores (Raffel et al. 2020, section 2.1).

use attentive_architecture::{AttentionSpec, RelativePositions, bucket, earlier_bucket};
use attentive_tape::{Causality, Param, Value, transposed_rows};

use super::Pass;

/// A learned bias for each head and bucket of distances between a query and a key.
#[derive(Clone, Debug)]
pub struct DistanceBias {
    /// `[n_buckets, n_heads]`
    pub table: Param,
    max_distance: usize,
    causality: Causality,
}

impl DistanceBias {
    /// The biases of `attention` with this `table`, if it has relative position buckets.
    pub fn new(attention: &AttentionSpec, causality: Causality, table: Param) -> Option<Self> {
        let RelativePositions::Buckets { max_distance, .. } = attention.positions else {
            return None;
        };
        Some(Self { table, max_distance, causality })
    }

    /// The biases between the positions of sequences of `len`, `[n_heads, len · len]`.
    pub fn forward(&self, len: usize, pass: &Pass<'_>) -> Value {
        let pairs = (0..len).flat_map(|query| (0..len).map(move |key| (query, key)));
        self.of_pairs(pairs, pass)
    }

    /// The biases of keys that are less than `distances` before the query, `[n_heads, distances]`.
    pub(crate) fn by_distance(&self, distances: usize, pass: &Pass<'_>) -> Value {
        self.of_pairs((0..distances).map(|distance| (distance, 0)), pass)
    }

    fn of_pairs(&self, pairs: impl Iterator<Item = (usize, usize)>, pass: &Pass<'_>) -> Value {
        let table = pass.read(&self.table);
        let [n_buckets, _] = table.shape();
        let buckets = pairs.map(|(query, key)| self.bucket(query, key, n_buckets));
        transposed_rows(table, buckets.collect())
    }

    fn bucket(&self, query: usize, key: usize, n_buckets: usize) -> usize {
        match self.causality {
            Causality::Full => bucket(n_buckets, self.max_distance, query, key),
            Causality::Causal => earlier_bucket(n_buckets, self.max_distance, query, key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bias(causality: Causality) -> DistanceBias {
        let table: Vec<f32> = (0..64).map(|i| i as f32).collect();
        DistanceBias { table: Param::new("table", vec![32, 2], table), max_distance: 128, causality }
    }

    /// Distances key − query and their buckets in T5: 32 buckets up to 128.
    #[test]
    fn buckets_equal_those_of_t5() {
        let both = bias(Causality::Full);
        let cases = [
            (0, 0),
            (-1, 1),
            (-7, 7),
            (-8, 8),
            (-15, 9),
            (-127, 15),
            (-500, 15),
            (1, 17),
            (7, 23),
            (8, 24),
            (500, 31),
        ];
        for (distance, bucket) in cases {
            let key = (600 + distance) as usize;
            assert_eq!(both.bucket(600, key, 32), bucket, "{distance}");
        }
        let causal = bias(Causality::Causal);
        for (distance, bucket) in
            [(0, 0), (-1, 1), (-15, 15), (-16, 16), (-31, 21), (-127, 31), (-500, 31), (3, 0)]
        {
            let key = (600 + distance) as usize;
            assert_eq!(causal.bucket(600, key, 32), bucket, "{distance}");
        }
    }
}
