//! Relative positions as a bias of the scores (Raffel et al. 2020, section 2.1).

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor, TensorData};

use super::Scope;
use crate::architecture::{Attention, RelativePositions, bucket, earlier_bucket};
use crate::ops::{Causality, ScoreBias, Starts};

/// A learned bias for each head and bucket of distances between a query and a key.
#[derive(Module, Debug)]
pub struct DistanceBias {
    /// `[n_buckets, n_heads]`
    pub table: Param<Tensor<2>>,
    #[module(skip)]
    max_distance: usize,
    #[module(skip)]
    causality: Causality,
}

impl DistanceBias {
    /// The biases of `attention`, if it has relative position buckets.
    pub fn new(attention: &Attention, causality: Causality, scope: Scope<'_>) -> Option<Self> {
        let RelativePositions::Buckets { max_distance, .. } = attention.positions else {
            return None;
        };
        Some(Self {
            table: scope.parameter("table"),
            max_distance,
            causality,
        })
    }

    /// The biases between `tgt_len` queries of each row, which start at `starts`, and `src_len` keys from position 0 on.
    pub fn forward(&self, starts: &Starts, tgt_len: usize, src_len: usize) -> ScoreBias {
        let table = self.table.val();
        let [_, n_heads] = table.dims();
        let firsts = match starts {
            Starts::All(first) => std::slice::from_ref(first),
            Starts::Each(firsts) => firsts,
        };
        let rows = firsts.len();
        let biases = table
            .select(0, self.buckets(firsts, tgt_len, src_len))
            .reshape([rows, tgt_len * src_len, n_heads])
            .swap_dims(1, 2);
        match starts {
            Starts::All(_) => ScoreBias::Shared(biases.reshape([n_heads, tgt_len, src_len])),
            Starts::Each(_) => ScoreBias::Each(biases.reshape([rows, n_heads, tgt_len, src_len])),
        }
    }

    /// The bucket of every pair of query and key in every row.
    fn buckets(&self, firsts: &[usize], tgt_len: usize, src_len: usize) -> Tensor<1, Int> {
        let table = self.table.val();
        let [n_buckets, _] = table.dims();
        let queries = firsts.iter().flat_map(|first| *first..first + tgt_len);
        let buckets: Vec<i64> = queries
            .flat_map(|query| (0..src_len).map(move |key| (query, key)))
            .map(|(query, key)| self.bucket(query, key, n_buckets) as i64)
            .collect();
        let data = TensorData::new(buckets, [firsts.len() * tgt_len * src_len]);
        Tensor::from_data(data, &table.device())
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
    use burn::tensor::Device;

    use super::*;

    fn bias(causality: Causality) -> DistanceBias {
        let table: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let table = TensorData::new(table, [32, 2]);
        DistanceBias {
            table: Param::from_data(table, &Device::flex()),
            max_distance: 128,
            causality,
        }
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
        for (distance, bucket) in [
            (0, 0),
            (-1, 1),
            (-15, 15),
            (-16, 16),
            (-31, 21),
            (-127, 31),
            (-500, 31),
            (3, 0),
        ] {
            let key = (600 + distance) as usize;
            assert_eq!(causal.bucket(600, key, 32), bucket, "{distance}");
        }
    }

    #[test]
    fn a_decoding_step_has_its_row_of_the_full_bias() {
        let causal = bias(Causality::Causal);
        let ScoreBias::Shared(whole) = causal.forward(&Starts::All(0), 6, 6) else {
            panic!("rows with the same start share their biases");
        };
        let starts = Starts::Each([4, 2].into());
        let ScoreBias::Each(steps) = causal.forward(&starts, 1, 6) else {
            panic!("rows at different positions have separate biases");
        };
        for (row, position) in [(0, 4), (1, 2)] {
            let expected = whole.clone().narrow(1, position, 1);
            let found = steps.clone().narrow(0, row, 1).squeeze_dim::<3>(0);
            assert_eq!(found.into_data(), expected.into_data());
        }
    }
}
