//! Text with inline markup, to be translated.

use std::ops::Range;

use super::placer::Placer;
use super::target::Target;
use super::tree::Markup;
use super::words::Words;
use crate::{Segment, Translated};

/// The content between two block boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The numbers of its segments.
    pub(super) segments: Range<usize>,
    /// Its text, with whitespace collapsed.
    pub(super) text: String,
    /// The text before, between and after its segments.
    pub(super) gaps: Vec<Range<usize>>,
    pub(super) words: Words,
    pub(super) markup: Markup,
    /// Whitespace before and after all content, as in the source.
    pub(super) leading: String,
    pub(super) trailing: String,
}

impl Run {
    /// Appends the run with its segments translated; `translations` holds those of the whole document.
    pub(crate) fn render(&self, segments: &[Segment], translations: &[Translated], out: &mut String) {
        let range = self.segments.clone();
        let target = Target::new(self, &segments[range.clone()], &translations[range]);
        out.push_str(&self.leading);
        Placer::new(&self.markup, self.words.unit_count(), &target).write(out);
        out.push_str(&self.trailing);
    }
}
