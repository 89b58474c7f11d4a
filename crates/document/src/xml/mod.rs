//! XML. Every element's text is a text of its own, unless the element stands among text ([`outline`]).

mod check;
mod outline;
mod tokens;

use attentive_base::error::Result;
use attentive_base::foreign::contain;

pub(super) use self::outline::kept;
use self::outline::{Outline, TagRole};
pub(super) use self::tokens::{XmlToken, XmlTokenKind};
use super::markup::{Collector, SourceFormat};
use super::{Document, Segmentation, html};

pub use self::outline::XmlTags;

/// Divides `source` at the elements that are texts of their own.
pub(super) fn read(
    source: &str,
    how: Segmentation,
    tags: &XmlTags,
    fits: &dyn Fn(&str) -> bool,
) -> Result<Document> {
    let tokens = checked(source)?;
    let outline = Outline::new(&tokens, tags);
    let mut reader = Reader {
        tokens: &tokens,
        outline: &outline,
        how,
        collector: Collector::new(source, how, SourceFormat::Markup, fits),
    };
    let mut next = 0;
    while next < tokens.len() {
        next = reader.take(next)?;
    }
    reader.collector.finish()
}

/// The tokens of `source`.
///
/// # Errors
/// [`attentive_base::Error::Usage`] if it is not well-formed, with line and column.
pub(super) fn checked(source: &str) -> Result<Vec<XmlToken>> {
    let read = || {
        let tokens = tokens::tokens(source)?;
        check::check(source, &tokens).map(|()| tokens)
    };
    contain(read).map_err(|problem| check::broken(&problem, None))?
}

struct Reader<'a> {
    tokens: &'a [XmlToken],
    outline: &'a Outline,
    how: Segmentation,
    collector: Collector<'a>,
}

impl Reader<'_> {
    /// Reads token `number`, with its whole content if it is kept, and returns the number of the next token.
    fn take(&mut self, number: usize) -> Result<usize> {
        let XmlToken { kind, range, pair, .. } = &self.tokens[number];
        let range = range.clone();
        match (kind, self.outline.role(number)) {
            (_, TagRole::Kept { inline }) => {
                let end = pair.unwrap_or(number);
                let range = range.start..self.tokens[end].range.end;
                if inline {
                    self.collector.run.visible(range);
                } else {
                    self.collector.boundary(range)?;
                }
                return Ok(end + 1);
            }
            (XmlTokenKind::Text(text), _) => self.collector.run.text(text, range),
            (XmlTokenKind::Other, _) => self.collector.run.hidden(range),
            (XmlTokenKind::Reference, _) => self.collector.run.visible(range),
            (XmlTokenKind::Start(start), TagRole::Inline)
                if html::is_note(start.local()) && self.has_no_words(number) =>
            {
                let end = pair.unwrap_or(number);
                self.collector.run.visible(range.start..self.tokens[end].range.end);
                return Ok(end + 1);
            }
            (_, TagRole::Boundary) => self.collector.boundary(range)?,
            (XmlTokenKind::Start(_), TagRole::Inline) => self.collector.run.open(range, number, *pair),
            (XmlTokenKind::End, TagRole::Inline) => self.collector.run.close(range, number, *pair),
            (XmlTokenKind::Empty(_), TagRole::Inline) => self.collector.run.visible(range),
        }
        Ok(number + 1)
    }

    /// True if the short element that token `number` begins has nothing to translate.
    fn has_no_words(&self, number: usize) -> bool {
        const MAX_TOKENS: usize = 16;
        let inside = &self.tokens[number..self.tokens[number].pair.unwrap_or(number)];
        let has_words =
            |token: &XmlToken| matches!(&token.kind, XmlTokenKind::Text(text) if self.how.has_words(text));
        inside.len() <= MAX_TOKENS && !inside.iter().any(has_words)
    }
}
