//! Line charts.

use super::area::Area;
use super::axis::Axis;
use super::color;
use super::frame::{Frame, FramePlan, Grid, VerticalOrigin};
use super::series::Series;
use super::svg::{Stroke, Svg};

/// The radius of a ring around a point.
const RING: f64 = 7.0;

/// Padding above and below the data, as a share of the height.
const PADDING: f64 = 0.05;

/// A line chart. With a categorical axis it shows values by bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    band: Option<(f64, f64)>,
}

impl LineChart {
    /// Creates an empty chart.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), band: None }
    }

    /// Adds a line on top of the earlier ones.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Shades the range from `low` to `high` on the x axis, to mark the part that another chart enlarges.
    pub fn band(self, low: f64, high: f64) -> Self {
        Self { band: Some((low, high)), ..self }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn all_series(&self) -> &[Series] {
        &self.series
    }

    pub(super) fn draw(&self, svg: &mut Svg, outer: Area) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = self.x.domain(points().map(|(x, _)| *x), 0.0);
        let y = self.y.domain(points().map(|(_, y)| *y), PADDING);
        let plan = FramePlan {
            title: &self.title,
            x: (&self.x, x),
            y: (&self.y, y),
            origin: VerticalOrigin::Bottom,
            grid: Grid::Lines,
        };
        let frame = plan.draw(svg, outer);
        self.draw_band(svg, &frame);
        // The dots of the first and last points may overlap the border.
        svg.clipped(frame.area.inside(-4.0, -4.0, -4.0, -4.0), |svg| {
            for series in &self.series {
                draw_series(svg, &frame, series);
            }
        });
        let Area { x, y, .. } = frame.area;
        let (bottom, right) = (frame.area.bottom(), frame.area.right());
        let stroke = Stroke::new(color::QUIET, 1.0);
        svg.polyline(&[(x, y), (x, bottom), (right, bottom)], &stroke);
    }

    fn draw_band(&self, svg: &mut Svg, frame: &Frame) {
        let Some((low, high)) = self.band else {
            return;
        };
        if let (Some(low), Some(high)) = (frame.x.at(low), frame.x.at(high)) {
            let left = low.max(frame.area.x);
            let band = Area { x: left, width: (high.min(frame.area.right()) - left).max(0.0), ..frame.area };
            svg.rect(band, color::BAND);
        }
    }
}

fn draw_series(svg: &mut Svg, frame: &Frame, series: &Series) {
    let pixel = |(x, y): &(f64, f64)| Some((frame.x.at(*x)?, frame.y.at(*y)?));
    let pixels: Vec<_> = series.points.iter().map(pixel).collect();
    if series.look.is_ringed() {
        pixels.iter().flatten().for_each(|at| svg.ring(*at, RING, &series.look.stroke()));
        return;
    }
    for part in pixels.split(Option::is_none) {
        let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
        if part.len() > 1 {
            svg.polyline(&part, &series.look.stroke());
        }
    }
    let dots = pixels.iter().flatten().count();
    if let Some((fill, radius)) = series.look.dots(dots) {
        for dot in pixels.iter().flatten() {
            svg.dot(*dot, radius, fill);
        }
    }
}
