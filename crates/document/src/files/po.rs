//! gettext's catalogs.

use std::ops::Range;

use attentive_base::error::Result;

use super::{broken, lines};
use crate::markup::{ESCAPES, SourceFormat};
use crate::plain::append;
use crate::{Document, Part, Segmentation};

/// What a string belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Context,
    Id,
    Plural,
    /// A translation; true for those of the plural.
    Translation(bool),
}

/// A translation that is missing.
struct Missing {
    /// The place within the quotation marks of its string.
    at: usize,
    plural: bool,
}

/// The strings of a message.
#[derive(Default)]
struct Message {
    id: String,
    plural: String,
    /// The translations, and whether they are empty so far.
    translations: Vec<(Missing, bool)>,
}

/// Puts the text of each message into its translations where these are empty.
pub(super) fn read(source: &str, how: Segmentation, fits: &dyn Fn(&str) -> bool) -> Result<Document> {
    let mut messages = Vec::new();
    let mut message = Message::default();
    let mut field = None;
    for (number, (at, line)) in lines(source).enumerate() {
        let text = line.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let wrong = |problem: &str| broken("a PO file", Some(number + 1), problem);
        let Some(quote) = line.find('"') else {
            return Err(wrong("a string in quotation marks is missing"));
        };
        let keyword = line[..quote].trim_start_matches('\u{feff}').trim();
        if !keyword.is_empty() {
            let next = field_of(keyword).ok_or_else(|| wrong(&format!("`{keyword}` is not a keyword")))?;
            if next == Field::Context || next == Field::Id && field != Some(Field::Context) {
                messages.push(std::mem::take(&mut message));
            }
            field = Some(next);
        }
        let inside = string(line, quote).ok_or_else(|| wrong("a quotation mark is missing at the end"))?;
        let text = decoded(&line[inside.clone()]);
        match field {
            None => return Err(wrong("a string stands before any keyword")),
            Some(Field::Context) => {}
            Some(Field::Id) => message.id.push_str(&text),
            Some(Field::Plural) => message.plural.push_str(&text),
            Some(Field::Translation(plural)) if !keyword.is_empty() => {
                message.translations.push((Missing { at: at + inside.start, plural }, text.is_empty()));
            }
            Some(Field::Translation(_)) => {
                if let Some((_, is_empty)) = message.translations.last_mut() {
                    *is_empty &= text.is_empty();
                }
            }
        }
    }
    messages.push(message);
    let (mut segments, mut parts, mut kept) = (Vec::new(), Vec::new(), 0);
    for Message { id, plural, translations } in messages.iter().filter(|message| !message.id.is_empty()) {
        for (Missing { at, plural: is_plural }, _) in translations.iter().filter(|(_, is_empty)| *is_empty) {
            Part::keep(&mut parts, &source[kept..*at]);
            kept = *at;
            let text = if *is_plural && !plural.is_empty() { plural } else { id };
            append(text, how, SourceFormat::Po, fits, &mut segments, &mut parts);
        }
    }
    Part::keep(&mut parts, &source[kept..]);
    Ok(Document { segments, parts })
}

fn field_of(keyword: &str) -> Option<Field> {
    match keyword {
        "msgctxt" => Some(Field::Context),
        "msgid" => Some(Field::Id),
        "msgid_plural" => Some(Field::Plural),
        "msgstr" => Some(Field::Translation(false)),
        _ => {
            let number = keyword.strip_prefix("msgstr[")?.strip_suffix(']')?;
            Some(Field::Translation(number.trim().parse::<u32>().ok()? > 0))
        }
    }
}

/// The inside of the string of `line` whose first quotation mark is at `quote`; `None` without a second one
/// at the end of the line.
fn string(line: &str, quote: usize) -> Option<Range<usize>> {
    let mut escaped = false;
    for (at, c) in line[quote + 1..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let end = quote + 1 + at;
                return line[end + 1..].trim().is_empty().then_some(quote + 1..end);
            }
            _ => {}
        }
    }
    None
}

/// The text of a string with the escapes of C.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend(rest[..at].bytes());
        rest = &rest[at + 1..];
        let number = match rest.bytes().next() {
            Some(b'x') => byte(&rest[1..], 2, 16).map(|(byte, len)| (byte, len + 1)),
            _ => byte(rest, 3, 8),
        };
        if let Some((byte, len)) = number {
            out.push(byte);
            rest = &rest[len..];
            continue;
        }
        let mut chars = rest.chars();
        match chars.next() {
            Some(c) => {
                let known = ESCAPES.iter().find(|(_, letter)| *letter == c);
                out.extend(known.map_or(c, |(control, _)| *control).encode_utf8(&mut [0; 4]).bytes());
            }
            None => out.push(b'\\'),
        }
        rest = chars.as_str();
    }
    out.extend(rest.bytes());
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The byte that begins `text` as a number, and the count of its digits.
fn byte(text: &str, most: usize, radix: u32) -> Option<(u8, usize)> {
    let len = text.bytes().take(most).take_while(|&byte| char::from(byte).is_digit(radix)).count();
    Some((u8::from_str_radix(&text[..len], radix).ok()?, len))
}
