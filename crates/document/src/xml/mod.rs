//! XML. Every element's text is a text of its own, unless the element stands among text ([`outline`]).

mod check;
mod outline;
mod tokens;

use std::ops::Range;

use attentive_base::error::Result;
use attentive_base::foreign::contain;

use self::outline::{Outline, Role};
use self::tokens::{Kind, Token};
use super::markup::Builder;
use super::{Document, Part, Segment, Split};

pub use self::outline::XmlTags;

/// Divides `source` at the elements that are texts of their own.
pub(super) fn read(
    source: &str,
    split: Split,
    tags: &XmlTags,
    fits: &dyn Fn(&str) -> bool,
) -> Result<Document> {
    let tokens = contain(|| {
        let tokens = tokens::tokens(source)?;
        check::check(source, &tokens).map(|()| tokens)
    })
    .map_err(|problem| check::broken(&problem, None))??;
    let outline = Outline::new(&tokens, tags);
    let mut reader = Reader {
        source,
        tokens: &tokens,
        outline: &outline,
        split,
        fits,
        builder: Builder::new(split),
        segments: Vec::new(),
        parts: Vec::new(),
    };
    let mut next = 0;
    while next < tokens.len() {
        next = reader.take(next)?;
    }
    reader.finish_run()?;
    Ok(Document { segments: reader.segments, parts: reader.parts })
}

struct Reader<'a> {
    source: &'a str,
    tokens: &'a [Token],
    outline: &'a Outline,
    split: Split,
    fits: &'a dyn Fn(&str) -> bool,
    /// The text and inline markup since the last boundary.
    builder: Builder,
    segments: Vec<Segment>,
    parts: Vec<Part>,
}

impl Reader<'_> {
    /// Reads token `number`, with its whole content if it is kept, and returns the number of the next token.
    fn take(&mut self, number: usize) -> Result<usize> {
        let Token { kind, range, pair, .. } = &self.tokens[number];
        let range = range.clone();
        match (kind, self.outline.role(number)) {
            (Kind::Text(text), _) => self.builder.text(text, range),
            (Kind::Other, _) => self.builder.hidden(range),
            (Kind::Reference, _) => self.builder.visible(range),
            (_, Role::Kept { inline }) => {
                let end = pair.unwrap_or(number);
                let range = range.start..self.tokens[end].range.end;
                if inline {
                    self.builder.visible(range);
                } else {
                    self.boundary(range)?;
                }
                return Ok(end + 1);
            }
            (_, Role::Boundary) => self.boundary(range)?,
            (Kind::Start(_), Role::Inline) => self.builder.open(range, number, *pair),
            (Kind::End, Role::Inline) => self.builder.close(range, number, *pair),
            (Kind::Empty(_), Role::Inline) => self.builder.visible(range),
        }
        Ok(number + 1)
    }

    /// Takes markup that separates texts.
    fn boundary(&mut self, range: Range<usize>) -> Result<()> {
        self.finish_run()?;
        Part::keep(&mut self.parts, &self.source[range]);
        Ok(())
    }

    fn finish_run(&mut self) -> Result<()> {
        let builder = std::mem::replace(&mut self.builder, Builder::new(self.split));
        builder.finish(self.source, self.fits, &mut self.segments, &mut self.parts)
    }
}
