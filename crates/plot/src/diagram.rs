//! Drawings of models: columns of boxes with arrows, read from the bottom up.

use super::area::Area;
use super::color::{self, Theme};
use super::svg::{Anchor, Stroke, Svg, TextStyle};
use super::text;

const MARGIN: f64 = 20.0;
const TITLE_SIZE: f64 = 17.0;
const HEADING_SIZE: f64 = 14.0;
const DETAIL_SIZE: f64 = 11.0;
const DETAIL_HEIGHT: f64 = 15.0;
/// Width of a box.
const WIDTH: f64 = 270.0;
/// Room beside a box, for residual connections, loops and links.
const SIDE: f64 = 62.0;
/// Gap between boxes, with an arrow.
const GAP: f64 = 22.0;
/// Room between the boxes of a group and its frame.
const PADDING: f64 = 16.0;
/// Room of a group at its top, for its label.
const LABEL: f64 = 24.0;

/// A drawing of a model: columns of boxes that are read from the bottom up, and arrows between columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    title: String,
    note: String,
    theme: Theme,
    columns: Vec<DiagramColumn>,
    links: Vec<DiagramLink>,
}

/// Boxes one above the other.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagramColumn {
    /// The text above the boxes.
    pub heading: String,
    /// From the bottom up.
    pub parts: Vec<DiagramPart>,
}

/// A box, or several in a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum DiagramPart {
    /// A box alone.
    Box(DiagramBox),
    /// Boxes in a frame with a label, such as "× 6".
    Frame { label: String, boxes: Vec<DiagramBox> },
}

/// A box: an operation of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagramBox {
    /// By what links find it.
    pub name: String,
    pub title: String,
    /// Lines of small print.
    pub details: Vec<String>,
    pub kind: DiagramKind,
    /// A residual connection leads around so many boxes below this one, and ends here.
    pub around: Option<usize>,
    /// The label of an arrow from this box to itself, at the next position.
    pub again: Option<String>,
    /// True if no arrow enters the box from below.
    pub is_apart: bool,
}

/// The kind of an operation, which decides its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagramKind {
    Text,
    Embedding,
    Attention,
    FeedForward,
    Norm,
    Recurrent,
    Output,
}

/// An arrow from a box to one of another column.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagramLink {
    pub from: String,
    pub to: String,
    /// The text at the arrow.
    pub label: String,
}

/// Where residual connections and loops of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OuterSide {
    Left,
    Right,
}

impl DiagramBox {
    /// A box without an arrow around it.
    pub fn new(name: impl Into<String>, title: impl Into<String>, kind: DiagramKind) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { name, title, details: Vec::new(), kind, around: None, again: None, is_apart: false }
    }

    /// The same box with one more line of small print.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// The same box, at which a residual connection around `boxes` boxes ends.
    #[must_use]
    pub fn around(self, boxes: usize) -> Self {
        Self { around: Some(boxes), ..self }
    }

    /// The same box with an arrow to itself.
    #[must_use]
    pub fn again(self, label: impl Into<String>) -> Self {
        Self { again: Some(label.into()), ..self }
    }

    /// The same box, which does not read what is below it.
    #[must_use]
    pub fn apart(self) -> Self {
        Self { is_apart: true, ..self }
    }

    fn height(&self) -> f64 {
        28.0 + DETAIL_HEIGHT * self.details.len() as f64
    }
}

impl DiagramKind {
    fn color(self) -> &'static str {
        match self {
            Self::Text => color::series(6),
            Self::Embedding => color::series(3),
            Self::Attention => color::series(1),
            Self::FeedForward => color::series(0),
            Self::Norm => color::series(4),
            Self::Recurrent => color::series(2),
            Self::Output => color::series(5),
        }
    }
}

impl DiagramPart {
    fn boxes(&self) -> &[DiagramBox] {
        match self {
            Self::Box(one) => std::slice::from_ref(one),
            Self::Frame { boxes, .. } => boxes,
        }
    }

    fn height(&self) -> f64 {
        let boxes = self.boxes();
        let inner: f64 = boxes.iter().map(DiagramBox::height).sum();
        let gaps = GAP * boxes.len().saturating_sub(1) as f64;
        match self {
            Self::Box(_) => inner,
            Self::Frame { .. } => inner + gaps + PADDING + LABEL + GAP,
        }
    }
}

impl DiagramColumn {
    fn height(&self) -> f64 {
        let gaps = GAP * self.parts.len().saturating_sub(1) as f64;
        self.parts.iter().map(DiagramPart::height).sum::<f64>() + gaps
    }
}

impl Diagram {
    /// A drawing of these columns.
    pub fn new(title: impl Into<String>, columns: Vec<DiagramColumn>) -> Self {
        Self { title: title.into(), note: String::new(), theme: Theme::Light, columns, links: Vec::new() }
    }

    /// Adds a line of small print under the title.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Adds an arrow between columns.
    #[must_use]
    pub fn link(mut self, link: DiagramLink) -> Self {
        self.links.push(link);
        self
    }

    /// Sets the background and the colors.
    #[must_use]
    pub fn theme(self, theme: Theme) -> Self {
        Self { theme, ..self }
    }

    /// Returns the drawing as SVG text, whose description lists the boxes.
    pub fn svg(&self) -> String {
        let head = TITLE_SIZE * 1.6 + text::SIZE * 1.6 + HEADING_SIZE * 2.0;
        let tallest = self.columns.iter().map(DiagramColumn::height).fold(0.0, f64::max);
        let column_width = WIDTH + 2.0 * SIDE;
        let title_width = text::width(&self.title, TITLE_SIZE).max(text::width(&self.note, text::SIZE));
        let width = (column_width * self.columns.len() as f64).max(title_width) + 2.0 * MARGIN;
        let height = head + tallest + 2.0 * MARGIN + GAP;
        let mut svg = Svg::new(width, height.ceil(), &self.title, self.theme);
        svg.description(&self.description());
        let style = TextStyle::plain(Anchor::Start);
        svg.text(MARGIN, MARGIN + TITLE_SIZE * 0.85, &self.title, style.strong(TITLE_SIZE));
        svg.text(MARGIN, MARGIN + TITLE_SIZE * 1.6 + text::SIZE * 0.85, &self.note, style.quiet());
        let bottom = height - MARGIN;
        let mut placed = Vec::new();
        for (number, column) in self.columns.iter().enumerate() {
            let x = MARGIN + column_width * number as f64 + SIDE;
            let side = if number == 0 { OuterSide::Left } else { OuterSide::Right };
            let top = bottom - column.height();
            let heading = TextStyle::plain(Anchor::Middle).strong(HEADING_SIZE);
            svg.text(x + WIDTH / 2.0, top - GAP, &column.heading, heading);
            draw_column(&mut svg, column, x, bottom, side, &mut placed);
        }
        for (number, link) in self.links.iter().enumerate() {
            draw_link(&mut svg, link, number, &placed);
        }
        svg.finish()
    }

    /// The boxes in words.
    fn description(&self) -> String {
        let of_box = |one: &DiagramBox| match &one.details[..] {
            [] => one.title.clone(),
            details => format!("{} ({})", one.title, details.join("; ")),
        };
        let of_part = |part: &DiagramPart| {
            let boxes = part.boxes().iter().map(of_box).collect::<Vec<_>>().join(", ");
            match part {
                DiagramPart::Box(_) => boxes,
                DiagramPart::Frame { label, .. } => format!("{label} of: {boxes}"),
            }
        };
        let of_column = |column: &DiagramColumn| {
            let parts: Vec<String> = column.parts.iter().map(of_part).collect();
            format!("{}, from the bottom up: {}.", column.heading, parts.join(", "))
        };
        self.columns.iter().map(of_column).collect::<Vec<_>>().join(" ")
    }
}

/// The height below a box, where a line around it begins.
struct Foot {
    y: f64,
    /// Whether no arrow enters the box there.
    is_apart: bool,
    /// Whether the box has an arrow to itself.
    has_loop: bool,
}

/// A box where it was drawn.
struct Placed<'a> {
    name: &'a str,
    area: Area,
}

fn draw_column<'a>(
    svg: &mut Svg,
    column: &'a DiagramColumn,
    x: f64,
    bottom: f64,
    side: OuterSide,
    placed: &mut Vec<Placed<'a>>,
) {
    let mut y = bottom;
    // The heights below each box so far, at which lines around boxes begin.
    let mut feet = Vec::new();
    for (number, part) in column.parts.iter().enumerate() {
        let foot = y;
        if let DiagramPart::Frame { label, .. } = part {
            let height = part.height();
            let frame = Area { x: x - SIDE / 2.0 - 6.0, y: y - height, width: WIDTH + SIDE + 12.0, height };
            svg.rounded(frame, color::QUIET, 0.06);
            let at = match side {
                OuterSide::Left => (frame.x + 10.0, Anchor::Start),
                OuterSide::Right => (frame.x + frame.width - 10.0, Anchor::End),
            };
            let style = TextStyle::plain(at.1).strong(HEADING_SIZE);
            svg.text(at.0, frame.y + 18.0, label, style);
            y -= PADDING + GAP / 2.0;
        }
        for (index, one) in part.boxes().iter().enumerate() {
            let area = Area { x, y: y - one.height(), width: WIDTH, height: one.height() };
            // Where an arrow enters the box from below.
            let from = if index == 0 { foot + if number == 0 { 0.0 } else { GAP } } else { y + GAP };
            if (number > 0 || index > 0) && !one.is_apart {
                svg.arrow(&[(x + WIDTH / 2.0, from), (x + WIDTH / 2.0, y)], color::QUIET);
            }
            feet.push(Foot {
                y: if index == 0 { y + PADDING.min(GAP / 2.0) } else { y + GAP / 2.0 },
                is_apart: one.is_apart,
                has_loop: one.again.is_some(),
            });
            draw_box(svg, one, area);
            draw_residual(svg, one, area, &feet, side);
            draw_loop(svg, one, area, side);
            placed.push(Placed { name: &one.name, area });
            y -= one.height() + GAP;
        }
        y += GAP;
        if let DiagramPart::Frame { .. } = part {
            let top = foot - part.height();
            if number + 1 < column.parts.len() {
                svg.polyline(
                    &[(x + WIDTH / 2.0, y), (x + WIDTH / 2.0, top)],
                    &Stroke::new(color::QUIET, 1.3),
                );
            }
            y = top;
        }
        y -= GAP;
    }
}

fn draw_box(svg: &mut Svg, one: &DiagramBox, area: Area) {
    svg.rounded(area, one.kind.color(), 0.18);
    let center = area.x + area.width / 2.0;
    let title = text::shorten(&one.title, 13.0, area.width - 8.0);
    svg.text(center, area.y + 19.0, &title, TextStyle::plain(Anchor::Middle).strong(13.0));
    for (number, detail) in one.details.iter().enumerate() {
        let y = area.y + 34.0 + DETAIL_HEIGHT * number as f64;
        let detail = text::shorten(detail, DETAIL_SIZE, area.width - 8.0);
        let style = TextStyle { size: DETAIL_SIZE, ..TextStyle::plain(Anchor::Middle).quiet() };
        svg.text(center, y, &detail, style);
    }
}

/// A line from below the boxes that it leads around to the side of `one`; `feet` are the heights below each
/// box so far.
fn draw_residual(svg: &mut Svg, one: &DiagramBox, area: Area, feet: &[Foot], side: OuterSide) {
    let Some(start) = one.around.and_then(|around| feet.len().checked_sub(around + 1)) else {
        return;
    };
    let height = if one.again.is_some() { area.height - 4.0 } else { area.height / 2.0 };
    // There is less room beside a loop.
    let passes_loop = feet[start..].iter().any(|foot| foot.has_loop);
    let distance = if passes_loop { 26.0 } else { 20.0 };
    let (edge, out) = outer(area, side, distance);
    let (center, end) = (area.x + area.width / 2.0, area.y + height);
    let Foot { y, is_apart, .. } = feet[start];
    let mut points = vec![(center, y), (out, y), (out, end), (edge, end)];
    if is_apart {
        points.insert(0, (center, y + GAP / 2.0));
    }
    svg.arrow(&points, color::QUIET);
}

fn draw_loop(svg: &mut Svg, one: &DiagramBox, area: Area, side: OuterSide) {
    let Some(label) = &one.again else { return };
    let (edge, out) = outer(area, side, 14.0);
    let (high, low) = (area.y + 9.0, area.y + area.height - 9.0);
    svg.arrow(&[(edge, high), (out, high), (out, low), (edge, low)], color::QUIET);
    let (x, anchor) = match side {
        OuterSide::Left => (edge - 4.0, Anchor::End),
        OuterSide::Right => (edge + 4.0, Anchor::Start),
    };
    let style = TextStyle { size: DETAIL_SIZE, ..TextStyle::plain(anchor).quiet() };
    svg.text(x, area.y + 4.0, label, style);
}

/// The outer edge of a box, and a point beside it.
fn outer(area: Area, side: OuterSide, distance: f64) -> (f64, f64) {
    match side {
        OuterSide::Left => (area.x, area.x - distance),
        OuterSide::Right => (area.x + area.width, area.x + area.width + distance),
    }
}

fn draw_link(svg: &mut Svg, link: &DiagramLink, number: usize, placed: &[Placed<'_>]) {
    let find = |name: &str| placed.iter().find(|one| one.name == name).map(|one| one.area);
    let (Some(from), Some(to)) = (find(&link.from), find(&link.to)) else {
        return;
    };
    let start = (from.x + from.width, from.y + from.height / 2.0);
    let end = (to.x, to.y + to.height / 2.0);
    let middle = (start.0 + end.0) / 2.0 - 14.0 * number as f64;
    let color = color::series(1);
    svg.arrow(&[start, (middle, start.1), (middle, end.1), end], color);
    let style = TextStyle { size: DETAIL_SIZE, ..TextStyle::plain(Anchor::End).quiet() };
    svg.text(end.0 - 8.0, end.1 - 5.0, &link.label, style);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagram() -> Diagram {
        let plain =
            |name: &str| DiagramBox::new(name, format!("The {name}"), DiagramKind::Attention).detail("a < b");
        let encoder = DiagramColumn {
            heading: "Encoder".into(),
            parts: vec![
                DiagramPart::Box(plain("tokens")),
                DiagramPart::Frame {
                    label: "× 6".into(),
                    boxes: vec![plain("attention"), plain("sum").around(1)],
                },
            ],
        };
        let decoder = DiagramColumn {
            heading: "Decoder".into(),
            parts: vec![DiagramPart::Box(plain("cell").again("h, c"))],
        };
        let link = DiagramLink { from: "sum".into(), to: "cell".into(), label: "keys".into() };
        Diagram::new("A & B", vec![encoder, decoder]).note("read upwards").link(link)
    }

    #[test]
    fn a_drawing_has_its_boxes_arrows_and_a_description() {
        let svg = diagram().svg();
        for text in
            ["A &amp; B", "The attention", "a &lt; b", "× 6", "h, c", "keys", "Encoder, from the bottom up:"]
        {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert_eq!(svg.matches("<polygon").count(), 5, "2 upwards, a residual connection, a loop and a link");
        assert!(!svg.contains("NaN"));
        assert_ne!(svg, diagram().theme(Theme::Dark).svg());
    }

    #[test]
    fn boxes_are_drawn_from_the_bottom_up() {
        let svg = diagram().svg();
        let height_of = |text: &str| {
            let line = svg.lines().find(|line| line.ends_with(&format!(">{text}</text>"))).expect("a box");
            let (_, rest) = line.split_once(" y=\"").expect("a height");
            rest.split_once('"').expect("its end").0.parse::<f64>().expect("a number")
        };
        assert!(height_of("The tokens") > height_of("The attention"));
        assert!(height_of("The attention") > height_of("The sum"));
    }
}
