//! Writes a translation with its markup.

use super::blanks::Side;
use super::tree::Point;
use super::{CDATA_END, CDATA_START};

/// Writes a text from its beginning to its end, with markup in between.
pub(super) struct Writer<'a> {
    text: &'a str,
    written: usize,
    out: String,
    /// The last character of the text.
    last: Option<char>,
    /// What was after the last content in the source, if that was not translated.
    after: Option<Side>,
    /// True within a CDATA section.
    in_cdata: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, written: 0, out: String::new(), last: None, after: None, in_cdata: false }
    }

    /// Writes the text up to byte `end`, if it is not written yet.
    pub(super) fn text_to(&mut self, end: usize) {
        let text = self.text;
        let Some(piece) = text.get(self.written..end).filter(|piece| !piece.is_empty()) else {
            return;
        };
        self.separate();
        self.written = end;
        self.last = piece.chars().next_back();
        self.after = None;
        for c in piece.chars() {
            match c {
                c if self.in_cdata => self.cdata(c),
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                // XML does not know HTML's `&nbsp;`.
                '\u{a0}' => self.out.push_str("&#160;"),
                c if is_forbidden(c) => {}
                c => self.out.push(c),
            }
        }
    }

    /// Writes the blank that is needed between what was kept last and the text that follows.
    fn separate(&mut self) {
        let next = self.text[self.written..].chars().next();
        if let (Some(after), Some(next)) = (self.after, next)
            && after.needs_blank_before(next)
        {
            self.blank();
        }
    }

    fn blank(&mut self) {
        self.out.push(' ');
        self.last = Some(' ');
        self.after = None;
    }

    /// Writes a character of a CDATA section, which is divided if it would end there.
    fn cdata(&mut self, c: char) {
        if is_forbidden(c) {
            return;
        }
        if c == '>' && self.out.ends_with("]]") {
            self.out.push_str(CDATA_END);
            self.out.push_str(CDATA_START);
        }
        self.out.push(c);
    }

    /// Writes a start tag.
    pub(super) fn open(&mut self, tag: &str) {
        self.in_cdata = tag == CDATA_START;
        self.separate();
        self.out.push_str(tag);
    }

    /// Writes an end tag.
    pub(super) fn close(&mut self, tag: &str) {
        self.in_cdata = false;
        self.out.push_str(tag);
    }

    /// Writes markup without content.
    pub(super) fn point(&mut self, point: &Point) {
        if let Some(sides) = point.visible {
            let needs_blank = match (self.after, self.last) {
                (Some(after), _) => after == Side::Blank || sides.before == Side::Blank,
                (None, Some(last)) => sides.before.needs_blank_after(last),
                (None, None) => false,
            };
            if needs_blank {
                self.blank();
            }
            self.after = Some(sides.after);
        }
        self.out.push_str(&point.html);
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

/// True for characters that documents must not have.
fn is_forbidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{7f}'..='\u{9f}')
        || matches!(c, '\u{fffe}' | '\u{ffff}')
}
