//! Bar charts.

use super::area::Area;
use super::axis::Axis;
use super::color;
use super::frame::{Frame, FramePlan, Grid, VerticalOrigin};
use super::series::Series;
use super::svg::{Anchor, Stroke, Svg, TextStyle};
use super::text;

/// Space above the highest bar for its number, as a share of the height.
const HEADROOM: f64 = 1.1;
/// The share of a group's width that its bars fill, and the maximum width of a bar in pixels.
const FILLED: f64 = 0.72;
const WIDEST: f64 = 56.0;

/// A bar chart: groups of bars side by side, one bar for each series, from zero up.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    title: String,
    groups: Axis,
    values: Axis,
    series: Vec<Series>,
    decimals: usize,
}

impl BarChart {
    /// Creates an empty chart of these `groups`, whose numbers are shown with this number of `decimals`.
    pub fn new(
        title: impl Into<String>,
        groups: impl Into<Vec<String>>,
        values: Axis,
        decimals: usize,
    ) -> Self {
        Self { title: title.into(), groups: Axis::names("", groups), values, series: Vec::new(), decimals }
    }

    /// Adds a bar to each group. NaN and values below zero have no bar.
    pub fn series(mut self, name: impl Into<String>, color: usize, values: &[f64]) -> Self {
        let points = values.iter().enumerate();
        let points = points.map(|(group, value)| (group as f64, *value));
        self.series.push(Series::new(name, color, points.collect()).filled());
        self
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn all_series(&self) -> &[Series] {
        &self.series
    }

    pub(super) fn draw(&self, svg: &mut Svg, outer: Area) {
        let values = self.series.iter().flat_map(|series| &series.points);
        let highest = values.map(|(_, value)| *value).filter(|it| it.is_finite());
        let highest = highest.fold(0.0, f64::max);
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let y = self.values.clone().limits(0.0, highest * HEADROOM);
        let plan = FramePlan {
            title: &self.title,
            x: (&self.groups, self.groups.domain([].into_iter(), 0.0)),
            y: (&y, y.domain([].into_iter(), 0.0)),
            origin: VerticalOrigin::Bottom,
            grid: Grid::Values,
        };
        let frame = plan.draw(svg, outer);
        let group = match (frame.x.at(0.0), frame.x.at(1.0)) {
            (Some(first), Some(second)) => second - first,
            _ => frame.area.width,
        };
        let width = (group * FILLED / self.series.len().max(1) as f64).min(WIDEST);
        for (number, series) in self.series.iter().enumerate() {
            let offset = (number as f64 - self.series.len() as f64 / 2.0) * width;
            self.draw_bars(svg, &frame, series, (offset, width));
        }
        let (bottom, right) = (frame.area.bottom(), frame.area.right());
        let stroke = Stroke::new(color::QUIET, 1.0);
        svg.segment((frame.area.x, bottom), (right, bottom), &stroke);
    }

    /// Draws the bars of `series` and their numbers. `place` is the distance of each bar from the middle of
    /// its group, and its width.
    fn draw_bars(&self, svg: &mut Svg, frame: &Frame, series: &Series, place: (f64, f64)) {
        let (offset, width) = place;
        for (group, value) in &series.points {
            let (Some(x), Some(y), Some(zero)) = (frame.x.at(*group), frame.y.at(*value), frame.y.at(0.0))
            else {
                continue;
            };
            if *value < 0.0 {
                continue;
            }
            let gap = (width * 0.05).min(1.0);
            let bar = Area { x: x + offset + gap, y, width: width - 2.0 * gap, height: zero - y };
            svg.rect(bar, series.look.fill());
            let label = format!("{value:.0$}", self.decimals);
            let style = TextStyle::plain(Anchor::Middle);
            if text::width(&label, text::SIZE) <= width + 8.0 {
                svg.text(bar.x + bar.width / 2.0, y - 4.0, &label, style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Theme};

    fn chart(values: &[f64]) -> BarChart {
        let groups = ["one", "two"].map(String::from);
        BarChart::new("Speed", groups, Axis::linear("times"), 1).series("ours", 0, values).series(
            "theirs",
            1,
            &[1.0, 1.0],
        )
    }

    #[test]
    fn bars_have_heights_in_proportion_and_numbers() {
        let svg = Figure::new("").row("", 200.0, [chart(&[2.0, 4.0])]).svg();
        let height = |bar: &str| {
            let (_, rest) = bar.split_once(" height=\"").unwrap();
            rest.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        // The legend's sample comes first.
        let ours = svg.split("<rect").filter(|bar| bar.contains("#0072b2"));
        let heights: Vec<f64> = ours.skip(1).map(height).collect();
        let [low, high] = heights[..] else {
            panic!("{svg}");
        };
        assert!((high - 2.0 * low).abs() < 0.05, "{low} {high}");
        for word in [">2.0<", ">4.0<", ">1.0<", ">ours<", ">theirs<", ">two<"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
    }

    #[test]
    fn what_is_no_height_has_no_bar() {
        for values in [&[f64::NAN, -1.0][..], &[f64::INFINITY, 0.0], &[]] {
            let svg = Figure::new("").row("", 200.0, [chart(values)]).svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(!svg.contains("height=\"-"), "{svg}");
        }
    }

    #[test]
    fn many_bars_are_thin_ones() {
        let groups: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let chart = BarChart::new("", groups, Axis::linear(""), 0);
        let chart = chart.series("", 0, &[1.0; 500]).series("", 1, &[2.0; 500]);
        let svg = Figure::new("").row("", 200.0, [chart]).svg();
        assert!(!svg.contains("width=\"-") && !svg.contains("width=\"0\""));
    }

    #[test]
    fn the_dark_theme_has_no_color_of_the_light_one() {
        let figure = Figure::new("t").row("", 200.0, [chart(&[2.0, 4.0])]);
        let (light, dark) = (figure.svg(), figure.theme(Theme::Dark).svg());
        for color in ["#ffffff", "#222222", "#5a5a5a", "#e4e4e4"] {
            assert!(light.contains(color), "{color}");
            assert!(!dark.contains(color), "{color}");
        }
    }
}
