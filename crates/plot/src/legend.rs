//! Legends.

use super::area::Area;
use super::series::{Look, Series};
use super::svg::{Anchor, Svg, TextStyle};
use super::text;

/// Width of a line sample, and the gap after it.
const SAMPLE: f64 = 24.0;
const GAP: f64 = 7.0;
/// Space between entries.
const SPACE: f64 = 20.0;
/// Height of a line of entries.
const LINE: f64 = 19.0;
/// Maximum width of a name; longer ones are shortened.
const MAX_NAME_WIDTH: f64 = 420.0;

/// The named series of a figure, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Legend(Vec<(String, Look)>);

impl Legend {
    /// The names of `series`.
    pub(super) fn of<'a>(series: impl Iterator<Item = &'a Series>) -> Self {
        let mut entries: Vec<(String, Look)> = Vec::new();
        for Series { name, look, .. } in series.filter(|series| !series.name.is_empty()) {
            let entry = (text::shorten(name, text::SIZE, MAX_NAME_WIDTH), *look);
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        Self(entries)
    }

    /// The height of a legend that is `width` wide.
    pub(super) fn height(&self, width: f64) -> f64 {
        match self.places(width).last() {
            Some((_, line)) => (line + 1) as f64 * LINE + 6.0,
            None => 0.0,
        }
    }

    pub(super) fn draw(&self, svg: &mut Svg, area: Area) {
        for ((name, look), (x, line)) in self.0.iter().zip(self.places(area.width)) {
            let (x, y) = (area.x + x, area.y + (line as f64 + 0.5) * LINE);
            svg.segment((x, y), (x + SAMPLE, y), &look.stroke());
            if let Some((fill, radius)) = look.dots(2) {
                svg.dot((x + SAMPLE / 2.0, y), radius, fill);
            }
            let style = TextStyle::plain(Anchor::Start);
            svg.text(x + SAMPLE + GAP, y + text::SIZE * 0.36, name, style);
        }
    }

    /// The x coordinate and line of each entry; each line holds as many entries as fit.
    fn places(&self, width: f64) -> Vec<(f64, usize)> {
        let (mut x, mut line) = (0.0, 0);
        let place = |(name, _): &(String, Look)| {
            let entry = SAMPLE + GAP + text::width(name, text::SIZE);
            if x > 0.0 && x + entry > width {
                (x, line) = (0.0, line + 1);
            }
            let place = (x, line);
            x += entry + SPACE;
            place
        };
        self.0.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lines_wrap() {
        let named = |name: &str| Series::new(name, 0, Vec::new());
        let series = [named("a run"), named(""), named("a run"), named("another")];
        let legend = Legend::of(series.iter());
        assert_eq!(legend.0.len(), 2);
        assert_eq!(legend.height(1000.0), LINE + 6.0);
        assert_eq!(legend.height(50.0), 2.0 * LINE + 6.0);
        assert_eq!(Legend::default().height(50.0), 0.0);
    }
}
