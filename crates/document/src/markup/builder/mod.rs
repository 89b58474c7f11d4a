//! The text and the inline markup between two block boundaries, while they are being read.

mod enclosing;

use std::collections::HashSet;
use std::ops::Range;

use attentive_base::error::Result;
use attentive_base::ignorable::without_ignorable;

use self::enclosing::Opening;
use super::blanks::{Neighbor, Neighbors, ends_pair, is_space};
use super::tree::{Markup, MarkupEvent, MarkupKind, MarkupText};
use super::words::MarkupWords;
use super::{SourceFormat, TextRun};
use crate::placeables::{self, Markers, Placeable};
use crate::segmentation::{Segmentation, Split, TextPiece, pieces};
use crate::{Part, Segment};

/// Collects the collapsed text of a run, and tags with their places in it.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    how: Segmentation,
    format: SourceFormat,
    /// Text that was not yet searched for placeables, since it may go on.
    pending: String,
    /// Where its parts are in a source in which text may be escaped.
    spelled: Vec<Spelled>,
    /// The number of tags that were found in texts.
    tags: usize,
    range: Option<Range<usize>>,
    text: String,
    events: Vec<MarkupEvent>,
    /// The number of events before the last character of the text, and before the last blank.
    before_last: usize,
    before_blank: usize,
    /// The whitespace before the first and after the last visible content, as in the source.
    leading: Outside,
    trailing: Outside,
    begun: bool,
    /// True if whitespace follows the last character of the text.
    blank: bool,
    /// True if it contains a line break that ends a segment.
    broken: bool,
    /// The visible content since the last character of the text.
    between: Option<Between>,
    /// Brackets and quotation marks at the end of the text.
    openings: Vec<Opening>,
    /// Places of the text at which markup is between two characters without a blank.
    seams: Vec<usize>,
    after_break: bool,
}

/// A part of a text, and its bytes in the source, in which its first character may be escaped.
#[derive(Debug)]
struct Spelled {
    text: Range<usize>,
    source: Range<usize>,
}

/// Whitespace characters, each with the number of the events before it.
#[derive(Debug, Default)]
struct Outside(Vec<(usize, char)>);

impl Outside {
    /// Those with so many events before them.
    fn among(&self, events: Range<usize>) -> impl Iterator<Item = char> {
        self.0.iter().filter(move |(before, _)| events.contains(before)).map(|(_, c)| *c)
    }
}

/// Visible content between two characters of the text, and the neighbors of all of it.
#[derive(Clone, Debug)]
struct Between {
    neighbors: Neighbors,
    /// The number of the event that was the last of it.
    last: usize,
}

impl Builder {
    /// An empty builder for a text that will be divided as `how` says and written in `format`.
    pub(crate) fn new(how: Segmentation, format: SourceFormat) -> Self {
        Self { how, format, ..Self::default() }
    }

    /// True if a line break was read last. Two in a row separate paragraphs.
    pub(crate) fn ends_in_break(&self) -> bool {
        self.after_break && self.pending.trim().is_empty()
    }

    pub(crate) fn text(&mut self, text: &str, range: Range<usize>) {
        self.extend(&range);
        let start = self.pending.len();
        self.pending.push_str(text);
        if self.format == SourceFormat::Markdown {
            self.spelled.push(Spelled { text: start..self.pending.len(), source: range });
        }
    }

    /// The bytes of the source that spell `text`, a part of the text that is being read; none if that has no
    /// escapes, or other references than its own.
    fn spelling(&self, text: &Range<usize>) -> Option<Range<usize>> {
        let first = self.spelled.partition_point(|part| part.text.end <= text.start);
        let last = self.spelled.partition_point(|part| part.text.start < text.end).checked_sub(1)?;
        let place = |part: &Spelled, at: usize| match part.source.len().checked_sub(part.text.len()) {
            _ if at == part.text.start => part.source.start,
            // As it is, or with a backslash before it.
            Some(longer @ 0..=1) => part.source.start + at - part.text.start + longer,
            _ => part.source.end,
        };
        Some(place(self.spelled.get(first)?, text.start)..place(self.spelled.get(last)?, text.end))
    }

    /// Takes the text that has been read.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.pending);
        let found = if self.how.keep_placeables {
            let is_first = self.text.is_empty() && !self.begun;
            placeables::find(&text, if is_first { Markers::First } else { Markers::None })
        } else {
            Vec::new()
        };
        self.divided(&text, &found);
        self.spelled.clear();
    }

    /// Takes a text with its placeables.
    pub(crate) fn divided(&mut self, text: &str, placeables: &[Placeable]) {
        /// Tags in texts have higher numbers than any of the document.
        const FIRST: usize = 1 << (usize::BITS - 2);
        let (mut at, mut open) = (0, Vec::new());
        for Placeable { range, kind } in placeables {
            self.characters(&without_ignorable(&text[at..range.start]));
            at = range.end;
            let (range, own) = match self.spelling(range) {
                Some(source) => (source, None),
                None => (0..0, Some(MarkupText::Text(text[range.clone()].to_owned()))),
            };
            match kind {
                placeables::PlaceableKind::Other => self.visible_as(range, own),
                placeables::PlaceableKind::Open => {
                    let number = FIRST + 2 * self.tags;
                    self.tags += 1;
                    open.push(number);
                    self.event_as(range, own, MarkupKind::Open { number, pair: Some(number + 1) });
                }
                placeables::PlaceableKind::Close => {
                    let Some(number) = open.pop() else { continue };
                    self.event_as(range, own, MarkupKind::Close { number: number + 1, pair: Some(number) });
                }
            }
        }
        self.characters(&without_ignorable(&text[at..]));
    }

    fn characters(&mut self, text: &str) {
        for c in text.chars() {
            // Another blank right after what is kept must not come before it.
            if is_space(c) || self.between.is_some() && c.is_whitespace() {
                self.space();
                let breaks = matches!(self.how.split, Split::Lines | Split::Sentences);
                self.broken |= breaks && matches!(c, '\n' | '\r');
                let outside = if self.begun { &mut self.trailing } else { &mut self.leading };
                outside.0.push((self.events.len(), c));
            } else {
                self.character(c);
            }
        }
    }

    fn space(&mut self) {
        if !self.blank {
            // What takes no space and stands between a word and the blank after it stays at the word.
            let first = self.before_last.max(self.before_blank);
            for event in &mut self.events[first..] {
                if let MarkupKind::Hidden { follows } = &mut event.kind {
                    *follows = !self.text.is_empty();
                }
            }
            self.before_blank = self.events.len();
        }
        self.blank = true;
        self.follow(Neighbor::Blank);
    }

    /// Records what follows the last visible content, if nothing does yet.
    fn follow(&mut self, side: Neighbor) {
        if let Some(between) = &mut self.between
            && let MarkupKind::Visible(neighbors) = &mut self.events[between.last].kind
            && neighbors.after == Neighbor::Edge
        {
            neighbors.after = side;
            between.neighbors.after = side;
        }
    }

    fn character(&mut self, c: char) {
        if self.enclose(c) {
            return;
        }
        if c.is_alphanumeric() || self.openings.iter().any(|one| ends_pair(one.mark, c)) {
            self.openings.clear();
        }
        let opening = self.opening(c);
        self.follow(Neighbor::of(c));
        if let Some(last) = self.text.chars().next_back() {
            let blank = match &self.between {
                Some(between) => between.neighbors.leave_blank(last, c),
                None => self.blank,
            };
            if self.broken {
                self.text.push('\n');
            } else if blank {
                self.text.push(' ');
            } else if self.events.len() > self.before_last {
                self.seams.push(self.text.len());
            }
        }
        self.text.push(c);
        self.openings.extend(opening.map(|one| Opening { end: self.text.len(), ..one }));
        self.before_last = self.events.len();
        self.broken = false;
        self.between = None;
        self.see();
    }

    /// Records that visible content was read.
    fn see(&mut self) {
        self.begun = true;
        self.blank = false;
        self.after_break = false;
        self.trailing.0.clear();
    }

    /// Adds visible content that is not translated, such as an image or code.
    pub(crate) fn visible(&mut self, range: Range<usize>) {
        self.flush();
        self.visible_as(range, None);
    }

    fn visible_as(&mut self, range: Range<usize>, own: Option<MarkupText>) {
        let last = self.events.len();
        self.follow(Neighbor::Kept);
        let before = match &self.between {
            _ if self.blank => Neighbor::Blank,
            Some(_) => Neighbor::Kept,
            None => self.text.chars().next_back().map_or(Neighbor::Edge, Neighbor::of),
        };
        let neighbors = Neighbors { before, after: Neighbor::Edge };
        self.event_as(range, own, MarkupKind::Visible(neighbors));
        let between = self.between.get_or_insert(Between { neighbors, last });
        between.last = last;
        between.neighbors.after = Neighbor::Edge;
        self.see();
    }

    /// Adds content that takes no space, such as a comment.
    pub(crate) fn hidden(&mut self, range: Range<usize>) {
        self.event(range, MarkupKind::Hidden { follows: false });
    }

    pub(crate) fn line_break(&mut self, range: Range<usize>) {
        self.flush();
        self.space();
        self.event(range, MarkupKind::Hidden { follows: false });
        self.after_break = true;
    }

    /// Adds the start tag of an inline element, which is token `number` and ends at token `pair`.
    pub(crate) fn open(&mut self, range: Range<usize>, number: usize, pair: Option<usize>) {
        self.event(range, MarkupKind::Open { number, pair });
    }

    /// Adds the end tag of an inline element, which is token `number` and begins at token `pair`.
    pub(crate) fn close(&mut self, range: Range<usize>, number: usize, pair: Option<usize>) {
        self.event(range, MarkupKind::Close { number, pair });
    }

    /// [`Builder::close`], with `own` in place of the end tag in the source.
    pub(crate) fn close_as(&mut self, range: Range<usize>, own: String, number: usize, pair: Option<usize>) {
        self.flush();
        self.extend(&range);
        self.event_as(range, Some(MarkupText::Markup(own)), MarkupKind::Close { number, pair });
    }

    fn event(&mut self, range: Range<usize>, kind: MarkupKind) {
        self.flush();
        self.event_as(range, None, kind);
    }

    /// Adds markup that is written as `own` if it is not in the source.
    fn event_as(&mut self, range: Range<usize>, own: Option<MarkupText>, kind: MarkupKind) {
        if own.is_none() {
            self.extend(&range);
        }
        let at = self.text.len();
        self.events.push(MarkupEvent { range, own, at, kind });
    }

    fn extend(&mut self, range: &Range<usize>) {
        let start = self.range.as_ref().map_or(range.start, |all| all.start);
        let end = self.range.as_ref().map_or(range.end, |all| all.end.max(range.end));
        self.range = Some(start..end);
    }

    /// Appends what was read to `parts`, and its segments to `segments`.
    ///
    /// # Errors
    /// [`attentive_base::Error::Usage`] if elements are nested too deeply.
    pub(crate) fn finish(
        mut self,
        source: &str,
        fits: &dyn Fn(&str) -> bool,
        segments: &mut Vec<Segment>,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        self.flush();
        if self.how.has_words(&self.text) {
            parts.push(Part::Run(Box::new(self.run(source, fits, segments)?)));
        } else if let Some(range) = self.range {
            Part::keep(parts, &source[range]);
        }
        Ok(())
    }

    /// The finished run of a text without markup of its own that a model can read at once, and its segment.
    pub(crate) fn finish_plain(self) -> (TextRun, Segment) {
        let mut segments = Vec::new();
        let run = self.run("", &|_| true, &mut segments).expect("tags in texts are not nested too deeply");
        (run, segments.pop().unwrap_or_default())
    }

    /// Returns the finished run and appends its segments to `segments`.
    fn run(self, source: &str, fits: &dyn Fn(&str) -> bool, segments: &mut Vec<Segment>) -> Result<TextRun> {
        let (leading, inner, trailing) = self.ends(source);
        let found = pieces(&self.text, &self.seams, self.how, fits);
        let pieces: Vec<_> = found.iter().map(|piece| piece.range.clone()).collect();
        let events = &self.events[inner];
        let cuts: Vec<usize> = events.iter().map(|event| event.at).collect();
        let gaps = gaps(&self.text, &pieces);
        let words = MarkupWords::new(&self.text, &gaps, &pieces, &cuts);
        let markup = Markup::nest(source, events, &words)?;
        let first = segments.len();
        let marks: Vec<usize> = cuts.iter().map(|&cut| words.unit_at(cut)).collect();
        for (number, TextPiece { range, touches }) in found.into_iter().enumerate() {
            let units = words.units_of_piece(number);
            let next = marks.partition_point(|&mark| mark <= units.start);
            segments.push(Segment {
                text: self.text[range].to_owned(),
                needs_alignment: marks.get(next).is_some_and(|&mark| mark < units.end),
                touches,
            });
        }
        Ok(TextRun {
            format: self.format,
            segments: first..segments.len(),
            gaps,
            text: self.text,
            words,
            markup,
            leading,
            trailing,
        })
    }

    /// What is kept before the content, the events within it, and what is kept after it. Markup that takes no
    /// space and has no counterpart within the content is kept with the whitespace around it.
    fn ends(&self, source: &str) -> (String, Range<usize>, String) {
        let count = self.events.len();
        let numbers: HashSet<usize> = self.events.iter().filter_map(|event| event.kind.number()).collect();
        let is_outside = |event: &MarkupEvent| match event.kind {
            MarkupKind::Open { pair, .. } | MarkupKind::Close { pair, .. } => {
                pair.is_none_or(|pair| !numbers.contains(&pair))
            }
            MarkupKind::Visible(_) => false,
            MarkupKind::Hidden { .. } => true,
        };
        let is_before = |event: &&MarkupEvent| event.at == 0 && is_outside(event);
        let is_after = |event: &&MarkupEvent| event.at == self.text.len() && is_outside(event);
        let first = self.events.iter().take_while(is_before).count();
        let last = count - self.events[first..].iter().rev().take_while(is_after).count();
        let all = self.range.clone().unwrap_or_default();
        let kept = |range: Range<usize>| &source[range];
        let mut leading = match first {
            0 => String::new(),
            first => kept(all.start..self.events[first - 1].range.end).to_owned(),
        };
        leading.extend(self.leading.among(first..usize::MAX));
        let mut trailing: String = self.trailing.among(0..last + 1).collect();
        if let Some(event) = self.events.get(last) {
            trailing.push_str(kept(event.range.start..all.end));
        } else {
            trailing.extend(self.trailing.among(last + 1..usize::MAX));
        }
        (leading, first..last, trailing)
    }
}

/// The text before, between and after the pieces.
fn gaps(text: &str, pieces: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = [0].into_iter().chain(pieces.iter().map(|piece| piece.end));
    let ends = pieces.iter().map(|piece| piece.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}
