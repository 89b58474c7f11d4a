//! Placeables: parts of a text that are no language, and stay as they are. Placeholders of programs, tags in
//! plain text, addresses, markers of lists.

mod braces;
mod hosts;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use self::braces::Braces;
use self::hosts::hosts;
use super::tags::{Tag, pairs};

/// A part of a text that is not translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placeable {
    pub(super) range: Range<usize>,
    pub(super) kind: PlaceableKind,
}

impl Placeable {
    /// This placeable with its range counted from the start of `range`, a part of the text. It has no
    /// counterpart until [`pair`] looks for one in that part.
    pub(super) fn within(&self, range: &Range<usize>) -> Self {
        let place = |at: usize| at.clamp(range.start, range.end) - range.start;
        Self { range: place(self.range.start)..place(self.range.end), kind: PlaceableKind::Other }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceableKind {
    /// A start tag with a counterpart after it.
    Open,
    /// An end tag with a counterpart before it.
    Close,
    /// Anything else.
    Other,
}

/// Returns the parts of `text` that are no language, in order.
///
/// ```
/// use attentive_document::placeables;
///
/// let text = "Hello {name}, see https://a.example/x?y=1. %d of %1$s";
/// assert_eq!(placeables(text), ["{name}", "https://a.example/x?y=1", "%d", "%1$s"]);
/// ```
pub fn placeables(text: &str) -> Vec<&str> {
    find(text, Markers::Each).into_iter().map(|found| &text[found.range]).collect()
}

/// Returns the [placeables] of `text` but markers of lists at the beginnings of its lines.
pub fn placeholders(text: &str) -> Vec<&str> {
    find(text, Markers::None).into_iter().map(|found| &text[found.range]).collect()
}

/// Addresses. The marks after them that belong to the text around them are matched, too, and taken away
/// later. Scripts without blanks end them.
const ADDRESSES: [&str; 3] = [
    r"(?i:https?|ftps?|sftp|wss?|file|git|ssh|irc|magnet|data)://[^\s<>\x22“”„«»\u{2e80}-\u{ffef}]+",
    r"(?-u:\b)(?i:mailto|tel|sms|urn|xmpp):[^\s<>\x22“”„«»\u{2e80}-\u{ffef}]+",
    r"(?-u:\b)(?i:www)\.[^\s<>\x22“”„«».\u{2e80}-\u{ffef}]+\.[^\s<>\x22“”„«»\u{2e80}-\u{ffef}]+",
];

/// An e-mail address from its sign on. What stands before that is found backwards: a search for it at each
/// word would take many times as long.
const MAIL: &str = r"@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}";

/// The beginning of content in braces, whose end is found by counting them.
const BRACE: &str = r"[$#%@]?\{";

const OTHERS: [&str; 22] = [
    // Members of social networks.
    r"(?-u:\B)@[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_](?:@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)?",
    // Statements and comments of templates: {% if %} {# note #}
    r"\{%[^%\n]*%\}",
    r"\{#[^#\n]*#\}",
    // Variables of Windows; Python: %(name)s; Apple: %#@name@; C: %<PRIu64>
    r"(?-u:\B)%[A-Z][A-Z0-9_]+%",
    r"%\(\w+\)[#0+-]*\d{0,4}(?:\.\d{1,4})?[a-zA-Z]",
    r"%(?:\d{1,2}\$)?#@\w+@",
    r"%[#0 '+-]{0,4}\d{0,4}(?:\.\d{1,4})?<PRI[A-Za-z]+\d*>",
    // Times, of at least two parts: %Y-%m-%d
    r"%[-_0^#]?[A-Za-z](?:[-/:., T]{1,2}%[-_0^#]?[YmdeHIMSyjbBaApPZzfklsTDFR](?-u:\b))+",
    // printf: %s %1$s %-5.2lf %@; percent signs; Qt: %1 %L1
    r"%(?:\d{1,2}\$)?[#0'+-]{0,4}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?(?:hh|ll|[hlqjztL])?[diouxXeEfFgGaAcsSpn@]",
    "%%",
    r"(?-u:\B)%L?[1-9][0-9]?",
    r"(?-u:\B)%[YmHMSyBbIjZ](?-u:\b)",
    // Nested messages: $t(key, { "count": 1 }); names between two signs, or after one: $NAME$ $name
    r"\$t\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)",
    r"(?-u:\B)\$[A-Za-z_@][A-Za-z0-9_@]*\$?",
    // Entities and tags in plain text: &nbsp; <0> </0> <br/> <a href="x"> <file name>
    r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    r"</[A-Za-z0-9][\w:.-]*\s*>",
    r#"<[A-Za-z0-9][\w:.-]*(?:\s+(?:[\w:.@-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>=]+)|data-[\w-]+|async|checked|controls|defer|disabled|download|hidden|loop|muted|multiple|open|readonly|required|reversed|selected))*\s*/?>"#,
    NAMES_IN_ANGLES,
    // Emoji by name.
    r"(?-u:\B):[a-z][a-z0-9_+-]*:",
    // Markers of lists within a line.
    r"(?-u:\B)\((?:[a-z]|\d{1,3}|[ivx]{2,4})\)",
    // Marks of lines with music.
    "[♪♫]+",
    BRACE,
];

/// A placeholder such as `<file name>`.
const NAMES_IN_ANGLES: &str = r"(?-u:\B)<[A-Za-z]\w*(?:[ -][A-Za-z]\w*){1,3}>(?-u:\B)";

/// What may be in a pair of braces: nothing, a name or a few (`{first name}`), a number or name and its
/// format (`{0:.2f}`, `{d:%Y-%m-%d}`, `{0,10:N2}`), or a style of subtitles.
const IN_BRACES: [&str; 4] = [
    r"\s*[\w$.:\[\]!\\&<>+#'-]*\s*",
    r"\s*[^\W\d]\w*(?:[ -]\w+){1,2}\s*",
    r"\s*[\w.\[\]]*\s*(?:,\s*-?\d+\s*)?(?:![rsa])?(?::[^\s{}][^{}\n]*)?",
    r"\\[^{}\n]*",
];

/// The beginning of an argument with its type, which ICU's formatter reads.
const TYPED: &str = r"^\s*[\w.]+\s*,\s*(?:plural|select|selectordinal|number|date|time|duration|ordinal|spellout|list)\s*(?:,|$)";

/// The beginning of a message with forms by number or gender.
const FORMS: &str = r"^\s*\{\s*[\w.]+\s*,\s*(plural|select|selectordinal)\s*,";

/// A marker of a list at the beginning of a line, and the blanks after it.
const MARKER: &str = r"(?m)^[^\S\n]*(?:[-*+•‣◦▪·–—>]|#{1,6}|\d{1,3}[.)]|[a-z]\)|[ivx]{1,4}\)|\((?:[a-z]|\d{1,3}|[ivx]{1,4})\))[^\S\n]+";

static ALL: LazyLock<Regex> = LazyLock::new(|| {
    let addresses = ADDRESSES.join("|");
    let others = OTHERS.join("|");
    Regex::new(&format!("{addresses}|{MAIL}|{others}")).expect("the patterns are valid")
});

static INSIDE: LazyLock<Regex> = LazyLock::new(|| {
    let inside = IN_BRACES.join("|");
    Regex::new(&format!("^(?:{inside})$|{TYPED}")).expect("the patterns are valid")
});

static ANGLES: LazyLock<Regex> = LazyLock::new(|| Regex::new(NAMES_IN_ANGLES).expect("the pattern is valid"));

static WITH_FORMS: LazyLock<Regex> = LazyLock::new(|| Regex::new(FORMS).expect("the pattern is valid"));

static FIRST: LazyLock<Regex> = LazyLock::new(|| Regex::new(MARKER).expect("the pattern is valid"));

/// The lines that may begin with the marker of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markers {
    None,
    First,
    Each,
    /// Each, and signs `#` anywhere, which stand for a number.
    Counted,
}

/// The placeables of `text`, in order.
pub(super) fn find(text: &str, markers: Markers) -> Vec<Placeable> {
    let mut first: Vec<Range<usize>> = match markers {
        Markers::None => Vec::new(),
        Markers::First => {
            marker_ranges(text).take_while(|range| text[..range.start].trim().is_empty()).take(1).collect()
        }
        Markers::Each => marker_ranges(text).collect(),
        Markers::Counted => text.match_indices('#').map(|(at, sign)| at..at + sign.len()).collect(),
    };
    let others = if may_have_more(text) { merged(hosts(text), matches(text)) } else { Vec::new() };
    first.retain(|marker| {
        let next = others.partition_point(|other| other.end <= marker.start);
        others.get(next).is_none_or(|other| marker.end <= other.start)
    });
    let mut ranges = [first, others].concat();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut found: Vec<_> =
        ranges.into_iter().map(|range| Placeable { range, kind: PlaceableKind::Other }).collect();
    pair(text, &mut found);
    found
}

/// The texts of the forms of `text`, if it is a message with forms as a whole, and the placeables of them.
pub(super) fn forms(text: &str) -> (Vec<Range<usize>>, Markers) {
    let none = (Vec::new(), Markers::Each);
    let Some(kind) = WITH_FORMS.captures(text) else { return none };
    let markers = if &kind[1] == "select" { Markers::Each } else { Markers::Counted };
    let braces = Braces::new(text);
    let start = text.len() - text.trim_start().len();
    let end = braces.end(start);
    let Some(end) = end.filter(|end| text[end + 1..].trim().is_empty()) else { return none };
    let mut found = Vec::new();
    let mut at = start + 1;
    while let Some(open) = text[at..end].find('{').map(|place| at + place) {
        let Some(close) = braces.end(open) else { return none };
        found.push(open + 1..close);
        at = close + 1;
    }
    (found, markers)
}

/// Ranges of both lists, each ascending, of which the first one of several that overlap stays.
fn merged(a: Vec<Range<usize>>, b: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut all = [a, b].concat();
    all.sort_unstable_by_key(|range| (range.start, Reverse(range.end)));
    let mut end = 0;
    all.retain(|range| {
        let is_apart = range.start >= end;
        end = if is_apart { range.end } else { end };
        is_apart
    });
    all
}

fn marker_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    FIRST.find_iter(text).map(|marker| {
        let end = marker.start() + marker.as_str().trim_end().len();
        end - marker.as_str().trim().len()..end
    })
}

/// The matches of [`ALL`] that are placeables.
fn matches(text: &str) -> Vec<Range<usize>> {
    let braces = Braces::new(text);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(whole) = ALL.find_at(text, at) {
        let mut range = whole.range();
        let one = whole.as_str();
        let end = match one {
            _ if is_mail(text, &range) => {
                range.start = start_of_mail(&text[at..range.start], range.start);
                Some(end_of_address(text, range.clone()))
            }
            _ if one.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                Some(end_of_address(text, range.clone()))
            }
            "{" | "${" | "#{" | "%{" | "@{" => {
                braces.end_of_placeable(text, range.end - 1, range.len() > 1, &INSIDE)
            }
            "$US" | "$USD" | "$CA" | "$CAD" | "$AU" | "$AUD" | "$NZ" | "$HK" => None,
            _ if one.starts_with('%') && is_conversion(one) => {
                let follows = found.last().is_some_and(|last| last.end == range.start);
                (follows || !is_in_words(text, &range)).then_some(range.end)
            }
            // Not a path in a program.
            _ if one.starts_with(':') && is_among_colons(text, &range) => None,
            _ => Some(range.end),
        };
        if let Some(end) = end.filter(|end| *end > range.start) {
            at = end;
            found.push(range.start..end);
        } else {
            at = range.start + text[range.start..].chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// True for `%d` and the like, which other text has too: "50%" and a letter after it, "50 %" and a word
/// without a blank.
fn is_conversion(placeable: &str) -> bool {
    placeable != "%%"
        && !placeable.ends_with('%')
        && !placeable.contains(['(', '$', '<'])
        && placeable.len() <= 3
}

/// True if the percent sign at the beginning of the conversion `text[range]` belongs to a number before it,
/// or if the conversion is the beginning of a word such as `%age`.
fn is_in_words(text: &str, range: &Range<usize>) -> bool {
    const UNITS: [&str; 16] =
        ["px", "ms", "km", "cm", "mm", "kg", "kb", "gb", "min", "sec", "pt", "em", "rem", "th", "st", "nd"];
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let word = &after[..after.bytes().take_while(u8::is_ascii_lowercase).count()];
    let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if begins && word.len() > 1 && !UNITS.contains(&word) {
        return true;
    }
    let in_word = after.starts_with(char::is_alphabetic);
    let apart = before.strip_suffix([' ', '\u{a0}', '\u{202f}']).filter(|_| in_word);
    apart.unwrap_or(before).ends_with(char::is_numeric)
}

fn is_among_colons(text: &str, range: &Range<usize>) -> bool {
    text[..range.start].ends_with(':') || text[range.end..].starts_with(':')
}

/// Whether `text` has any of the characters of which each placeable has one.
fn may_have_more(text: &str) -> bool {
    // A stop within a word, as in domains.
    let has_stop = |three: &[u8]| {
        three[1] == b'.' && three[0].is_ascii_alphanumeric() && three[2].is_ascii_alphanumeric()
    };
    text.contains(['%', '{', '$', '<', '&', '@', ':', '/', '(', '♪', '♫'])
        || text.as_bytes().windows(3).any(has_stop)
}

/// True if `text[range]` is an e-mail address from its sign on.
fn is_mail(text: &str, range: &Range<usize>) -> bool {
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b"_%+".contains(&byte);
    let domain = text[range.clone()].strip_prefix('@').unwrap_or_default();
    let before = text[..range.start].bytes().next_back();
    domain.contains('.') && !domain.contains(['@', '{']) && before.is_some_and(is_local)
}

/// The place where the e-mail address begins whose sign is at `sign`, after `before`.
fn start_of_mail(before: &str, sign: usize) -> usize {
    const MAX_LOCAL_BYTES: usize = 64;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.%+-".contains(byte);
    let len = before.bytes().rev().take(MAX_LOCAL_BYTES).take_while(|byte| is_part(&byte)).count();
    let local = &before[before.len() - len..];
    sign - local.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).len()
}

/// The end of the address `text[range]` without the marks after it, and without brackets that are not opened
/// in it.
fn end_of_address(text: &str, range: Range<usize>) -> usize {
    let mut kept = &text[range.clone()];
    let mut surplus = [('(', ')'), ('[', ']'), ('{', '}')]
        .map(|(open, close)| (close, kept.matches(close).count().saturating_sub(kept.matches(open).count())));
    while let Some(last) = kept.chars().next_back() {
        let bracket = surplus.iter_mut().find(|(close, _)| *close == last);
        let is_outside = match bracket {
            Some((_, surplus)) => {
                let is_outside = *surplus > 0;
                *surplus = surplus.saturating_sub(1);
                is_outside
            }
            None => ".,;:!?…'’*_。，、！？；：）」』".contains(last),
        };
        if !is_outside {
            break;
        }
        kept = &kept[..kept.len() - last.len_utf8()];
    }
    range.start + kept.len()
}

/// True for a placeholder of the next argument, such as `%s` or `{}`: if a translation has two of them in
/// another order, they stand for the wrong arguments.
pub(super) fn takes_next_argument(placeable: &str) -> bool {
    if let Some(inside) = placeable.strip_prefix('{') {
        return inside.starts_with(['}', ':', '!']);
    }
    let Some(inside) = placeable.strip_prefix('%') else { return false };
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '@' | '>');
    inside.ends_with(is_letter) && !inside.contains(['$', '(', '{', '%'])
}

/// The tag that `text` is; a placeholder such as `<file name>` is none.
pub(super) fn tag(text: &str) -> Option<Tag<'_>> {
    Tag::read(text).filter(|_| !ANGLES.is_match(text))
}

/// Finds the counterparts of tags.
pub(super) fn pair(text: &str, found: &mut [Placeable]) {
    let counterparts = pairs(found.iter().map(|one| tag(&text[one.range.clone()])));
    for (number, counterpart) in counterparts.into_iter().enumerate() {
        found[number].kind = match counterpart {
            Some(other) if other > number => PlaceableKind::Open,
            Some(_) => PlaceableKind::Close,
            None => PlaceableKind::Other,
        };
    }
}
