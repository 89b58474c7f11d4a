//! Intervals of scores in resampled corpora.

use std::fmt;

use serde::Serialize;

/// The mean of resampled values, and the interval that contains 95 % of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    /// The lower end: a fortieth of the values is smaller.
    pub lower: f64,
    /// The upper end: a fortieth of the values is larger.
    pub upper: f64,
}

impl Interval {
    /// The interval of `values`.
    ///
    /// # Panics
    /// If there are no values.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "an interval requires values");
        values.sort_unstable_by(f64::total_cmp);
        let outside = values.len() / 40;
        Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            lower: values[outside],
            upper: values[values.len() - 1 - outside],
        }
    }

    /// Half of the distance between the ends.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.upper - self.lower)
    }
}

/// Formats the interval like sacreBLEU: `μ = 33.79 ± 0.61`. Numbers have two decimals unless the format
/// specifies a precision.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        let half_width = self.half_width();
        write!(f, "μ = {:.decimals$} ± {half_width:.decimals$}", self.mean)
    }
}

/// A score with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The score of the corpus itself.
    pub value: f64,
    /// The scores of resampled corpora.
    pub interval: Interval,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fortieth_lies_outside_on_each_side() {
        let interval = Interval::of((0..1000).rev().map(f64::from).collect());
        assert_eq!((interval.lower, interval.mean, interval.upper), (25.0, 499.5, 974.0));
        assert_eq!(format!("{interval:.1}"), "μ = 499.5 ± 474.5");
        let narrow = Interval::of(vec![2.0]);
        assert_eq!((narrow.lower, narrow.upper), (2.0, 2.0));
    }
}
