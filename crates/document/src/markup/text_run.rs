//! Text with inline markup, to be translated.

use std::ops::Range;

use super::placer::Placer;
use super::source_format::SourceFormat;
use super::target_text::TargetText;
use super::tree::Markup;
use super::words::MarkupWords;
use crate::{Segment, TranslatedSegment};

/// The content between two block boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextRun {
    pub(super) format: SourceFormat,
    /// The numbers of its segments.
    pub(crate) segments: Range<usize>,
    /// Its text, with whitespace collapsed.
    pub(super) text: String,
    /// The text before, between and after its segments.
    pub(super) gaps: Vec<Range<usize>>,
    pub(super) words: MarkupWords,
    pub(super) markup: Markup,
    /// Whitespace before and after all content, as in the source.
    pub(super) leading: String,
    pub(super) trailing: String,
}

impl TextRun {
    /// The run with its segments counted from `first` on.
    pub(crate) fn at(mut self, first: usize) -> Self {
        let count = self.segments.len();
        self.segments = first..first + count;
        self
    }

    /// Word `number` of the source.
    pub(super) fn word_text(&self, number: usize) -> &str {
        let units = self.words.units_of_word(number);
        &self.text[self.words.bytes(units.start).start..self.words.bytes(units.end - 1).end]
    }

    /// Appends the run with its segments translated.
    pub(crate) fn render(&self, segments: &[Segment], translations: &[TranslatedSegment], out: &mut String) {
        let target = TargetText::new(self, segments, translations);
        out.push_str(&self.leading);
        Placer::new(&self.markup, self.words.unit_count(), &target, self.format).write(out);
        out.push_str(&self.trailing);
    }
}
