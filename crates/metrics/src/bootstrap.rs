//! Bootstrap resampling: how much a score would vary on other test sets of the same kind (Koehn, 2004).

use std::num::NonZeroUsize;

use rayon::prelude::*;

use super::interval::{Estimate, Interval};
use super::numpy_random::NumpyRandom;
use super::paired::{Difference, Paired, p_value};
use super::segments::{CorpusMetric, Segments, block};

/// The seed of resampling by default, as in sacreBLEU.
pub const DEFAULT_SEED: u64 = 12345;

/// Bootstrap resampling as in sacreBLEU: the same seed draws the same corpora. Results do not depend on the
/// number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// Number of resampled corpora.
    pub resamples: NonZeroUsize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 1,000 resamples with [`DEFAULT_SEED`].
    fn default() -> Self {
        const RESAMPLES: NonZeroUsize = NonZeroUsize::new(1000).expect("not 0");
        Self { resamples: RESAMPLES, seed: DEFAULT_SEED }
    }
}

impl Bootstrap {
    /// Returns the score of a system with its interval.
    pub fn estimate<M: CorpusMetric>(&self, system: &Segments<M>) -> Estimate {
        let values = self.values([system]);
        estimate(system, values.into_iter().map(|[value]| value).collect())
    }

    /// Compares a system with a baseline on resamples of the same lines.
    ///
    /// The p-value is defined as in sacreBLEU: the share of resamples whose absolute difference exceeds its
    /// mean by more than the observed difference. It counts large differences in one direction only, so it is
    /// about half of the two-sided p-value of [`Randomization`](super::Randomization). It is 1 if the systems
    /// never differ, for which sacreBLEU gives the smallest p-value.
    ///
    /// # Panics
    /// If the systems have different numbers of lines, or metrics with different options.
    pub fn paired<M: CorpusMetric>(&self, baseline: &Segments<M>, system: &Segments<M>) -> Paired {
        baseline.assert_comparable(system);
        let values = self.values([baseline, system]);
        let of = |place: usize| values.iter().map(|pair| pair[place]).collect();
        let differences: Vec<f64> = values.iter().map(|[a, b]| b - a).collect();
        let (baseline, system) = (estimate(baseline, of(0)), estimate(system, of(1)));
        let observed = system.value - baseline.value;
        let sizes: Vec<f64> = differences.iter().map(|size| size.abs()).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        Paired {
            baseline,
            system,
            difference: Difference {
                value: observed,
                interval: Interval::of(differences),
                p_value: p_value(&sizes, mean, observed.abs()),
            },
        }
    }

    /// The scores of all `systems` on every resampled corpus.
    fn values<M: CorpusMetric, const N: usize>(&self, systems: [&Segments<M>; N]) -> Vec<[f64; N]> {
        let (n_lines, resamples) = (systems[0].n_lines(), self.resamples.get());
        if n_lines == 0 {
            return vec![systems.map(Segments::value); resamples];
        }
        let mut random = NumpyRandom::new(self.seed);
        let mut values = Vec::new();
        while values.len() < resamples {
            let n_corpora = block(n_lines).min(resamples - values.len());
            let lines: Vec<u32> = (0..n_corpora * n_lines).map(|_| random.below(n_lines as u32)).collect();
            values.par_extend(
                lines.par_chunks(n_lines).map(|lines| systems.map(|system| system.value_of(lines))),
            );
        }
        values
    }
}

fn estimate<M: CorpusMetric>(system: &Segments<M>, values: Vec<f64>) -> Estimate {
    Estimate { value: system.value(), interval: Interval::of(values) }
}
