//! The series of a line chart.

use super::color;
use super::svg::Stroke;

/// Points of one line, sorted by x. The line has a gap where a number is NaN or infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) look: Look,
}

/// Visual style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    color: usize,
    strength: Strength,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strength {
    Plain,
    Faint,
    Marked,
    /// Rings around the points, and no line.
    Ringed,
    /// Bars instead of a line.
    Filled,
}

impl Series {
    /// Creates a plain line. The legend shows its `name` unless it is empty; series with the same `color`
    /// number share a color.
    pub fn new(name: impl Into<String>, color: usize, points: Vec<(f64, f64)>) -> Self {
        let strength = Strength::Plain;
        Self { name: name.into(), points, look: Look { color, strength } }
    }

    /// Makes the line thin and pale, as background for another one.
    pub fn faint(self) -> Self {
        self.drawn(Strength::Faint)
    }

    /// Adds a dot at each point.
    pub fn marked(self) -> Self {
        self.drawn(Strength::Marked)
    }

    /// Draws rings around the points of another line instead of a line.
    pub fn ringed(self) -> Self {
        self.drawn(Strength::Ringed)
    }

    /// Draws bars instead of a line.
    pub(super) fn filled(self) -> Self {
        self.drawn(Strength::Filled)
    }

    fn drawn(mut self, strength: Strength) -> Self {
        self.look.strength = strength;
        self
    }
}

impl Look {
    /// The color of an area.
    pub(super) fn fill(self) -> &'static str {
        color::series(self.color)
    }

    pub(super) fn stroke(self) -> Stroke {
        let (width, opacity) = match self.strength {
            Strength::Plain => (1.6, 1.0),
            Strength::Faint => (1.4, 0.5),
            Strength::Marked | Strength::Ringed => (2.0, 1.0),
            // The legend's sample.
            Strength::Filled => (11.0, 1.0),
        };
        Stroke { opacity, dashes: color::dashes(self.color), ..Stroke::new(color::series(self.color), width) }
    }

    /// True if rings are drawn instead of a line.
    pub(super) fn is_ringed(self) -> bool {
        self.strength == Strength::Ringed
    }

    /// The color and radius of the dots of a series of `count` points, if it has dots.
    pub(super) fn dots(self, count: usize) -> Option<(&'static str, f64)> {
        let radius = match count {
            0..=40 => 3.2,
            41..=100 => 2.2,
            _ => 1.4,
        };
        let has_line = !matches!(self.strength, Strength::Filled | Strength::Ringed);
        (self.strength == Strength::Marked || count == 1 && has_line)
            .then(|| (color::series(self.color), radius))
    }
}
