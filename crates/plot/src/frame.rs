//! The frame of a chart: title, axes, ticks, labels, grid.

use super::area::Area;
use super::axis::{Axis, Domain, PixelScale};
use super::color;
use super::svg::{Anchor, Stroke, Svg, TextStyle};
use super::text;
use super::ticks::Tick;

/// Height of the title above the chart.
const TITLE: f64 = 24.0;
/// Space for an axis label below or beside the chart.
const LABEL: f64 = 20.0;
/// Gap between the chart and the tick labels.
const GAP: f64 = 7.0;
/// Minimum distance between ticks.
const X_TICK: f64 = 48.0;
const Y_TICK: f64 = 36.0;
/// Space on the right for half of the last tick label.
const RIGHT: f64 = 14.0;
/// Maximum width of a name; longer ones are shortened.
const MAX_NAME_WIDTH: f64 = 130.0;

/// The position of row 0, or of the least value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerticalOrigin {
    Bottom,
    Top,
}

/// The ticks that have grid lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grid {
    Lines,
    /// At the ticks of the vertical axis only.
    Values,
    None,
}

/// Everything needed to draw a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FramePlan<'a> {
    pub(super) title: &'a str,
    pub(super) x: (&'a Axis, Domain),
    pub(super) y: (&'a Axis, Domain),
    pub(super) origin: VerticalOrigin,
    pub(super) grid: Grid,
}

/// The area of a chart and its two axes in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) area: Area,
    pub(super) x: PixelScale,
    pub(super) y: PixelScale,
}

/// Layout of the labels under a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum XLabels {
    Level,
    Slanted,
}

impl FramePlan<'_> {
    /// Draws the frame into `outer` and returns the area that remains for the chart.
    pub(super) fn draw(&self, svg: &mut Svg, outer: Area) -> Frame {
        let ((x_axis, x_domain), (y_axis, y_domain)) = (self.x, self.y);
        let top = if self.title.is_empty() { 8.0 } else { TITLE };
        let height = (outer.height - top - LABEL - GAP - text::SIZE).max(1.0);
        let y_ticks = thinned(shortened(y_axis.ticks(y_domain, (height / Y_TICK) as usize)), height);
        let left = widest(&y_ticks) + GAP + label_room(y_axis);
        let width = (outer.width - left - RIGHT).max(1.0);
        let x_ticks = shortened(x_axis.ticks(x_domain, (width / X_TICK) as usize));
        let are_wide = widest(&x_ticks) + 8.0 > width / x_ticks.len().max(1) as f64;
        let lie = if are_wide && x_axis.all_names().is_some() { XLabels::Slanted } else { XLabels::Level };
        let (x_ticks, under) = match lie {
            XLabels::Level => (x_ticks, text::SIZE),
            XLabels::Slanted => {
                let under = widest(&x_ticks) * SLANT.to_radians().sin() + text::SIZE;
                (thinned(x_ticks, width), under)
            }
        };
        let bottom = GAP + under + label_room(x_axis);
        let area = outer.inside(left, top, RIGHT, bottom);
        let (y_from, y_to) = match self.origin {
            VerticalOrigin::Bottom => (area.bottom(), area.y),
            VerticalOrigin::Top => (area.y, area.bottom()),
        };
        let frame =
            Frame { area, x: x_domain.between(area.x, area.right()), y: y_domain.between(y_from, y_to) };
        self.titles(svg, outer, &frame);
        self.y_ticks(svg, &frame, &y_ticks);
        self.x_ticks(svg, &frame, &x_ticks, lie);
        frame
    }

    fn titles(&self, svg: &mut Svg, outer: Area, frame: &Frame) {
        let area = frame.area;
        let (x, y) = (area.x + area.width / 2.0, area.y + area.height / 2.0);
        let style = TextStyle::plain(Anchor::Middle);
        if !self.title.is_empty() {
            let title = text::shorten(self.title, 13.0, area.width + 20.0);
            svg.text(x, outer.y + 14.0, &title, style.strong(13.0));
        }
        svg.text(x, outer.bottom() - 5.0, &self.x.0.label, style.quiet());
        let turned = style.quiet().turned(-90.0);
        svg.text(outer.x + text::SIZE, y, &self.y.0.label, turned);
    }

    fn y_ticks(&self, svg: &mut Svg, frame: &Frame, ticks: &[Tick]) {
        let Area { x, .. } = frame.area;
        for Tick { value, label } in ticks {
            let Some(y) = frame.y.at(*value) else {
                continue;
            };
            let lines = self.grid != Grid::None;
            tick(svg, lines, (x, y), (frame.area.right(), y), (x - 4.0, y));
            let style = TextStyle::plain(Anchor::End).quiet();
            svg.text(x - GAP, y + text::SIZE * 0.36, label, style);
        }
    }

    fn x_ticks(&self, svg: &mut Svg, frame: &Frame, ticks: &[Tick], lie: XLabels) {
        let bottom = frame.area.bottom();
        for Tick { value, label } in ticks {
            let Some(x) = frame.x.at(*value) else {
                continue;
            };
            let lines = self.grid == Grid::Lines;
            tick(svg, lines, (x, bottom), (x, frame.area.y), (x, bottom + 4.0));
            let y = bottom + GAP + text::SIZE * 0.8;
            match lie {
                XLabels::Level => {
                    svg.text(x, y, label, TextStyle::plain(Anchor::Middle).quiet());
                }
                XLabels::Slanted => {
                    let style = TextStyle::plain(Anchor::End).quiet().turned(-SLANT);
                    svg.text(x + 4.0, y, label, style);
                }
            }
        }
    }
}

/// A grid line from `at` to `across`, or else a mark from `at` to `out`.
fn tick(svg: &mut Svg, line: bool, at: (f64, f64), across: (f64, f64), out: (f64, f64)) {
    if line {
        svg.segment(at, across, &Stroke::new(color::GRID, 1.0))
    } else {
        svg.segment(at, out, &Stroke::new(color::QUIET, 1.0))
    }
}

/// Angle, in degrees, of names that do not fit side by side.
const SLANT: f64 = 45.0;

fn label_room(axis: &Axis) -> f64 {
    if axis.label.is_empty() { 4.0 } else { LABEL }
}

fn widest(ticks: &[Tick]) -> f64 {
    let width = |tick: &Tick| text::width(&tick.label, text::SIZE);
    ticks.iter().map(width).fold(0.0, f64::max)
}

fn shortened(mut ticks: Vec<Tick>) -> Vec<Tick> {
    for tick in &mut ticks {
        tick.label = text::shorten(&tick.label, text::SIZE, MAX_NAME_WIDTH);
    }
    ticks
}

/// Every n-th tick, so that text lines fit into `extent`.
fn thinned(ticks: Vec<Tick>, extent: f64) -> Vec<Tick> {
    let room = (extent / (text::SIZE * 1.2)).max(1.0) as usize;
    let every = ticks.len().div_ceil(room).max(1);
    ticks.into_iter().step_by(every).collect()
}
