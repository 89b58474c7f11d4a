//! Writes a translation with its markup.

use std::collections::VecDeque;

use super::blanks::{Neighbor, Neighbors};
use super::source_format::{SourceFormat, begins_line, is_forbidden};
use super::tree::{Markup, MarkupNode, MarkupText, Point};
use super::{CDATA_END, CDATA_START};
use crate::html;

/// Writes a text from its beginning to its end, with markup in between.
pub(super) struct MarkupWriter<'a> {
    text: &'a str,
    format: SourceFormat,
    written: usize,
    out: String,
    /// The last character of the text.
    last: Option<char>,
    /// What was after the last content in the source, if that was not translated.
    after: Option<Neighbor>,
    /// True within a CDATA section.
    in_cdata: bool,
    /// The last character of a span of code, emphasis or a formula that ends here, in Markdown.
    closed: Option<u8>,
    /// Markup that would begin a block of its own at the beginning of a line.
    deferred: Vec<&'a MarkupText>,
    /// The placeholders of next arguments, of which the first one is always written next.
    arguments: VecDeque<&'a MarkupText>,
}

impl<'a> MarkupWriter<'a> {
    pub(super) fn new(text: &'a str, format: SourceFormat, markup: &'a Markup) -> Self {
        let arguments = markup.nodes.iter().filter_map(|node| match node {
            MarkupNode::Point(Point { mark, .. }) if mark.takes_next_argument() => Some(mark),
            _ => None,
        });
        Self {
            text,
            format,
            written: 0,
            out: String::new(),
            last: None,
            after: None,
            in_cdata: false,
            closed: None,
            deferred: Vec::new(),
            arguments: arguments.collect(),
        }
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
        if self.deferred.is_empty() {
            return self.write(piece);
        }
        let begin = piece.len() - piece.trim_start().len();
        let word = piece[begin..].find(char::is_whitespace).map_or(piece.len(), |len| begin + len);
        self.write(&piece[..word]);
        self.write_deferred();
        self.write(&piece[word..]);
    }

    fn write_deferred(&mut self) {
        for mark in std::mem::take(&mut self.deferred) {
            self.mark(mark);
        }
    }

    /// Writes text with its special characters as the format does.
    fn write(&mut self, text: &str) {
        self.closed = None;
        if self.in_cdata {
            text.chars().for_each(|c| self.cdata(c));
        } else {
            self.format.write(text, &mut self.out);
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

    /// Writes a start tag, and returns the place after it.
    pub(super) fn open(&mut self, tag: &MarkupText) -> usize {
        self.in_cdata |= tag.markup() == CDATA_START;
        self.separate();
        self.part_spans(tag);
        self.mark(tag);
        self.out.len()
    }

    /// Writes a blank if the span that `mark` begins would be one with the span before it.
    fn part_spans(&mut self, mark: &MarkupText) {
        if self.closed.is_some() && self.closed == mark.markup().bytes().next() {
            self.out.push(' ');
        }
    }

    fn mark(&mut self, mark: &MarkupText) {
        let next = if mark.takes_next_argument() { self.arguments.pop_front() } else { None };
        let mark = next.unwrap_or(mark);
        let tag = match mark {
            // Placeables are written as they are where nothing else is markup.
            MarkupText::Text(text) if self.in_cdata || self.format.has_references() => {
                return self.write(text);
            }
            MarkupText::Text(text) | MarkupText::Markup(text) => text,
        };
        if self.format == SourceFormat::Markdown && tag.starts_with('[') && self.out.ends_with('!') {
            // It would be an image.
            self.out.pop();
            self.out.push_str("\\!");
        }
        self.out.push_str(tag);
        self.closed = None;
    }

    /// Records that a span ends here which must not touch another one.
    fn span_ends(&mut self) {
        let is_span = |last: &u8| self.format == SourceFormat::Markdown && b"`$*_~".contains(last);
        self.closed = self.out.bytes().next_back().filter(is_span);
    }

    /// Writes the end tag of an element whose start tag is `open` and ends at `start`.
    pub(super) fn close(&mut self, open: &MarkupText, start: usize, tag: &MarkupText) {
        self.in_cdata &= open.markup() != CDATA_START;
        let open = open.markup();
        let is_mark = !open.is_empty() && open.bytes().all(|byte| b"*_~".contains(&byte));
        if self.format == SourceFormat::Markdown && is_mark && self.out.len() == start {
            // Marks around nothing would be text.
            self.out.truncate(self.out.len() - open.len());
        } else {
            self.mark(tag);
            self.span_ends();
        }
    }

    /// Writes markup without content.
    pub(super) fn point(&mut self, point: &'a Point) {
        if let Some(neighbors) = point.visible {
            self.approach(neighbors);
            self.after = Some(neighbors.after);
        } else if !point.follows {
            self.separate();
        }
        let markup = point.mark.markup();
        if self.format.ends_at_blank_lines() && markup.ends_with(['\n', '\r']) {
            self.line_break(markup);
        } else if self.format == SourceFormat::Markdown
            && begins_line(&self.out)
            && html::begins_block(markup)
        {
            self.deferred.push(&point.mark);
        } else {
            self.part_spans(&point.mark);
            self.mark(&point.mark);
            self.span_ends();
        }
    }

    /// Writes the blank that is needed before visible content with these neighbors.
    pub(super) fn approach(&mut self, neighbors: Neighbors) {
        let needs_blank = match (self.after, self.last) {
            (Some(after), _) => after == Neighbor::Blank || neighbors.before == Neighbor::Blank,
            (None, Some(last)) => neighbors.before.needs_blank_after(last),
            (None, None) => false,
        };
        if needs_blank {
            self.blank();
        }
    }

    /// Writes a line break where it makes no blank line, which would end the text.
    fn line_break(&mut self, text: &str) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.is_empty() && !self.out.ends_with(['\n', '\r']) {
            self.out.push_str(text);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.write_deferred();
        if self.format.ends_at_blank_lines() {
            while self.out.ends_with(['\n', '\r', ' ']) {
                let backslash = usize::from(self.out.ends_with("\\\n"));
                self.out.truncate(self.out.len() - 1 - backslash);
            }
        }
        self.out
    }
}
