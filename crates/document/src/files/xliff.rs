//! XLIFF, versions 1.2 and 2.

use std::collections::HashSet;
use std::ops::Range;

use attentive_base::error::Result;

use crate::markup::{Collector, Form};
use crate::xml::{Kind, Token, checked};
use crate::{Document, Segmentation};

/// Elements of sources whose content is code.
const CODE: [&str; 5] = ["bpt", "ept", "it", "ph", "sub"];

/// Puts the text of each source into its target where this is empty or missing.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    let tokens = checked(source)?;
    let mut reader =
        Reader { source, tokens: &tokens, collector: Collector::new(source, how, Form::Markup, fits), at: 0 };
    let kept = kept(&tokens);
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
fn local(token: &Token) -> Option<&str> {
    match &token.kind {
        Kind::Start(start) | Kind::Empty(start) => Some(start.local()),
        _ => None,
    }
}

/// Whether each token is in an element that is not to be translated.
fn kept(tokens: &[Token]) -> Vec<bool> {
    let mut kept: Vec<bool> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let own = matches!(&token.kind, Kind::Start(start) | Kind::Empty(start) if start.kept);
        kept.push(own || token.parent.is_some_and(|parent| kept[parent]));
    }
    kept
}

struct Reader<'a> {
    source: &'a str,
    tokens: &'a [Token],
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
        let parent = self.tokens[start].parent;
        let sibling = |name: &str| {
            let same = |&number: &usize| self.tokens[number].parent == parent;
            let after = end + 1..self.tokens.len();
            let within = parent.and_then(|parent| self.tokens[parent].pair).unwrap_or(self.tokens.len());
            after
                .take_while(|&number| number < within)
                .filter(same)
                .find(|&n| local(&self.tokens[n]) == Some(name))
        };
        let range = |number: usize| self.tokens[number].range.clone();
        let Some(target) = sibling("target") else {
            let before = sibling("seg-source").and_then(|one| self.tokens[one].pair).unwrap_or(end);
            self.keep(range(before).end)?;
            self.collector.insert("<target>")?;
            self.content(start, end)?;
            return self.collector.insert("</target>");
        };
        let last = self.tokens[target].pair.unwrap_or(target);
        if !self.is_empty(target..last) {
            return Ok(());
        }
        self.keep(range(target).start)?;
        let tag = &self.source[range(target)];
        let name = match &self.tokens[target].kind {
            Kind::Start(start) | Kind::Empty(start) => start.name.clone(),
            _ => "target".to_owned(),
        };
        let open =
            tag.strip_suffix("/>").map_or_else(|| tag.to_owned(), |tag| format!("{}>", tag.trim_end()));
        self.collector.insert(&open)?;
        self.content(start, end)?;
        self.collector.insert(&format!("</{name}>"))?;
        self.at = range(last).end;
        Ok(())
    }

    fn is_empty(&self, tokens: Range<usize>) -> bool {
        let mut inside = self.tokens[tokens].iter().skip(1);
        inside.all(|token| match &token.kind {
            Kind::Text(text) => text.trim().is_empty(),
            Kind::Other => true,
            _ => false,
        })
    }

    /// Takes the content of a source, between these tokens.
    fn content(&mut self, start: usize, end: usize) -> Result<()> {
        let mut number = start + 1;
        while number < end {
            let Token { kind, range, pair, .. } = &self.tokens[number];
            let run = &mut self.collector.run;
            let is_code = local(&self.tokens[number]).is_some_and(|name| CODE.contains(&name));
            match (kind, pair) {
                (Kind::Text(text), _) => run.text(text, range.clone()),
                (Kind::Other, _) => run.hidden(range.clone()),
                (Kind::Reference | Kind::Empty(_), _) => run.visible(range.clone()),
                (Kind::Start(inside), Some(last)) if is_code || inside.kept => {
                    run.visible(range.start..self.tokens[*last].range.end);
                    number = *last;
                }
                (Kind::Start(_), _) => run.open(range.clone(), number, *pair),
                (Kind::End, _) => run.close(range.clone(), number, *pair),
            }
            number += 1;
        }
        self.collector.end_run()
    }
}
