//! The text and the inline markup between two block boundaries, while they are being read.

use std::ops::Range;

use attentive_base::error::Result;

use super::Run;
use super::blanks::{Blanks, is_space};
use super::markup::{Event, Markup, What};
use super::words::Words;
use crate::Segment;
use crate::divide::{Piece, Split, pieces};

/// Collects the collapsed text of a run, and tags with their places in it.
#[derive(Debug, Default)]
pub(super) struct Builder {
    split: Split,
    range: Option<Range<usize>>,
    text: String,
    events: Vec<Event>,
    /// The whitespace before the first and after the last visible content, as in the source.
    leading: String,
    trailing: String,
    begun: bool,
    /// True if whitespace follows the last character of the text.
    blank: bool,
    /// True if it contains a line break that ends a segment.
    broken: bool,
    /// The visible content since the last character of the text.
    between: Option<Between>,
    after_break: bool,
}

/// Visible content between two characters of the text, and the blanks around all of it.
#[derive(Debug)]
struct Between {
    blanks: Blanks,
    /// The number of the event that was the last of it.
    last: usize,
}

impl Builder {
    /// An empty builder, whose text will be divided as `split` says.
    pub(super) fn new(split: Split) -> Self {
        Self { split, ..Self::default() }
    }

    /// The part of the source that has been read.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        self.range.clone()
    }

    /// True if there is anything to translate.
    pub(super) fn has_words(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }

    /// True if a line break was read last. Two in a row separate paragraphs.
    pub(super) fn ends_in_break(&self) -> bool {
        self.after_break
    }

    pub(super) fn text(&mut self, text: &str, range: Range<usize>) {
        self.extend(&range);
        for c in text.chars() {
            if is_space(c) {
                self.space();
                let breaks = matches!(self.split, Split::Lines | Split::Sentences);
                self.broken |= breaks && matches!(c, '\n' | '\r');
                let outside = if self.begun { &mut self.trailing } else { &mut self.leading };
                outside.push(c);
            } else {
                self.character(c);
            }
        }
    }

    fn space(&mut self) {
        self.blank = true;
        if let Some(between) = &mut self.between {
            between.blanks.after = true;
            if let What::Visible(blanks) = &mut self.events[between.last].what {
                blanks.after = true;
            }
        }
    }

    fn character(&mut self, c: char) {
        if let Some(last) = self.text.chars().next_back() {
            let blank = match &self.between {
                Some(between) => between.blanks.remain(last, c),
                None => self.blank,
            };
            if self.broken {
                self.text.push('\n');
            } else if blank {
                self.text.push(' ');
            }
        }
        self.text.push(c);
        self.broken = false;
        self.between = None;
        self.see();
    }

    /// Records that visible content was read.
    fn see(&mut self) {
        self.begun = true;
        self.blank = false;
        self.after_break = false;
        self.trailing.clear();
    }

    /// Adds visible content that is not translated, such as an image or code.
    pub(super) fn visible(&mut self, range: Range<usize>) {
        let before = self.blank;
        let last = self.events.len();
        let blanks = Blanks { before, after: false };
        self.event(range, What::Visible(blanks));
        let between = self.between.get_or_insert(Between { blanks, last });
        between.last = last;
        between.blanks.after = false;
        self.see();
    }

    /// Adds content that takes no space, such as a comment.
    pub(super) fn hidden(&mut self, range: Range<usize>) {
        self.event(range, What::Hidden);
    }

    pub(super) fn line_break(&mut self, range: Range<usize>) {
        self.space();
        self.event(range, What::Hidden);
        self.after_break = true;
    }

    /// Adds the start tag of an inline element, which is token `number` and ends at token `pair`.
    pub(super) fn open(&mut self, range: Range<usize>, number: usize, pair: Option<usize>) {
        self.event(range, What::Open { number, pair });
    }

    /// Adds the end tag of an inline element, which is token `number` and begins at token `pair`.
    pub(super) fn close(&mut self, range: Range<usize>, number: usize, pair: Option<usize>) {
        self.event(range, What::Close { number, pair });
    }

    fn event(&mut self, range: Range<usize>, what: What) {
        self.extend(&range);
        let at = self.text.len();
        self.events.push(Event { range, at, what });
    }

    fn extend(&mut self, range: &Range<usize>) {
        let start = self.range.as_ref().map_or(range.start, |all| all.start);
        self.range = Some(start..range.end);
    }

    /// Returns the finished run and appends its segments to `segments`.
    pub(super) fn finish(
        self,
        source: &str,
        fits: &dyn Fn(&str) -> bool,
        segments: &mut Vec<Segment>,
    ) -> Result<Run> {
        let found = pieces(&self.text, self.split, fits);
        let pieces: Vec<_> = found.iter().map(|piece| piece.range.clone()).collect();
        let cuts: Vec<usize> = self.events.iter().map(|event| event.at).collect();
        let words = Words::of_pieces(&self.text, &pieces, &cuts);
        let markup = Markup::nest(source, &self.events, &words)?;
        let first = segments.len();
        let marks: Vec<usize> = cuts.iter().map(|&cut| words.unit_at(cut)).collect();
        for (number, Piece { range, touches }) in found.into_iter().enumerate() {
            let units = words.units_of_piece(number);
            let next = marks.partition_point(|&mark| mark <= units.start);
            segments.push(Segment {
                text: self.text[range].to_owned(),
                needs_alignment: marks.get(next).is_some_and(|&mark| mark < units.end),
                touches,
            });
        }
        Ok(Run {
            segments: first..segments.len(),
            gaps: gaps(&self.text, &pieces),
            text: self.text,
            words,
            markup,
            leading: self.leading,
            trailing: self.trailing,
        })
    }
}

/// The text before, between and after the pieces.
fn gaps(text: &str, pieces: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = [0].into_iter().chain(pieces.iter().map(|piece| piece.end));
    let ends = pieces.iter().map(|piece| piece.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}
