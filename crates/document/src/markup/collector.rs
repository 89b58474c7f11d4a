//! A document while it is being read.

use std::ops::Range;

use attentive_base::error::Result;

use super::{Builder, SourceFormat};
use crate::{Document, Part, Segment, Segmentation};

/// Collects the parts of a document: text with markup inside, and markup that separates texts.
pub(crate) struct Collector<'a> {
    source: &'a str,
    how: Segmentation,
    format: SourceFormat,
    fits: &'a dyn Fn(&str) -> bool,
    /// The text and inline markup since the last boundary.
    pub(crate) run: Builder,
    segments: Vec<Segment>,
    parts: Vec<Part>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        source: &'a str,
        how: Segmentation,
        format: SourceFormat,
        fits: &'a dyn Fn(&str) -> bool,
    ) -> Self {
        let run = Builder::new(how, format);
        Self { source, how, format, fits, run, segments: Vec::new(), parts: Vec::new() }
    }

    /// Takes markup that separates texts.
    pub(crate) fn boundary(&mut self, range: Range<usize>) -> Result<()> {
        self.end_run()?;
        Part::keep(&mut self.parts, &self.source[range]);
        Ok(())
    }

    /// Takes `text`, which stands between texts and is not in the source.
    pub(crate) fn insert(&mut self, text: &str) -> Result<()> {
        self.end_run()?;
        Part::keep(&mut self.parts, text);
        Ok(())
    }

    /// Takes a part of the document that was read by itself.
    pub(crate) fn append(&mut self, document: Document) -> Result<()> {
        self.end_run()?;
        let first = self.segments.len();
        self.segments.extend(document.segments);
        self.parts.extend(document.parts.into_iter().map(|part| match part {
            Part::Verbatim(text) => Part::Verbatim(text),
            Part::Plain(number) => Part::Plain(first + number),
            Part::Run(run) => {
                let own = run.segments.start;
                Part::Run(Box::new(run.at(first + own)))
            }
        }));
        Ok(())
    }

    /// Ends the text that is being read.
    pub(crate) fn end_run(&mut self) -> Result<()> {
        let run = std::mem::replace(&mut self.run, Builder::new(self.how, self.format));
        run.finish(self.source, self.fits, &mut self.segments, &mut self.parts)
    }

    pub(crate) fn finish(mut self) -> Result<Document> {
        self.end_run()?;
        Ok(Document { segments: self.segments, parts: self.parts })
    }
}
