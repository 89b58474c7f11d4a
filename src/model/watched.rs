//! The cross-attention of the last decoding step.

use burn::tensor::Tensor;

/// Which row of the weights of a step belongs to which row of the state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// All rows of a source are queries of one sequence, in the order in which sources appear.
    BySource,
    /// Each row is a sequence.
    ByRow,
}

/// The cross-attention of the last decoding step of each row, and the sources of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// The source of each row, counted from 0 in the order of admission.
    sources: Vec<usize>,
    /// The number of positions of each source.
    src_lens: Vec<usize>,
    weights: Vec<Vec<f32>>,
}

impl Watched {
    /// Adds a row for each of the sources with these lengths.
    pub(super) fn admit(&mut self, src_lens: &[usize]) {
        let first = self.src_lens.len();
        self.sources.extend(first..first + src_lens.len());
        self.src_lens.extend(src_lens);
    }

    /// Replaces row `i` by the previous row `rows[i]`.
    pub(super) fn select(&mut self, rows: &[usize]) {
        self.sources = rows.iter().map(|&row| self.sources[row]).collect();
        self.weights.clear();
    }

    /// Keeps the weights of a step, `[sequences, n_heads, queries, src_len]`, as the mean over heads.
    pub(super) fn record(&mut self, weights: Tensor<4>, layout: Layout) {
        let mean: Tensor<3> = weights.mean_dim(1).squeeze_dim(1);
        let [_, queries, width] = mean.dims();
        let data = mean.into_data().convert::<f32>();
        let all: Vec<f32> = data.try_into_vec().expect("weights were made f32");
        let places = match layout {
            Layout::ByRow => (0..self.sources.len()).collect(),
            Layout::BySource => self.places(queries),
        };
        let of_row = |(place, &source): (usize, &usize)| {
            all[place * width..][..self.src_lens[source]].to_vec()
        };
        self.weights = places.into_iter().zip(&self.sources).map(of_row).collect();
    }

    /// The place of each row among `queries` places of each source.
    fn places(&self, queries: usize) -> Vec<usize> {
        let mut seen: Vec<(usize, usize)> = Vec::new();
        let place = |source: &usize| {
            let known = seen.iter().position(|(other, _)| other == source);
            let group = known.unwrap_or_else(|| {
                seen.push((*source, 0));
                seen.len() - 1
            });
            seen[group].1 += 1;
            group * queries + seen[group].1 - 1
        };
        self.sources.iter().map(place).collect()
    }

    /// The weights of each row over the positions of its source.
    pub(super) fn weights(&self) -> Vec<Vec<f32>> {
        self.weights.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_source_stand_together() {
        let mut watched = Watched::default();
        watched.admit(&[2, 3, 1]);
        watched.select(&[2, 0, 2, 2]);
        watched.admit(&[4]);
        assert_eq!(watched.sources, [2, 0, 2, 2, 3]);
        assert_eq!(watched.places(3), [0, 3, 1, 2, 6]);
    }
}
