//! Relative positions as a bias of the scores (Raffel et al. 2020, section 2.1).

use attentive_architecture::{AttentionSpec, RelativePositions};
use attentive_tape::{Causality, Param, Value, transposed_rows};

use super::Pass;

/// A learned bias for each head and bucket of distances between a query and a key.
#[derive(Clone, Debug)]
pub struct DistanceBias {
    /// `[n_buckets, n_heads]`
    pub table: Param,
    positions: RelativePositions,
    causality: Causality,
}

impl DistanceBias {
    /// The biases of `attention` with this `table` of its buckets of distances, if it has any.
    pub fn new(attention: &AttentionSpec, causality: Causality, table: Option<Param>) -> Option<Self> {
        table.map(|table| Self { table, positions: attention.positions, causality })
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
        let buckets = pairs.map(|(query, key)| self.bucket(query, key));
        transposed_rows(table, buckets.collect())
    }

    fn bucket(&self, query: usize, key: usize) -> usize {
        let bucket = self.positions.bucket(self.causality, query, key);
        bucket.expect("a table of buckets is that of positions with buckets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bias(causality: Causality) -> DistanceBias {
        let table: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let positions = RelativePositions::Buckets { n_buckets: 32, max_distance: 128 };
        DistanceBias { table: Param::new("table", vec![32, 2], table), positions, causality }
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
            assert_eq!(both.bucket(600, key), bucket, "{distance}");
        }
        let causal = bias(Causality::Causal);
        for (distance, bucket) in
            [(0, 0), (-1, 1), (-15, 15), (-16, 16), (-31, 21), (-127, 31), (-500, 31), (3, 0)]
        {
            let key = (600 + distance) as usize;
            assert_eq!(causal.bucket(600, key), bucket, "{distance}");
        }
    }
}
