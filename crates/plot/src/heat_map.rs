//! Heat maps.

use std::fmt::Write;

use super::area::Area;
use super::axis::Axis;
use super::color;
use super::frame::{FramePlan, Grid, VerticalOrigin};
use super::svg::{Anchor, Stroke, Svg, SvgNumber, TextStyle};
use super::text;
use super::ticks::{self, Steps, Tick};

/// Number of colors between the least and the largest number.
const LEVELS: usize = 64;
/// Space right of the matrix: gap, color bar, labels.
const GAP: f64 = 2.0;
const BAR: f64 = 10.0;

/// A matrix of numbers; NaN and infinite ones count as missing.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMapData {
    values: Vec<f32>,
    columns: usize,
}

impl HeatMapData {
    /// Splits `values` into rows of `columns` numbers; an incomplete last row is dropped.
    pub fn new(mut values: Vec<f32>, columns: usize) -> Self {
        let columns = columns.max(1);
        values.truncate(values.len() / columns * columns);
        Self { values, columns }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }
}

/// A matrix shown as colors, with row 0 at the top and a color bar.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    title: String,
    columns: Axis,
    rows: Axis,
    matrix: HeatMapData,
    range: (f64, f64),
}

impl HeatMap {
    /// Shows `matrix` in colors from dark (least number) to light (largest number).
    pub fn new(title: impl Into<String>, columns: Axis, rows: Axis, matrix: HeatMapData) -> Self {
        let finite = matrix.values.iter().filter(|value| value.is_finite());
        let range = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (low.min(value.into()), high.max(value.into()))
        });
        Self { title: title.into(), columns, rows, matrix, range }
    }

    /// Sets the range of the colors: `low` is dark and `high` is light.
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: (low, high), ..self }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn draw(&self, svg: &mut Svg, outer: Area) {
        let (low, high) = self.range;
        let bar_ticks = ticks::linear(low, high, ((outer.height - 60.0) / 36.0) as usize, Steps::Any);
        let widths = bar_ticks.iter().map(|tick| text::width(&tick.label, text::SIZE));
        let bar_room = GAP + BAR + 6.0 + widths.fold(0.0, f64::max);
        let extent = |n: usize| [-0.5, n as f64 - 0.5].into_iter();
        let plan = FramePlan {
            title: &self.title,
            x: (&self.columns, self.columns.domain(extent(self.matrix.columns), 0.0)),
            y: (&self.rows, self.rows.domain(extent(self.matrix.rows()), 0.0)),
            origin: VerticalOrigin::Top,
            grid: Grid::None,
        };
        let area = plan.draw(svg, outer.inside(0.0, 0.0, bar_room, 0.0)).area;
        draw_cells(svg, area, &self.matrix, self.range);
        svg.outline(area, color::QUIET);
        let bar = Area { x: area.right() + GAP + 12.0, width: BAR, ..area };
        self.draw_bar(svg, bar, &bar_ticks);
    }

    fn draw_bar(&self, svg: &mut Svg, bar: Area, ticks: &[Tick]) {
        let (low, high) = self.range;
        if low >= high || !(high - low).is_finite() {
            return;
        }
        let step = 1.0 / (LEVELS - 1) as f32;
        let column = (0..LEVELS).rev().map(|level| level as f32 * step).collect();
        draw_cells(svg, bar, &HeatMapData::new(column, 1), (0.0, 1.0));
        svg.outline(bar, color::QUIET);
        for Tick { value, label } in ticks {
            let y = bar.bottom() - (value - low) / (high - low) * bar.height;
            let right = bar.right();
            let stroke = Stroke::new(color::QUIET, 1.0);
            svg.segment((right, y), (right + 3.0, y), &stroke);
            let style = TextStyle::plain(Anchor::Start).quiet();
            svg.text(right + 6.0, y + text::SIZE * 0.36, label, style);
        }
    }
}

/// Draws the cells of `matrix`, stretched over `area`: one path per color, with adjacent cells of a row as
/// one stroke.
fn draw_cells(svg: &mut Svg, area: Area, matrix: &HeatMapData, range: (f64, f64)) {
    let mut paths: Vec<Path> = vec![Path::default(); LEVELS + 1];
    for (y, row) in matrix.values.chunks_exact(matrix.columns).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| level(*a, range) == level(*b, range)) {
            paths[level(run[0], range)].run(x, y, run.len());
            x += run.len();
        }
    }
    let (width, height) = (matrix.columns as f64, matrix.rows().max(1) as f64);
    // Strokes run along the middle of their row. The decimals of the scale matter, as errors add up over many
    // cells.
    svg.line(format_args!(
        "<g transform=\"translate({} {}) scale({:.6} {:.6}) translate(0 .5)\" fill=\"none\" \
         stroke-width=\"1\" shape-rendering=\"crispEdges\">",
        SvgNumber(area.x),
        SvgNumber(area.y),
        area.width / width,
        area.height / height
    ));
    for (level, Path { commands, .. }) in paths.iter().enumerate() {
        if commands.is_empty() {
            continue;
        }
        let stroke = match level {
            LEVELS => color::MISSING.to_owned(),
            level => color::viridis(level as f64 / (LEVELS - 1) as f64),
        };
        svg.line(format_args!("<path stroke=\"{stroke}\" d=\"{commands}\"/>"));
    }
    svg.line("</g>");
}

/// The index of a value's color; `LEVELS` if the value is missing.
fn level(value: f32, (low, high): (f64, f64)) -> usize {
    if !value.is_finite() {
        return LEVELS;
    }
    let share = (f64::from(value) - low) / (high - low);
    // A matrix of equal numbers gets the middle color.
    let share = if share.is_nan() { 0.5 } else { share };
    (share.clamp(0.0, 1.0) * (LEVELS - 1) as f64).round() as usize
}

/// Horizontal strokes in cell coordinates, each relative to the end of the previous one.
#[derive(Clone, Debug, Default)]
struct Path {
    commands: String,
    end: (usize, usize),
}

impl Path {
    fn run(&mut self, x: usize, y: usize, len: usize) {
        let (right, down) = (x as i64 - self.end.0 as i64, y as i64 - self.end.1 as i64);
        // Writing to a string cannot fail.
        let _ = write!(self.commands, "m{right} {down}h{len}");
        self.end = (x + len, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    #[test]
    fn adjacent_cells_of_one_color_are_one_stroke() {
        let matrix = HeatMapData::new(vec![0.0, 0.0, 1.0, 1.0, 0.0, f32::NAN, 9.0], 3);
        assert_eq!(matrix.rows(), 2);
        let mut svg = Svg::new(10.0, 10.0, "", Theme::Light);
        let area = Area { x: 0.0, y: 0.0, width: 30.0, height: 20.0 };
        draw_cells(&mut svg, area, &matrix, (0.0, 1.0));
        let text = svg.finish();
        assert!(text.contains("<path stroke=\"#440154\" d=\"m0 0h2m-1 1h1\"/>"), "{text}");
        assert!(text.contains("<path stroke=\"#fde725\" d=\"m2 0h1m-3 1h1\"/>"), "{text}");
        assert!(text.contains("<path stroke=\"#d9d9d9\" d=\"m2 1h1\"/>"), "{text}");
    }

    #[test]
    fn equal_or_missing_numbers_have_colors() {
        assert_eq!(level(3.0, (3.0, 3.0)), LEVELS / 2);
        assert_eq!(level(f32::NAN, (0.0, 1.0)), LEVELS);
        assert_eq!(level(-5.0, (0.0, 1.0)), 0);
        assert_eq!(level(5.0, (0.0, 1.0)), LEVELS - 1);
    }
}
