//! Ranges of numbers, as the JSON Schema declares them.

use std::fmt;

use serde_json::Value;

use super::schema;

/// The numbers that a key accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Range {
    /// The smallest.
    pub(super) least: Option<f64>,
    /// The largest.
    pub(super) most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    multiple: Option<f64>,
    or_zero: bool,
}

impl Range {
    /// Returns the range of the known key `path`.
    pub(super) fn of(path: &str) -> Self {
        Self::read(schema::of(path))
    }

    /// Reads the range in the JSON Schema of a key.
    pub(super) fn read(schema: &Value) -> Self {
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        let either = schema.get("anyOf").and_then(Value::as_array);
        if let Some([zero, other]) = either.map(Vec::as_slice)
            && zero.get("const").is_some_and(|value| value == 0)
        {
            return Self { or_zero: true, ..Self::read(other) };
        }
        Self {
            least: number("minimum"),
            most: number("maximum"),
            above: number("exclusiveMinimum"),
            below: number("exclusiveMaximum"),
            multiple: number("multipleOf"),
            or_zero: false,
        }
    }

    pub(super) fn contains(&self, value: f64) -> bool {
        let fits = self.least.is_none_or(|least| value >= least)
            && self.most.is_none_or(|most| value <= most)
            && self.above.is_none_or(|above| value > above)
            && self.below.is_none_or(|below| value < below)
            && self.multiple.is_none_or(|multiple| value % multiple == 0.0);
        value.is_finite() && (fits || self.or_zero && value == 0.0)
    }
}

/// What follows "a number".
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.above, self.most, self.below) {
            (Some(least), _, Some(most), _) => write!(f, " from {least} to {most}")?,
            (Some(least), _, _, Some(below)) => {
                write!(f, " from {least} up to, but not including, {below}")?;
            }
            (Some(least), ..) => write!(f, ", {least} or more")?,
            (_, Some(above), Some(most), _) => write!(f, " above {above}, at most {most}")?,
            (_, Some(above), _, Some(below)) => write!(f, " above {above} and below {below}")?,
            (_, Some(above), ..) => write!(f, " above {above}")?,
            (_, _, Some(most), _) => write!(f, ", at most {most}")?,
            (_, _, _, Some(below)) => write!(f, " below {below}")?,
            _ => {}
        }
        if let Some(multiple) = self.multiple {
            write!(f, ", a multiple of {multiple}")?;
        }
        if self.or_zero {
            f.write_str(", or 0")?;
        }
        Ok(())
    }
}
