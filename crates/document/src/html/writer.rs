//! Writes HTML.

use super::blanks::is_closing;
use super::markup::Point;

/// Writes a text from its beginning to its end, with markup in between.
pub(super) struct Writer<'a> {
    text: &'a str,
    written: usize,
    out: String,
    /// True if the last visible content was whitespace.
    after_blank: bool,
    /// True if the last visible content needs a blank after it.
    wants_blank: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, written: 0, out: String::new(), after_blank: true, wants_blank: false }
    }

    /// Writes the text up to byte `end`, if it is not written yet.
    pub(super) fn text_to(&mut self, end: usize) {
        let text = self.text;
        let Some(piece) = text.get(self.written..end).filter(|piece| !piece.is_empty()) else {
            return;
        };
        self.written = end;
        if self.wants_blank && !piece.starts_with(|c: char| c.is_whitespace() || is_closing(c)) {
            self.out.push(' ');
        }
        self.wants_blank = false;
        self.after_blank = piece.ends_with(char::is_whitespace);
        for c in piece.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                // XML does not know HTML's `&nbsp;`.
                '\u{a0}' => self.out.push_str("&#160;"),
                c => self.out.push(c),
            }
        }
    }

    /// Writes a start tag.
    pub(super) fn open(&mut self, tag: &str) {
        if self.wants_blank {
            self.out.push(' ');
            self.wants_blank = false;
            self.after_blank = true;
        }
        self.out.push_str(tag);
    }

    /// Writes an end tag.
    pub(super) fn close(&mut self, tag: &str) {
        self.out.push_str(tag);
    }

    /// Writes markup without content.
    pub(super) fn point(&mut self, point: &Point) {
        if let Some(blanks) = point.visible {
            if (blanks.before || self.wants_blank) && !self.after_blank {
                self.out.push(' ');
            }
            self.after_blank = false;
            self.wants_blank = blanks.after;
        }
        self.out.push_str(&point.html);
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}
