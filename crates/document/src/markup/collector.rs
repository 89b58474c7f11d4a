//! A document while it is being read.

use std::ops::Range;

use attentive_base::error::Result;

use super::Builder;
use crate::{Document, Part, Segment, Split};

/// Collects the parts of a document: text with markup inside, and markup that separates texts.
pub(crate) struct Collector<'a> {
    source: &'a str,
    split: Split,
    fits: &'a dyn Fn(&str) -> bool,
    /// The text and inline markup since the last boundary.
    pub(crate) run: Builder,
    segments: Vec<Segment>,
    parts: Vec<Part>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(source: &'a str, split: Split, fits: &'a dyn Fn(&str) -> bool) -> Self {
        Self { source, split, fits, run: Builder::new(split), segments: Vec::new(), parts: Vec::new() }
    }

    /// Takes markup that separates texts.
    pub(crate) fn boundary(&mut self, range: Range<usize>) -> Result<()> {
        self.end_run()?;
        Part::keep(&mut self.parts, &self.source[range]);
        Ok(())
    }

    /// Ends the text that is being read.
    pub(crate) fn end_run(&mut self) -> Result<()> {
        let run = std::mem::replace(&mut self.run, Builder::new(self.split));
        run.finish(self.source, self.fits, &mut self.segments, &mut self.parts)
    }

    pub(crate) fn finish(mut self) -> Result<Document> {
        self.end_run()?;
        Ok(Document { segments: self.segments, parts: self.parts })
    }
}
