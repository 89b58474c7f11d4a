//! Axes: scales, ranges and ticks.

use super::ticks::{self, Steps, Tick};

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(super) label: String,
    kind: Kind,
    limits: Option<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Linear,
    Whole,
    Logarithmic,
    Names(Vec<String>),
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label, Kind::Linear)
    }

    /// Creates a linear axis of integers, such as updates or the rows of a matrix.
    pub fn whole(label: impl Into<String>) -> Self {
        Self::new(label, Kind::Whole)
    }

    /// Creates a logarithmic axis. Numbers that are not positive are not shown.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self::new(label, Kind::Logarithmic)
    }

    /// Creates a categorical axis with names at 0, 1, 2, …, such as length buckets or tokens.
    pub fn names(label: impl Into<String>, names: impl Into<Vec<String>>) -> Self {
        Self::new(label, Kind::Names(names.into()))
    }

    /// Shows exactly the range from `low` to `high`, whatever the data.
    pub fn limits(self, low: f64, high: f64) -> Self {
        Self { limits: Some((low, high)), ..self }
    }

    fn new(label: impl Into<String>, kind: Kind) -> Self {
        Self { label: label.into(), kind, limits: None }
    }

    /// The names of a categorical axis.
    pub(super) fn all_names(&self) -> Option<&[String]> {
        match &self.kind {
            Kind::Names(names) => Some(names),
            _ => None,
        }
    }

    /// The range of the axis for these values, extended on both sides by `padding` times its size.
    pub(super) fn domain(&self, values: impl Iterator<Item = f64>, padding: f64) -> Domain {
        let is_log = self.kind == Kind::Logarithmic;
        if let Kind::Names(names) = &self.kind {
            return Domain::new(-0.5, names.len().max(1) as f64 - 0.5, false);
        }
        if let Some((low, high)) = self.limits {
            return Domain::new(low, high, is_log);
        }
        let shown = |value: &f64| value.is_finite() && (!is_log || *value > 0.0);
        let (low, high) = values
            .filter(shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        Domain::new(low, high, is_log).padded(padding)
    }

    /// Ticks, about `most` at most; all names of a categorical axis.
    pub(super) fn ticks(&self, domain: Domain, most: usize) -> Vec<Tick> {
        let Domain { low, high, .. } = domain;
        match &self.kind {
            Kind::Linear => ticks::linear(low, high, most, Steps::Any),
            Kind::Whole => ticks::linear(low, high, most, Steps::Whole),
            Kind::Logarithmic => ticks::logarithmic(low, high, most),
            Kind::Names(names) => {
                let tick =
                    |(index, name): (usize, &String)| Tick { value: index as f64, label: name.clone() };
                names.iter().enumerate().map(tick).collect()
            }
        }
    }
}

/// The range of an axis: finite and never empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Domain {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Domain {
    fn new(low: f64, high: f64, is_log: bool) -> Self {
        let known = low.is_finite() && high.is_finite() && low <= high && (!is_log || low > 0.0);
        let (low, high) = match (known, is_log) {
            (false, true) => (1.0, 10.0),
            (false, false) => (0.0, 1.0),
            (true, _) => (low, high),
        };
        let half = if low == 0.0 { 0.5 } else { low.abs() * 0.05 };
        let (low, high) = if high > low { (low, high) } else { (low - half, high + half) };
        Self { low, high, is_log }
    }

    fn padded(self, padding: f64) -> Self {
        let (low, high) = (self.place(self.low), self.place(self.high));
        let more = (high - low) * padding;
        let back = |place: f64| if self.is_log { place.exp() } else { place };
        match padding {
            0.0 => self,
            _ => Self { low: back(low - more), high: back(high + more), ..self },
        }
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_log { value.ln() } else { value }
    }

    /// Maps the domain to a range of pixels.
    pub(super) fn between(self, from: f64, to: f64) -> PixelScale {
        PixelScale { domain: self, from, to }
    }
}

/// A domain mapped to a range of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PixelScale {
    domain: Domain,
    from: f64,
    to: f64,
}

impl PixelScale {
    /// The pixel of `value`, if it can be shown; it may lie outside the range.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        let Domain { low, high, .. } = self.domain;
        let place = |value| self.domain.place(value);
        let share = (place(value) - place(low)) / (place(high) - place(low));
        let pixel = self.from + share * (self.to - self.from);
        pixel.is_finite().then_some(pixel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(axis: &Axis, values: &[f64], value: f64) -> Option<f64> {
        let domain = axis.domain(values.iter().copied(), 0.0);
        domain.between(0.0, 100.0).at(value)
    }

    #[test]
    fn linear_axes_preserve_distances() {
        let axis = Axis::linear("");
        assert_eq!(pixel(&axis, &[10.0, 30.0], 20.0), Some(50.0));
        assert_eq!(pixel(&axis, &[10.0, f64::NAN, 30.0], 40.0), Some(150.0));
        assert_eq!(pixel(&axis, &[10.0, 30.0], f64::NAN), None);
        assert_eq!(pixel(&axis.limits(0.0, 1.0), &[10.0], 0.5), Some(50.0));
    }

    #[test]
    fn logarithmic_axes_preserve_ratios() {
        let axis = Axis::logarithmic("");
        let at = pixel(&axis, &[1.0, 0.0, -5.0, 10_000.0], 100.0);
        assert!((at.expect("positive") - 50.0).abs() < 1e-9);
        assert_eq!(pixel(&axis, &[1.0, 10.0], 0.0), None);
        assert_eq!(pixel(&axis, &[1.0, 10.0], -1.0), None);
    }

    #[test]
    fn names_are_centered_in_equal_parts() {
        let axis = Axis::names("", ["a", "b"].map(String::from));
        assert_eq!(pixel(&axis, &[], 0.0), Some(25.0));
        assert_eq!(pixel(&axis, &[], 1.0), Some(75.0));
    }

    #[test]
    fn no_domain_is_empty() {
        for axis in [Axis::linear(""), Axis::whole(""), Axis::logarithmic("")] {
            for values in [&[][..], &[3.0], &[0.0], &[-2.0], &[f64::NAN]] {
                let Domain { low, high, .. } = axis.domain(values.iter().copied(), 0.05);
                assert!(low < high, "{values:?}");
            }
        }
    }
}
