//! SVG charts from numbers and labels, independent of models, tensors and files.
//!
//! A [`Figure`] has rows of panels, a panel is a [`LineChart`], a [`BarChart`] or a [`HeatMap`], and an
//! [`Axis`] is linear, integer, logarithmic or categorical:
//!
//! ```
//! use attentive_plot::{Axis, Figure, LineChart, Series};
//!
//! let lengths = ["1–10", "11–20", "21–30"].map(String::from);
//! let chart = LineChart::new("BLEU by source length", Axis::names("words", lengths), Axis::linear("BLEU"))
//!     .series(Series::new("LSTM", 0, vec![(0.0, 31.0), (1.0, 24.5), (2.0, 12.0)]).marked())
//!     .series(Series::new("LSTM + attention", 1, vec![(0.0, 33.0), (1.0, 32.1), (2.0, 30.4)]).marked());
//! let svg = Figure::new("").row("", 360.0, [chart]).svg();
//! assert!(svg.starts_with("<svg "));
//! ```
//!
//! A [`Diagram`] is a drawing of a model: columns of boxes with arrows.
//!
//! Text remains text, in the viewer's sans-serif font; its width is estimated.

mod area;
mod axis;
mod bar_chart;
mod color;
mod diagram;
mod figure;
mod frame;
mod heat_map;
mod legend;
mod line_chart;
mod series;
mod svg;
mod text;
mod thin;
mod ticks;

pub use axis::Axis;
pub use bar_chart::BarChart;
pub use color::Theme;
pub use diagram::{Diagram, DiagramBox, DiagramColumn, DiagramKind, DiagramLink, DiagramPart};
pub use figure::{Figure, Panel};
pub use heat_map::{HeatMap, HeatMapData};
pub use line_chart::LineChart;
pub use series::Series;
pub use thin::thin;
