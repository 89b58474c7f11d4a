//! Tags and text of HTML, with their places in the source.

use std::collections::HashMap;
use std::ops::Range;

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token as Gum, Tokenizer};

use super::elements;
use super::pausing::Pausing;

/// A part of the source. The ranges of all tokens cover the source without gaps.
#[derive(Debug)]
pub(super) struct HtmlToken {
    pub(super) kind: HtmlTokenKind,
    pub(super) range: Range<usize>,
    /// The number of the end tag of a start tag, and the other way round.
    pub(super) pair: Option<usize>,
}

#[derive(Debug)]
pub(super) enum HtmlTokenKind {
    /// Text, with characters in place of entities.
    Text(String),
    Start(HtmlStartTag),
    /// An end tag, by its name.
    End(String),
    /// Comments, document types, and text that browsers ignore, such as an unfinished tag at the end.
    Other,
}

#[derive(Debug)]
pub(super) struct HtmlStartTag {
    /// The name in lower case.
    pub(super) name: String,
    /// Whether its attributes forbid translation, or ask for it.
    pub(super) translate: Option<bool>,
}

impl HtmlToken {
    pub(super) fn is_block_tag(&self) -> bool {
        match &self.kind {
            HtmlTokenKind::Start(HtmlStartTag { name, .. }) | HtmlTokenKind::End(name) => {
                elements::is_block(name)
            }
            HtmlTokenKind::Text(_) | HtmlTokenKind::Other => false,
        }
    }
}

impl HtmlStartTag {
    /// True if the content of the element is kept as it is.
    pub(super) fn is_kept(&self) -> bool {
        match self.translate {
            Some(true) => elements::is_raw(&self.name),
            Some(false) => true,
            None => elements::is_opaque(&self.name),
        }
    }
}

/// All tokens of `source`.
pub(super) fn tokens(source: &str) -> Vec<HtmlToken> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut tokens = Tokens::default();
    for token in Tokenizer::new_with_emitter(Pausing::new(source), emitter) {
        let Ok(token) = token else { continue };
        let (kind, span) = match token {
            Gum::String(text) => (HtmlTokenKind::Text(visible(&text.value)), text.span),
            Gum::StartTag(tag) => (HtmlTokenKind::Start(start(&tag)), tag.span),
            Gum::EndTag(tag) => (HtmlTokenKind::End(decoded(&tag.name)), tag.span),
            Gum::Comment(comment) => (HtmlTokenKind::Other, comment.span),
            Gum::Doctype(doctype) => (HtmlTokenKind::Other, doctype.span),
            Gum::Error(_) => continue,
        };
        let place = |at: usize| source.floor_char_boundary(at.clamp(tokens.covered, source.len()));
        let (start, end) = (place(span.start), place(span.end));
        tokens.cover(start);
        tokens.push(kind, end);
    }
    tokens.cover(source.len());
    tokens.all
}

/// The numbers of the start tags that ask for translation.
pub(super) fn translated(tokens: &[HtmlToken]) -> Vec<usize> {
    let asks = |token: &HtmlToken| matches!(&token.kind, HtmlTokenKind::Start(start) if start.translate == Some(true));
    tokens.iter().enumerate().filter(|(_, token)| asks(token)).map(|(number, _)| number).collect()
}

#[derive(Default)]
struct Tokens {
    all: Vec<HtmlToken>,
    /// The end of the last token.
    covered: usize,
    /// The start tags of each name that wait for their end tag.
    open: HashMap<String, Vec<usize>>,
}

impl Tokens {
    /// Covers the source up to `end`, including parts that the tokenizer left out.
    fn cover(&mut self, end: usize) {
        if self.covered < end {
            self.push(HtmlTokenKind::Other, end);
        }
    }

    fn push(&mut self, kind: HtmlTokenKind, end: usize) {
        let number = self.all.len();
        let mut pair = None;
        match &kind {
            HtmlTokenKind::Start(tag) if !elements::is_void(&tag.name) => {
                self.open.entry(tag.name.clone()).or_default().push(number);
            }
            HtmlTokenKind::End(name) => {
                pair = self.open.get_mut(name).and_then(Vec::pop);
                if let Some(start) = pair {
                    self.all[start].pair = Some(number);
                }
            }
            _ => {}
        }
        let range = self.covered..end;
        self.covered = end;
        self.all.push(HtmlToken { kind, range, pair });
    }
}

fn start(tag: &StartTag<usize>) -> HtmlStartTag {
    let attribute = |name: &[u8]| tag.attributes.get(name).map(|value| decoded(&value.value));
    let says = |answer: &str| attribute(b"translate").is_some_and(|value| value.eq_ignore_ascii_case(answer));
    let marked = attribute(b"class")
        .is_some_and(|classes| classes.split_ascii_whitespace().any(|class| class == "notranslate"));
    let translate = if says("no") || marked { Some(false) } else { says("yes").then_some(true) };
    HtmlStartTag { name: decoded(&tag.name), translate }
}

/// The text without the null character, which browsers ignore.
fn visible(text: &HtmlString) -> String {
    decoded(text).replace('\0', "")
}

fn decoded(text: &HtmlString) -> String {
    String::from_utf8_lossy(text).into_owned()
}
