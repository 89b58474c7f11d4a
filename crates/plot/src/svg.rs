//! The text of an SVG document.

use std::fmt::{self, Display, Write};

use super::area::Area;
use super::color::{self, Theme};
use super::text;

/// An SVG document being written.
#[derive(Debug)]
pub(super) struct Svg {
    text: String,
    theme: Theme,
}

/// A coordinate or length: at most two decimals, without trailing zeros.
#[derive(Clone, Copy)]
pub(super) struct SvgNumber(pub(super) f64);

impl Display for SvgNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // Avoids the minus sign of negative zero.
        write!(f, "{}", if rounded == 0.0 { 0.0 } else { rounded })
    }
}

/// Text escaped for an element or attribute.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML allows neither control characters, not even as references, nor these two.
                c if c.is_control() => f.write_char(' ')?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Horizontal alignment of text relative to its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub(super) anchor: Anchor,
    pub(super) size: f64,
    pub(super) color: &'static str,
    pub(super) weight: FontWeight,
    /// Rotation in degrees, clockwise, around the text's coordinates.
    pub(super) turn: f64,
}

/// Font weight and color of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FontWeight {
    Normal,
    Strong,
}

impl TextStyle {
    pub(super) const fn plain(anchor: Anchor) -> Self {
        Self { anchor, size: text::SIZE, color: color::TEXT, weight: FontWeight::Normal, turn: 0.0 }
    }

    pub(super) const fn quiet(self) -> Self {
        Self { color: color::QUIET, ..self }
    }

    pub(super) const fn strong(self, size: f64) -> Self {
        Self { size, weight: FontWeight::Strong, ..self }
    }

    pub(super) const fn turned(self, turn: f64) -> Self {
        Self { turn, ..self }
    }
}

impl Svg {
    /// An empty picture with an accessible `title`.
    pub(super) fn new(width: f64, height: f64, title: &str, theme: Theme) -> Self {
        let (w, h) = (SvgNumber(width), SvgNumber(height));
        let (title, paper) = (Escaped(title), theme.shade(color::PAPER));
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" \
             font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', \
             sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"{paper}\"/>\n"
        );
        Self { text, theme }
    }

    /// Closes the document and returns it.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }

    /// Draws text with its baseline at `y`.
    pub(super) fn text(&mut self, x: f64, y: f64, content: &str, style: TextStyle) {
        let TextStyle { anchor, size, color, weight, turn } = style;
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = match weight {
            FontWeight::Normal => "",
            FontWeight::Strong => " font-weight=\"600\"",
        };
        let (x, y, color) = (SvgNumber(x), SvgNumber(y), self.theme.shade(color));
        let turn = match turn {
            0.0 => String::new(),
            turn => format!(" transform=\"rotate({} {x} {y})\"", SvgNumber(turn)),
        };
        self.line(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{color}\"{anchor}{weight}{turn}>{}</text>",
            SvgNumber(size),
            Escaped(content)
        ));
    }

    /// Draws a filled rectangle.
    pub(super) fn rect(&mut self, area: Area, fill: &str) {
        let Area { x, y, width, height } = area;
        let fill = self.theme.shade(fill);
        self.line(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            SvgNumber(x),
            SvgNumber(y),
            SvgNumber(width),
            SvgNumber(height)
        ));
    }

    /// Describes the picture for those who do not see it.
    pub(super) fn description(&mut self, text: &str) {
        self.line(format_args!("<desc>{}</desc>", Escaped(text)));
    }

    /// Draws a rectangle with round corners, whose color is only hinted at within.
    pub(super) fn rounded(&mut self, area: Area, color: &str, opacity: f64) {
        let Area { x, y, width, height } = area;
        let color = self.theme.shade(color);
        self.line(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{color}\" \
             fill-opacity=\"{}\" stroke=\"{color}\"/>",
            SvgNumber(x),
            SvgNumber(y),
            SvgNumber(width),
            SvgNumber(height),
            SvgNumber(opacity)
        ));
    }

    /// Draws a line through `points` with an arrowhead at its end; the last part is horizontal or vertical.
    pub(super) fn arrow(&mut self, points: &[(f64, f64)], color: &'static str) {
        const LONG: f64 = 7.0;
        const WIDE: f64 = 3.5;
        self.polyline(points, &Stroke::new(color, 1.3));
        let [.., before, (x, y)] = *points else { return };
        let (dx, dy) = ((x - before.0).signum(), (y - before.1).signum());
        let (dx, dy) = if x == before.0 { (0.0, dy) } else { (dx, 0.0) };
        let back = (x - LONG * dx, y - LONG * dy);
        let corners =
            [(x, y), (back.0 + WIDE * dy, back.1 + WIDE * dx), (back.0 - WIDE * dy, back.1 - WIDE * dx)];
        let [a, b, c] = corners.map(|(x, y)| format!("{},{}", SvgNumber(x), SvgNumber(y)));
        let color = self.theme.shade(color);
        self.line(format_args!("<polygon points=\"{a} {b} {c}\" fill=\"{color}\"/>"));
    }

    /// Draws the outline of a rectangle.
    pub(super) fn outline(&mut self, area: Area, color: &str) {
        let Area { x, y, width, height } = area;
        let color = self.theme.shade(color);
        self.line(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{color}\"/>",
            SvgNumber(x),
            SvgNumber(y),
            SvgNumber(width),
            SvgNumber(height)
        ));
    }

    /// Draws a straight line.
    pub(super) fn segment(&mut self, from: (f64, f64), to: (f64, f64), stroke: &Stroke) {
        self.polyline(&[from, to], stroke);
    }

    /// Draws a line through `points`.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        let mut list = String::new();
        for (x, y) in points {
            let blank = if list.is_empty() { "" } else { " " };
            // Writing to a string cannot fail.
            let _ = write!(list, "{blank}{},{}", SvgNumber(*x), SvgNumber(*y));
        }
        let Stroke { color, width, opacity, dashes } = stroke;
        let color = self.theme.shade(color);
        let dashes = dashes.map_or(String::new(), |d| format!(" stroke-dasharray=\"{d}\""));
        let opacity = match *opacity {
            1.0 => String::new(),
            opacity => format!(" stroke-opacity=\"{}\"", SvgNumber(opacity)),
        };
        self.line(format_args!(
            "<polyline points=\"{list}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\"{opacity}{dashes}/>",
            SvgNumber(*width)
        ));
    }

    pub(super) fn ring(&mut self, (x, y): (f64, f64), radius: f64, stroke: &Stroke) {
        let color = self.theme.shade(stroke.color);
        self.line(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\"/>",
            SvgNumber(x),
            SvgNumber(y),
            SvgNumber(radius),
            SvgNumber(stroke.width)
        ));
    }

    /// Draws a dot.
    pub(super) fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        let fill = self.theme.shade(fill);
        self.line(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{fill}\"/>",
            SvgNumber(x),
            SvgNumber(y),
            SvgNumber(radius)
        ));
    }

    /// Clips everything drawn by `draw` to `area`; coordinates remain relative to the picture.
    pub(super) fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        let [x, y, w, h] = [area.x, area.y, area.width, area.height].map(SvgNumber);
        self.line(format_args!(
            "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\" \
             overflow=\"hidden\">"
        ));
        draw(self);
        self.line("</svg>");
    }

    /// Writes a line of the document verbatim.
    pub(super) fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// Style of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub(super) color: &'static str,
    pub(super) width: f64,
    pub(super) opacity: f64,
    pub(super) dashes: Option<&'static str>,
}

impl Stroke {
    pub(super) const fn new(color: &'static str, width: f64) -> Self {
        Self { color, width, opacity: 1.0, dashes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_is_escaped() {
        let mut svg = Svg::new(10.0, 10.0, "a < b & \"c\"", Theme::Light);
        svg.text(1.0, 2.0, "<b>'x' & y\u{1}</b>", TextStyle::plain(Anchor::End));
        let text = svg.finish();
        assert!(text.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
        assert!(text.contains(">&lt;b&gt;&#39;x&#39; &amp; y &lt;/b&gt;</text>"));
    }

    #[test]
    fn numbers_are_short() {
        let text = |x| SvgNumber(x).to_string();
        assert_eq!(text(1.0), "1");
        assert_eq!(text(-0.001), "0");
        assert_eq!(text(2.0 / 3.0), "0.67");
        assert_eq!(text(1e6), "1000000");
    }
}
