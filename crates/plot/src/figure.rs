//! Rows of charts with one title and one legend.

use super::area::Area;
use super::bar_chart::BarChart;
use super::color::Theme;
use super::heat_map::HeatMap;
use super::legend::Legend;
use super::line_chart::LineChart;
use super::series::Series;
use super::svg::{Anchor, Svg, TextStyle};
use super::text;

/// Margin around the figure.
const MARGIN: f64 = 16.0;
/// Font size of the titles of figures and rows.
const TITLE_SIZE: f64 = 17.0;
const HEADING_SIZE: f64 = 14.0;
/// Gap between adjacent charts and between rows.
const GAP: f64 = 14.0;

/// Rows of charts with one title and one legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    title: String,
    note: String,
    width: f64,
    theme: Theme,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    heading: String,
    height: f64,
    panels: Vec<Panel>,
}

/// One chart of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    Lines(LineChart),
    Bars(BarChart),
    /// A matrix.
    Heat(HeatMap),
}

impl From<LineChart> for Panel {
    fn from(chart: LineChart) -> Self {
        Self::Lines(chart)
    }
}

impl From<BarChart> for Panel {
    fn from(chart: BarChart) -> Self {
        Self::Bars(chart)
    }
}

impl From<HeatMap> for Panel {
    fn from(chart: HeatMap) -> Self {
        Self::Heat(chart)
    }
}

impl Panel {
    /// Its share of the row's width: a color bar needs space, and cells should be wider than a pixel.
    fn share(&self) -> f64 {
        match self {
            Self::Lines(_) | Self::Bars(_) => 1.0,
            Self::Heat(_) => 1.5,
        }
    }

    fn title(&self) -> &str {
        match self {
            Self::Lines(chart) => chart.title(),
            Self::Bars(chart) => chart.title(),
            Self::Heat(chart) => chart.title(),
        }
    }

    fn draw(&self, svg: &mut Svg, area: Area) {
        match self {
            Self::Lines(chart) => chart.draw(svg, area),
            Self::Bars(chart) => chart.draw(svg, area),
            Self::Heat(chart) => chart.draw(svg, area),
        }
    }
}

impl Figure {
    /// Creates an empty figure, 960 pixels wide. An empty title is not drawn.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), note: String::new(), width: 960.0, theme: Theme::Light, rows: Vec::new() }
    }

    /// Adds a line of small print under the title.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Sets the width in pixels.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width.max(2.0 * MARGIN + 1.0);
        self
    }

    /// Sets the background and the colors.
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Adds a row of charts, `height` pixels high, under an optional `heading`.
    pub fn row<P: Into<Panel>>(
        mut self,
        heading: impl Into<String>,
        height: f64,
        panels: impl IntoIterator<Item = P>,
    ) -> Self {
        self.rows.push(Row {
            heading: heading.into(),
            height,
            panels: panels.into_iter().map(P::into).collect(),
        });
        self
    }

    /// Returns the figure as SVG text.
    pub fn svg(&self) -> String {
        let inner = self.width - 2.0 * MARGIN;
        let legend = Legend::of(self.all_series());
        let title = line_height(&self.title, TITLE_SIZE);
        let head = title + line_height(&self.note, text::SIZE);
        let rows: f64 = self.rows.iter().map(Row::full_height).sum();
        let legend_height = legend.height(inner);
        let gaps = GAP * self.rows.len().saturating_sub(1) as f64;
        let height = 2.0 * MARGIN + head + legend_height + rows + gaps;

        let mut svg = Svg::new(self.width, height.ceil(), &self.name(), self.theme);
        let style = TextStyle::plain(Anchor::Start);
        if !self.title.is_empty() {
            let title = text::shorten(&self.title, TITLE_SIZE, inner);
            let style = style.strong(TITLE_SIZE);
            svg.text(MARGIN, MARGIN + TITLE_SIZE * 0.85, &title, style);
        }
        if !self.note.is_empty() {
            let y = MARGIN + title + text::SIZE * 0.85;
            svg.text(MARGIN, y, &self.note, style.quiet());
        }
        let mut area = Area { x: MARGIN, y: MARGIN + head, width: inner, height: legend_height };
        legend.draw(&mut svg, area);
        area.y += legend_height;
        for row in &self.rows {
            area.height = row.full_height();
            row.draw(&mut svg, area);
            area.y += row.full_height() + GAP;
        }
        svg.finish()
    }

    /// The accessible name of the picture: its title, or else the titles of its charts.
    fn name(&self) -> String {
        if !self.title.is_empty() {
            return self.title.clone();
        }
        let panels = self.rows.iter().flat_map(|row| &row.panels);
        let titles = panels.map(Panel::title).filter(|title| !title.is_empty());
        titles.collect::<Vec<_>>().join("; ")
    }

    fn all_series(&self) -> impl Iterator<Item = &Series> {
        let panels = self.rows.iter().flat_map(|row| &row.panels);
        panels.flat_map(|panel| match panel {
            Panel::Lines(chart) => chart.all_series(),
            Panel::Bars(chart) => chart.all_series(),
            Panel::Heat(_) => &[],
        })
    }
}

impl Row {
    fn full_height(&self) -> f64 {
        self.height + line_height(&self.heading, HEADING_SIZE)
    }

    fn draw(&self, svg: &mut Svg, area: Area) {
        let heading = line_height(&self.heading, HEADING_SIZE);
        if !self.heading.is_empty() {
            let heading = text::shorten(&self.heading, HEADING_SIZE, area.width);
            let style = TextStyle::plain(Anchor::Start).strong(HEADING_SIZE);
            svg.text(area.x, area.y + HEADING_SIZE * 0.85, &heading, style);
        }
        let gaps = GAP * self.panels.len().saturating_sub(1) as f64;
        let shares: f64 = self.panels.iter().map(Panel::share).sum();
        let mut panel_area = area.inside(0.0, heading, 0.0, 0.0);
        for panel in &self.panels {
            panel_area.width = (area.width - gaps) * panel.share() / shares;
            panel.draw(svg, panel_area);
            panel_area.x += panel_area.width + GAP;
        }
    }
}

/// The height of a line of text of `size`; 0 if `content` is empty.
fn line_height(content: &str, size: f64) -> f64 {
    if content.is_empty() { 0.0 } else { size * 1.6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, HeatMapData};

    #[test]
    fn an_empty_figure_is_valid() {
        let empty = LineChart::new("", Axis::linear(""), Axis::logarithmic(""));
        let nothing = HeatMap::new("", Axis::whole(""), Axis::whole(""), HeatMapData::new(vec![], 0));
        let svg = Figure::new("")
            .row("", 100.0, [Panel::from(empty), nothing.into()])
            .row::<Panel>("", 10.0, [])
            .svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn an_untitled_figure_is_named_after_its_charts() {
        let chart = |title: &str| LineChart::new(title, Axis::linear(""), Axis::linear(""));
        let figure = |title: &str| Figure::new(title).row("", 100.0, ["a", "", "b"].map(chart));
        assert!(figure("").svg().contains("<title>a; b</title>"));
        assert!(figure("t").svg().contains("<title>t</title>"));
    }

    #[test]
    fn gaps_in_a_line_are_kept() {
        let points = vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, 1.0)];
        let chart =
            LineChart::new("", Axis::whole(""), Axis::linear("")).series(Series::new("a & b", 0, points));
        let svg = Figure::new("t").row("", 200.0, [chart]).svg();
        // Two parts and the legend sample.
        assert_eq!(svg.matches("stroke=\"#0072b2\"").count(), 3, "{svg}");
        assert!(svg.contains(">a &amp; b</text>"));
        assert!(!svg.contains("NaN"));
    }
}
