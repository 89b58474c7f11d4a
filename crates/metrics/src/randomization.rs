//! Approximate randomization, a test of whether two systems differ significantly (Riezler and Maxwell, 2005).

use std::num::NonZeroUsize;

use rayon::prelude::*;

use super::bootstrap::DEFAULT_SEED;
use super::numpy_random::NumpyRandom;
use super::paired::p_value;
use super::segments::{CorpusMetric, Segments, block};

/// The paired test of approximate randomization as in sacreBLEU: the same seed exchanges the same lines.
/// Results do not depend on the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Randomization {
    /// Number of trials. Each exchanges the two systems' outputs of randomly chosen lines.
    pub trials: NonZeroUsize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Randomization {
    /// 10,000 trials with [`DEFAULT_SEED`].
    fn default() -> Self {
        const TRIALS: NonZeroUsize = NonZeroUsize::new(10_000).expect("not 0");
        Self { trials: TRIALS, seed: DEFAULT_SEED }
    }
}

impl Randomization {
    /// Returns the two-sided p-value: the share of trials whose absolute difference exceeds the observed one.
    ///
    /// As in sacreBLEU, trials with an equal difference do not count, so the result is too small for systems
    /// that differ in very few lines. It is 1 if the systems never differ, for which sacreBLEU gives the
    /// smallest p-value.
    ///
    /// # Panics
    /// If the systems have different numbers of lines, or metrics with different options.
    pub fn p_value<M: CorpusMetric>(&self, baseline: &Segments<M>, system: &Segments<M>) -> f64 {
        baseline.assert_comparable(system);
        let observed = (system.value() - baseline.value()).abs();
        let differences = self.differences(baseline, system);
        p_value(&differences, 0.0, observed)
    }

    /// The absolute difference of the two exchanged outputs in every trial.
    fn differences<M: CorpusMetric>(&self, baseline: &Segments<M>, system: &Segments<M>) -> Vec<f64> {
        let (n_lines, trials) = (baseline.n_lines(), self.trials.get());
        if n_lines == 0 {
            return vec![0.0; trials];
        }
        let mut random = NumpyRandom::new(self.seed);
        let mut bits = random.bits();
        let mut differences = Vec::new();
        while differences.len() < trials {
            let n_trials = block(n_lines).min(trials - differences.len());
            let chosen: Vec<bool> = bits.by_ref().take(n_trials * n_lines).collect();
            differences.par_extend(chosen.par_chunks(n_lines).map(|chosen| {
                let [a, b] = baseline.values_of_exchange(system, chosen);
                (a - b).abs()
            }));
        }
        differences
    }
}
