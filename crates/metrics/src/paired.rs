//! Results of paired tests.

use serde::Serialize;

use super::interval::{Estimate, Interval};

/// Differences with a smaller p-value are called significant.
pub const SIGNIFICANCE_LEVEL: f64 = 0.05;

/// A system compared with a baseline on the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// The score of the baseline.
    pub baseline: Estimate,
    /// The score of the system.
    pub system: Estimate,
    /// The difference of the two scores.
    pub difference: Difference,
}

/// The score of a system minus the score of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The difference on the corpus itself.
    pub value: f64,
    /// The differences on resampled corpora.
    pub interval: Interval,
    /// Roughly the probability of a difference at least this large if the systems were equally good; the test
    /// that computes it defines exactly what it counts.
    pub p_value: f64,
}

impl Difference {
    /// Returns true if the p-value is below [`SIGNIFICANCE_LEVEL`].
    pub fn is_significant(&self) -> bool {
        self.p_value < SIGNIFICANCE_LEVEL
    }
}

/// The share of `sizes` that exceed `center` by more than `observed`, where one more is counted, so that it
/// is never 0 (as in sacreBLEU); 1 if nothing differs.
pub(super) fn p_value(sizes: &[f64], center: f64, observed: f64) -> f64 {
    if observed == 0.0 && sizes.iter().all(|&size| size == 0.0) {
        return 1.0;
    }
    let larger = sizes.iter().filter(|&&size| size - center > observed);
    (larger.count() + 1) as f64 / (sizes.len() + 1) as f64
}
