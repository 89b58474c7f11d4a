//! Tags and text of well-formed XML, with their places in the source.

use std::ops::Range;

use attentive_base::error::{Error, Result};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use super::check;
use crate::markup::{CDATA_END, CDATA_START, MAX_DEPTH};

/// A part of the source. The ranges of all tokens cover the source without gaps.
#[derive(Debug)]
pub(crate) struct XmlToken {
    pub(crate) kind: XmlTokenKind,
    pub(crate) range: Range<usize>,
    /// The number of the end tag of a start tag, and the other way round.
    pub(crate) pair: Option<usize>,
    /// The number of the start tag of the element around it.
    pub(crate) parent: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum XmlTokenKind {
    /// Text, with characters in place of references to them.
    Text(String),
    /// A reference to an entity that the document declares.
    Reference,
    /// A start tag, or the beginning of a CDATA section.
    Start(XmlStartTag),
    End,
    /// An element without content.
    Empty(XmlStartTag),
    /// Comments, processing instructions, declarations.
    Other,
}

#[derive(Debug, Default)]
pub(crate) struct XmlStartTag {
    /// The name as it is written, with its prefix.
    pub(crate) name: String,
    /// Whether an attribute forbids translation or, within what must not be translated, asks for it.
    pub(crate) translate: Option<bool>,
    /// True for a CDATA section.
    pub(crate) is_cdata: bool,
}

impl XmlStartTag {
    /// The name without its prefix.
    pub(crate) fn local(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or_default()
    }
}

/// All tokens of `source`.
///
/// # Errors
/// [`Error::Usage`] with line and column for tags without counterparts, and for markup without an end.
pub(crate) fn tokens(source: &str) -> Result<Vec<XmlToken>> {
    let mut reader = Reader::from_str(source);
    let mut tokens = Tokens::default();
    loop {
        let event = reader.read_event();
        let end = usize::try_from(reader.buffer_position()).unwrap_or(source.len());
        let event = event.map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(source.len());
            let problem = error.to_string();
            let problem = problem.split_once(": ").map_or(&*problem, |(_, problem)| problem);
            check::broken(problem, Some(check::place(source, at)))
        });
        let kind = match event? {
            Event::Eof => break,
            Event::Text(text) => XmlTokenKind::Text((*text).to_owned()),
            Event::GeneralRef(reference) => resolved(&reference),
            Event::Start(tag) => XmlTokenKind::Start(start(&tag)),
            Event::Empty(tag) => XmlTokenKind::Empty(start(&tag)),
            Event::End(_) => XmlTokenKind::End,
            Event::CData(text) => {
                tokens.cdata((*text).to_owned(), end);
                continue;
            }
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => XmlTokenKind::Other,
        };
        if matches!(kind, XmlTokenKind::Start(_)) && tokens.open.len() == MAX_DEPTH {
            return Err(Error::usage(
                format!("the XML nests more than {MAX_DEPTH} elements in each other"),
                "send its parts by themselves",
            ));
        }
        tokens.push(kind, end);
    }
    if let Some(&start) = tokens.open.last() {
        let XmlToken { kind, range, .. } = &tokens.all[start];
        let name = if let XmlTokenKind::Start(start) = kind { &start.name } else { "" };
        let problem = format!("the element `{name}` has no end tag");
        return Err(check::broken(&problem, Some(check::place(source, range.start))));
    }
    if tokens.covered < source.len() {
        tokens.push(XmlTokenKind::Other, source.len());
    }
    Ok(tokens.all)
}

#[derive(Default)]
struct Tokens {
    all: Vec<XmlToken>,
    /// The end of the last token.
    covered: usize,
    /// The numbers of the start tags of the elements that are open.
    open: Vec<usize>,
}

impl Tokens {
    fn push(&mut self, kind: XmlTokenKind, end: usize) {
        let number = self.all.len();
        let mut pair = None;
        if matches!(kind, XmlTokenKind::End) {
            pair = self.open.pop();
            if let Some(start) = pair {
                self.all[start].pair = Some(number);
            }
        }
        let parent = self.open.last().copied();
        if matches!(kind, XmlTokenKind::Start(_)) {
            self.open.push(number);
        }
        let range = self.covered..end;
        self.covered = end;
        self.all.push(XmlToken { kind, range, pair, parent });
    }

    /// Adds a CDATA section, which is like an element whose text has no references.
    fn cdata(&mut self, text: String, end: usize) {
        let start = XmlStartTag { is_cdata: true, ..XmlStartTag::default() };
        self.push(XmlTokenKind::Start(start), self.covered + CDATA_START.len());
        self.push(XmlTokenKind::Text(text), end - CDATA_END.len());
        self.push(XmlTokenKind::End, end);
    }
}

/// The character that a reference stands for, if it is one.
fn resolved(reference: &BytesRef<'_>) -> XmlTokenKind {
    if let Ok(Some(c)) = reference.resolve_char_ref() {
        return XmlTokenKind::Text(c.into());
    }
    resolve_xml_entity(reference).map_or(XmlTokenKind::Reference, |text| XmlTokenKind::Text(text.to_owned()))
}

fn start(tag: &BytesStart<'_>) -> XmlStartTag {
    let name = tag.name().as_ref().to_owned();
    let value = |name: &str| tag.try_get_attribute(name).ok().flatten().map(|attribute| attribute.value);
    let says = |name: &str, answer: &str| value(name).is_some_and(|value| value.eq_ignore_ascii_case(answer));
    let either = |answer: &str| says("translate", answer) || says("its:translate", answer);
    // XLIFF 1.2 has a type of marks for it.
    let forbids = either("no") || says("mtype", "protected");
    let translate = if forbids { Some(false) } else { either("yes").then_some(true) };
    XmlStartTag { name, translate, is_cdata: false }
}
