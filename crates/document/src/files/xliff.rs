//! XLIFF, versions 1.2 and 2.

use std::collections::HashSet;
use std::ops::Range;

use attentive_base::error::Result;

use super::broken;
use crate::markup::{Collector, SourceFormat};
use crate::xml::{XmlToken, XmlTokenKind, checked, kept};
use crate::{Document, Segmentation};

/// Elements of sources whose content is code.
const CODE: [&str; 5] = ["bpt", "ept", "it", "ph", "sub"];

/// Puts the text of each source into its target where this is empty or missing.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    let tokens = checked(source)?;
    if !tokens.iter().any(|token| local(token) == Some("xliff")) {
        return Err(broken("XLIFF", None, "it has no element `xliff`"));
    }
    let kept = kept(&tokens, &HashSet::new());
    let collector = Collector::new(source, how, SourceFormat::Markup, fits);
    let mut reader = Reader { source, tokens: &tokens, kept: &kept, collector, at: 0 };
    // A unit has one source; others would share its target.
    let mut done = HashSet::new();
    for (number, token) in tokens.iter().enumerate() {
        let is_source = local(token) == Some("source") && !kept[number];
        if let (true, Some(end)) = (is_source, token.pair) {
            let unit = token.parent.map_or("", |parent| local(&tokens[parent]).unwrap_or_default());
            if ["trans-unit", "segment"].contains(&unit) && done.insert(token.parent) {
                reader.unit(number, end)?;
            }
        }
    }
    reader.keep(source.len())?;
    reader.collector.finish()
}

/// The name of an element without its prefix.
fn local(token: &XmlToken) -> Option<&str> {
    match &token.kind {
        XmlTokenKind::Start(start) | XmlTokenKind::Empty(start) => Some(start.local()),
        _ => None,
    }
}

struct Reader<'a> {
    source: &'a str,
    tokens: &'a [XmlToken],
    /// Whether each token is in an element that is not to be translated.
    kept: &'a [bool],
    collector: Collector<'a>,
    /// The end of what was kept or translated.
    at: usize,
}

impl Reader<'_> {
    fn keep(&mut self, end: usize) -> Result<()> {
        self.collector.boundary(self.at..end)?;
        self.at = end;
        Ok(())
    }

    /// Takes the source that begins and ends with these tokens.
    fn unit(&mut self, start: usize, end: usize) -> Result<()> {
        let range = |number: usize| self.tokens[number].range.clone();
        let Some(target) = self.sibling(end, "target") else {
            let before =
                self.sibling(end, "seg-source").map_or(end, |one| self.tokens[one].pair.unwrap_or(one));
            self.keep(range(before).end)?;
            let name = self.name(start).replace("source", "target");
            self.collector.insert(&format!("<{name}>"))?;
            self.content(start, end)?;
            return self.collector.insert(&format!("</{name}>"));
        };
        let last = self.tokens[target].pair.unwrap_or(target);
        if !self.is_empty(target..last) {
            return Ok(());
        }
        self.keep(range(target).start)?;
        let tag = &self.source[range(target)];
        let open =
            tag.strip_suffix("/>").map_or_else(|| tag.to_owned(), |tag| format!("{}>", tag.trim_end()));
        self.collector.insert(&open)?;
        let comments =
            (target + 1..last).filter(|&number| matches!(self.tokens[number].kind, XmlTokenKind::Other));
        for comment in comments {
            self.collector.insert(&self.source[range(comment)])?;
        }
        self.content(start, end)?;
        self.collector.insert(&format!("</{}>", self.name(target)))?;
        self.at = range(last).end;
        Ok(())
    }

    /// The element `name` after the one that ends at token `end`, in the same element.
    fn sibling(&self, end: usize, name: &str) -> Option<usize> {
        let next = |number: usize| {
            Some(self.tokens.get(number)?.pair.filter(|&end| end > number).unwrap_or(number) + 1)
        };
        let after = std::iter::successors(Some(end + 1), |&number| next(number));
        let mut after = after.take_while(|&number| {
            self.tokens.get(number).is_some_and(|token| token.parent == self.tokens[end].parent)
        });
        after.find(|&number| local(&self.tokens[number]) == Some(name))
    }

    /// The name of the element that token `number` begins, with its prefix.
    fn name(&self, number: usize) -> &str {
        match &self.tokens[number].kind {
            XmlTokenKind::Start(start) | XmlTokenKind::Empty(start) => &start.name,
            _ => "",
        }
    }

    fn is_empty(&self, tokens: Range<usize>) -> bool {
        let mut inside = self.tokens[tokens].iter().skip(1);
        inside.all(|token| match &token.kind {
            XmlTokenKind::Text(text) => text.trim().is_empty(),
            XmlTokenKind::Other | XmlTokenKind::End => true,
            XmlTokenKind::Start(start) => start.is_cdata,
            _ => false,
        })
    }

    /// Takes the content of a source, between these tokens.
    fn content(&mut self, start: usize, end: usize) -> Result<()> {
        let mut number = start + 1;
        while number < end {
            let XmlToken { kind, range, pair, .. } = &self.tokens[number];
            let run = &mut self.collector.run;
            let is_code = local(&self.tokens[number]).is_some_and(|name| CODE.contains(&name));
            match (kind, pair) {
                (XmlTokenKind::Text(text), _) => run.text(text, range.clone()),
                (XmlTokenKind::Other, _) => run.hidden(range.clone()),
                (XmlTokenKind::Reference | XmlTokenKind::Empty(_), _) => run.visible(range.clone()),
                (XmlTokenKind::Start(_), Some(last)) if is_code || self.kept[number] => {
                    run.visible(range.start..self.tokens[*last].range.end);
                    number = *last;
                }
                (XmlTokenKind::Start(_), _) => run.open(range.clone(), number, *pair),
                (XmlTokenKind::End, _) => run.close(range.clone(), number, *pair),
            }
            number += 1;
        }
        self.collector.end_run()
    }
}
