//! Whether XML is well-formed.

use std::borrow::Cow;

use attentive_base::error::{Error, Result};
use xml::common::Position;
use xml::reader::{EventReader, ParserConfig};

use super::tokens::{XmlToken, XmlTokenKind};
use crate::MEND;

/// Refuses `source` if it is neither a well-formed document nor the well-formed content of an element, such
/// as text with elements.
///
/// # Errors
/// [`Error::Usage`] with line and column.
pub(super) fn check(source: &str, tokens: &[XmlToken]) -> Result<()> {
    let (begin, end) = if is_document(source, tokens) { ("", "") } else { ("<r>", "</r>") };
    let whole = format!("{begin}{}{end}", without_namespaces(source, tokens));
    let mut config = ParserConfig::default();
    // It has been decoded already.
    config.override_encoding = Some(xml::Encoding::Utf8);
    config.ignore_invalid_encoding_declarations = true;
    config.allow_multiple_root_elements = false;
    config.max_data_length = usize::MAX;
    config.max_attribute_length = usize::MAX;
    for event in EventReader::new_with_config(whole.as_bytes(), config) {
        if let Err(error) = event {
            let place = error.position();
            let shift = if place.row == 0 { begin.chars().count() as u64 } else { 0 };
            let column = place.column.saturating_sub(shift) + 1;
            let message = error.msg();
            // It begins with the place in the whole.
            let is_place = |word: &str| word.contains(':') && !word.contains(char::is_alphabetic);
            let problem = message.split_once(' ').filter(|(first, _)| is_place(first));
            let problem = problem.map_or(&*message, |(_, problem)| problem);
            return Err(broken(problem, Some((place.row + 1, column))));
        }
    }
    Ok(())
}

/// The line and the column of the byte `at`, counted from 1.
pub(super) fn place(source: &str, at: usize) -> (u64, u64) {
    let before = &source[..source.floor_char_boundary(at)];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    (line, column)
}

/// The error of XML that is not well-formed, with line and column.
pub(super) fn broken(problem: &str, place: Option<(u64, u64)>) -> Error {
    let place = place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default();
    Error::usage(format!("the XML is not well-formed: {place}{problem}"), MEND)
}

/// Whether `source` has parts that only a whole document has.
fn is_document(source: &str, tokens: &[XmlToken]) -> bool {
    let others = tokens.iter().filter(|token| matches!(token.kind, XmlTokenKind::Other));
    let mut texts = others.map(|token| source[token.range.clone()].trim_start_matches('\u{feff}'));
    let declares =
        |text: &str| text.strip_prefix("<?xml").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    texts.any(|text| declares(text) || text.starts_with("<!DOCTYPE"))
}

/// `source` with a name without a colon in place of each prefix and each namespace. Prefixes may be declared
/// outside of a part of a document, and the time that namespaces take grows with their number at each
/// element.
fn without_namespaces(source: &str, tokens: &[XmlToken]) -> String {
    let mut out = String::with_capacity(source.len());
    let declares = tokens.iter().any(|token| source[token.range.clone()].starts_with("<!DOCTYPE"));
    for token in tokens {
        let text = &source[token.range.clone()];
        let is_markup = matches!(token.kind, XmlTokenKind::Other) || !text.contains('&');
        let unresolved = if is_markup || !declares { text.into() } else { without_entities(text) };
        let text = &*unresolved;
        if !text.starts_with('<')
            || !matches!(token.kind, XmlTokenKind::Start(_) | XmlTokenKind::Empty(_) | XmlTokenKind::End)
        {
            out.push_str(text);
            continue;
        }
        let mut quote = None;
        for (number, part) in text.split_inclusive(['"', '\'']).enumerate() {
            let mark = part.chars().next_back().filter(|c| ['"', '\''].contains(c));
            if quote.is_none() {
                let part = part.replace(':', "·");
                out.push_str(&if number == 0 { part } else { part.replace("xmlns", "xmlnX") });
                quote = mark;
            } else {
                out.push_str(part);
                quote = quote.filter(|_| mark != quote);
            }
        }
    }
    out
}

/// `text` with as many letters in place of each reference to an entity that a document declares: nothing
/// needs their values, which may be large, or in another file.
fn without_entities(text: &str) -> Cow<'_, str> {
    const KNOWN: [&str; 5] = ["amp", "lt", "gt", "quot", "apos"];
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        match part.split_once(';') {
            Some((name, rest)) if !name.starts_with('#') && !KNOWN.contains(&name) && is_name(name) => {
                out.extend(std::iter::repeat_n('x', name.chars().count() + 2));
                out.push_str(rest);
            }
            _ => {
                out.push('&');
                out.push_str(part);
            }
        }
    }
    out.into()
}

/// Roughly: what is no name is refused later.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_:.-".contains(c))
}
