//! HTML, read as a stream of tags and text. No tree of the document is built: blocks are kept as they are,
//! and only the inline elements of one block are paired and nested ([`super::markup`]).

mod elements;
mod pausing;
mod tokens;

pub(super) use elements::{begins_block, ends_text, is_note, is_void};
use tokens::{HtmlStartTag, HtmlToken, HtmlTokenKind};

use std::ops::Range;

use attentive_base::error::Result;

use super::markup::{Collector, SourceFormat, is_space};
use super::{Document, Segmentation};

/// The maximum depth of elements that ask for translation in others that forbid it.
const MAX_NESTING: usize = 16;

/// Divides `source` at its blocks.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    let tokens = tokens::tokens(source);
    let translated = tokens::translated(&tokens);
    let mut reader = Reader {
        tokens: &tokens,
        how,
        blocks: blocks_before(&tokens, &translated),
        translated,
        depth: 0,
        collector: Collector::new(source, how, SourceFormat::Markup, fits),
    };
    let mut next = 0;
    while next < tokens.len() {
        next = reader.take(next)?;
    }
    reader.collector.finish()
}

/// True if the content of the element that the start tag `tag` begins is kept as it is.
pub(super) fn keeps(tag: &str) -> bool {
    let first = tokens::tokens(tag).into_iter().next();
    matches!(first, Some(HtmlToken { kind: HtmlTokenKind::Start(start), .. }) if start.is_kept())
}

/// The number of tags of blocks before each token, without those in elements that are kept as they are, with
/// no tag in them that asks for translation.
fn blocks_before(tokens: &[HtmlToken], translated: &[usize]) -> Vec<usize> {
    let (mut count, mut kept_until) = (0, 0);
    let counts = tokens.iter().enumerate().map(|(number, token)| {
        let before = count;
        if number >= kept_until {
            count += usize::from(token.is_block_tag());
            if let HtmlTokenKind::Start(start) = &token.kind
                && start.is_kept()
            {
                let end = token.pair.unwrap_or(number);
                if first_in(translated, number..end).is_none() {
                    kept_until = end;
                }
            }
        }
        before
    });
    counts.collect()
}

/// The first of the ascending `numbers` within `range`.
fn first_in(numbers: &[usize], range: Range<usize>) -> Option<usize> {
    let first = numbers.partition_point(|&number| number < range.start);
    numbers.get(first).copied().filter(|&number| number < range.end)
}

struct Reader<'a> {
    tokens: &'a [HtmlToken],
    how: Segmentation,
    /// See [`blocks_before`].
    blocks: Vec<usize>,
    /// The numbers of the start tags that ask for translation, ascending.
    translated: Vec<usize>,
    /// The number of elements that are kept around what is read.
    depth: usize,
    collector: Collector<'a>,
}

impl Reader<'_> {
    /// Reads token `number`, with its whole content if it is a protected element, and returns the number of
    /// the next token.
    fn take(&mut self, number: usize) -> Result<usize> {
        let token = &self.tokens[number];
        let range = token.range.clone();
        match &token.kind {
            HtmlTokenKind::Text(text) => self.collector.run.text(text, range),
            HtmlTokenKind::Other => self.collector.run.hidden(range),
            HtmlTokenKind::Start(start) => return self.start(number, start),
            HtmlTokenKind::End(name) if elements::is_block(name) => self.collector.boundary(range)?,
            HtmlTokenKind::End(_) if token.pair.is_some_and(|start| self.has_blocks(start, number)) => {
                self.collector.boundary(range)?;
            }
            HtmlTokenKind::End(_) => self.collector.run.close(range, number, token.pair),
        }
        Ok(number + 1)
    }

    fn start(&mut self, number: usize, start: &HtmlStartTag) -> Result<usize> {
        let HtmlToken { range, pair, .. } = &self.tokens[number];
        let (range, name) = (range.clone(), start.name.as_str());
        let is_block = elements::is_block(name);
        let is_protected = start.is_kept()
            || name == "a" && self.text_of(number).is_some_and(|text| is_address(&text))
            || elements::is_note(name) && self.text_of(number).is_some_and(|text| !self.how.has_words(&text));
        if is_protected
            && !elements::is_void(name)
            && let Some(end) = self.end_of_protected(number, is_block, name)
        {
            if first_in(&self.translated, number + 1..end).is_some() && self.depth < MAX_NESTING {
                self.keep_around(number, end)?;
                return Ok(end);
            }
            let range = range.start..self.tokens[end - 1].range.end;
            match elements::is_visible(name) {
                _ if is_block => self.collector.boundary(range)?,
                true => self.collector.run.visible(range),
                false => self.collector.run.hidden(range),
            }
            return Ok(end);
        }
        match name {
            _ if is_block => self.collector.boundary(range)?,
            _ if pair.is_some_and(|end| self.has_blocks(number, end)) => self.collector.boundary(range)?,
            "br" if self.collector.run.ends_in_break() => {
                self.collector.run.line_break(range);
                self.collector.end_run()?;
            }
            "br" => self.collector.run.line_break(range),
            _ if !elements::is_void(name) => self.collector.run.open(range, number, *pair),
            _ if elements::is_visible(name) => self.collector.run.visible(range),
            _ => self.collector.run.hidden(range),
        }
        Ok(number + 1)
    }

    /// Keeps the block of tokens from `start` to `end`, but for the elements in it that ask for translation.
    fn keep_around(&mut self, start: usize, end: usize) -> Result<()> {
        let bytes = |from: usize, to: usize| self.tokens[from].range.start..self.tokens[to - 1].range.end;
        let mut at = start;
        while let Some(first) = first_in(&self.translated, at..end) {
            self.collector.boundary(bytes(at, first))?;
            let pair = self.tokens[first].pair.filter(|&last| last < end);
            // Without an end tag, the next block ends it.
            let last = pair.unwrap_or_else(|| self.next_block(first + 1).min(end) - 1);
            self.depth += 1;
            at = first;
            while at <= last {
                at = self.take(at)?;
            }
            self.depth -= 1;
            self.collector.end_run()?;
        }
        if at < end {
            self.collector.boundary(bytes(at, end))?;
        }
        Ok(())
    }

    /// True if there are blocks between two tags. These are then boundaries themselves, so that nothing is
    /// placed across them.
    fn has_blocks(&self, start: usize, end: usize) -> bool {
        self.blocks[start] < self.blocks[end]
    }

    /// The text of the short inline element that token `number` begins; `None` for others.
    fn text_of(&self, number: usize) -> Option<String> {
        /// A long address is divided into elements, some of which are hidden.
        const MAX_TOKENS: usize = 16;
        let inside = &self.tokens[number + 1..self.tokens[number].pair?];
        if inside.len() > MAX_TOKENS || inside.iter().any(HtmlToken::is_block_tag) {
            return None;
        }
        let texts = inside.iter().filter_map(|token| match &token.kind {
            HtmlTokenKind::Text(text) => Some(text.as_str()),
            _ => None,
        });
        Some(texts.collect())
    }

    /// The number of the token after the protected element that begins at token `number`. An inline element
    /// without an end tag protects nothing.
    fn end_of_protected(&self, number: usize, is_block: bool, name: &str) -> Option<usize> {
        if let Some(pair) = self.tokens[number].pair {
            return Some(pair + 1);
        }
        if elements::is_raw(name) {
            return Some(self.tokens.len());
        }
        if !is_block {
            return None;
        }
        // The next block ends it, as the next block ends a `<p>`.
        Some(self.next_block(number + 1))
    }

    /// The number of the first tag of a block from token `from` on.
    fn next_block(&self, from: usize) -> usize {
        let length = self.tokens[from..].iter().position(HtmlToken::is_block_tag);
        length.map_or(self.tokens.len(), |length| from + length)
    }
}

/// True for the address of a page, which social networks show in links.
fn is_address(text: &str) -> bool {
    let text = text.trim();
    let schemes = ["http://", "https://", "www."];
    schemes.iter().any(|scheme| text.starts_with(scheme)) && !text.contains(is_space)
}
