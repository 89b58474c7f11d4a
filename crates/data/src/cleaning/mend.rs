//! Damage that can be undone.

use std::borrow::Cow;

use html5gum::{Token, Tokenizer};
use serde::Serialize;

use super::SentencePair;

/// What was mended in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mend {
    /// Entities of HTML, such as `&amp;`, became characters.
    Entities,
    /// Tags of HTML are gone, since the sides have different ones.
    Tags,
    /// UTF-8 that was read as another encoding, such as `Ã¤`, became characters.
    Encoding,
    /// White space became single blanks.
    Blanks,
}

impl Mend {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Entities, Self::Tags, Self::Encoding, Self::Blanks];

    /// Returns what was mended, for a report.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Entities => "entities of HTML became characters",
            Self::Tags => "tags of HTML are gone, since the sides have different ones",
            Self::Encoding => "UTF-8 that was read as another encoding became characters",
            Self::Blanks => "white space became single blanks",
        }
    }
}

/// The pair, mended. `is_one_side` if it is a text that is paired with itself.
pub(super) fn mended(pair: SentencePair, is_one_side: bool) -> (SentencePair, Vec<Mend>) {
    let mut sides = [pair.src, pair.tgt];
    let mut mended = Vec::new();
    let mut each = |mend: Mend, sides: &mut [String; 2], change: fn(&str) -> Cow<'_, str>| {
        for side in sides {
            if let Cow::Owned(new) = change(side) {
                *side = new;
                if !mended.contains(&mend) {
                    mended.push(mend);
                }
            }
        }
    };
    each(Mend::Entities, &mut sides, without_entities);
    if is_one_side || names(&sides[0]) != names(&sides[1]) {
        each(Mend::Tags, &mut sides, without_tags);
    }
    each(Mend::Encoding, &mut sides, decoded);
    each(Mend::Blanks, &mut sides, with_single_blanks);
    let [src, tgt] = sides;
    (SentencePair { src, tgt }, mended)
}

/// `text` after `change`, again and again while that changes it, since some damage was done several times. The
/// number of times has a bound: a text can be made that would take thousands.
fn repeated(text: &str, change: fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    const MOST: usize = 4;
    let mut found = Cow::Borrowed(text);
    for _ in 0..MOST {
        match change(&found) {
            Cow::Borrowed(_) => break,
            Cow::Owned(changed) => found = Cow::Owned(changed),
        }
    }
    found
}

/// The text with characters in place of entities, also of those that were escaped several times.
fn without_entities(text: &str) -> Cow<'_, str> {
    repeated(text, unescaped)
}

/// The text with what was UTF-8 and read as Windows-1252 or Latin-1, perhaps several times.
fn decoded(text: &str) -> Cow<'_, str> {
    repeated(text, decoded_once)
}

/// The text with characters in place of entities.
fn unescaped(text: &str) -> Cow<'_, str> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('&') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        // The ampersand may have been escaped any number of times.
        let after = from[1..].trim_start_matches("amp;");
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '#';
        let end = after.find(|c| !is_of_name(c));
        let name = end.filter(|&end| end > 0 && after[end..].starts_with(';')).map(|end| &after[..=end]);
        match name.and_then(|name| Some((name, character(&format!("&{name}"))?))) {
            Some((name, decoded)) => {
                out.push_str(&decoded);
                rest = &after[name.len()..];
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// The characters that an entity stands for; `None` if it is none.
fn character(entity: &str) -> Option<String> {
    let mut found = String::new();
    for Ok(token) in Tokenizer::new(entity) {
        if let Token::String(text) = token {
            found.push_str(&String::from_utf8_lossy(&text));
        }
    }
    // Of a name that is none, such as `&notes;`, the beginning would be decoded.
    let is_whole = !found.ends_with(';') || entity.starts_with("&#") || entity == "&semi;";
    (found != entity && !found.is_empty() && is_whole).then_some(found)
}

/// The elements within words and sentences.
const INLINE: &str = "a abbr b big code em font i img small span strong sub sup u";
/// Those that divide sentences. Not everything in angle brackets is an element.
const DIVIDING: &str = "blockquote br center dd div dl dt h1 h2 h3 hr li ol p pre table td ul";

fn is_among(elements: &str, name: &str) -> bool {
    elements.split(' ').any(|element| element.eq_ignore_ascii_case(name))
}

/// The tags of known elements, each with its place in bytes.
fn tags(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('<').filter_map(|(start, _)| {
        let from = &text[start..];
        let name = name(from);
        if ![INLINE, DIVIDING].iter().any(|elements| is_among(elements, name)) {
            return None;
        }
        let tag = &from[..=from.find('>')?];
        // Not `x<i then y>z`.
        let behind_name = tag.split_once(name).map_or("", |(_, rest)| rest);
        let attributes = behind_name.trim_end_matches(['>', '/']).trim();
        (attributes.is_empty() || attributes.contains('=')).then_some((start, tag))
    })
}

/// The names of a text's tags, sorted.
fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = tags(text).map(|(_, tag)| name(tag).to_ascii_lowercase()).collect();
    names.sort_unstable();
    names
}

/// The name of the element of a tag, which `tag` begins with.
fn name(tag: &str) -> &str {
    let inner = tag.strip_prefix('<').unwrap_or(tag);
    let name = inner.strip_prefix('/').unwrap_or(inner);
    &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())]
}

fn without_tags(text: &str) -> Cow<'_, str> {
    let (mut out, mut end) = (String::new(), 0);
    for (start, tag) in tags(text) {
        if start >= end {
            out.push_str(&text[end..start]);
            if is_among(DIVIDING, name(tag)) {
                out.push(' ');
            }
            end = start + tag.len();
        }
    }
    if end == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

/// The byte of a character in Windows-1252 or, where that has none, in Latin-1; `None` for others.
fn byte(c: char) -> Option<u8> {
    // The characters of the bytes 0x80 to 0x9F; U+0080 and others stand for themselves.
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
    ];
    let of_high = || HIGH.iter().position(|&high| high == c).map(|place| 0x80 + place as u8);
    match u32::from(c) {
        code @ 0x80..=0xFF => Some(code as u8),
        _ => of_high(),
    }
}

/// A part of a text: characters that are bytes, or another character.
enum TextPart {
    Bytes(Vec<(char, u8)>),
    Other(char),
}

/// The text with what was UTF-8 and read as Windows-1252 or Latin-1.
fn decoded_once(text: &str) -> Cow<'_, str> {
    let whole = with_lost_space(text);
    match decoded_bytes(&whole) {
        Cow::Owned(decoded) => Cow::Owned(decoded),
        Cow::Borrowed(_) => whole,
    }
}

/// The text with `à` where the second of its two bytes, a no-break space, became a blank before another one:
/// `Ã  la carte`. In Portuguese, `Ã` ends words in capitals alone.
fn with_lost_space(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find("Ã  ") {
        let (before, from) = rest.split_at(place);
        out.push_str(before);
        let is_of_capitals = out.chars().next_back().is_some_and(char::is_uppercase);
        out.push_str(if is_of_capitals { "Ã" } else { "à" });
        rest = &from["Ã".len()..];
    }
    out.push_str(rest);
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

fn decoded_bytes(text: &str) -> Cow<'_, str> {
    let mut parts: Vec<TextPart> = Vec::new();
    for c in text.chars() {
        match (byte(c), parts.last_mut()) {
            (None, _) => parts.push(TextPart::Other(c)),
            (Some(byte), Some(TextPart::Bytes(bytes))) => bytes.push((c, byte)),
            (Some(byte), _) => parts.push(TextPart::Bytes(vec![(c, byte)])),
        }
    }
    let other = |place: Option<usize>| match place.and_then(|place| parts.get(place)) {
        Some(TextPart::Other(c)) => Some(*c),
        _ => None,
    };
    let decoded = |(place, part): (usize, &TextPart)| {
        let TextPart::Bytes(run) = part else { return None };
        DecodedRun::of(run, [other(place.checked_sub(1)), other(place.checked_add(1))])
    };
    let found: Vec<Option<DecodedRun>> = parts.iter().enumerate().map(decoded).collect();
    // Few bytes may be UTF-8 by chance, but not beside others that are surely so.
    let surest = found.iter().flatten().filter(|run| run.is_sure).map(|run| run.script).max();
    let Some(surest) = surest else { return Cow::Borrowed(text) };
    let mut out = String::new();
    for (part, found) in parts.into_iter().zip(found) {
        match (part, found) {
            (_, Some(run)) if run.script <= surest.max(DecodedScript::Latin) => out.push_str(&run.text),
            (TextPart::Bytes(bytes), _) => out.extend(bytes.iter().map(|(c, _)| c)),
            (TextPart::Other(c), _) => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// What the characters of a decoded run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DecodedScript {
    /// Letters of Western and Central Europe, punctuation, and symbols.
    Usual,
    /// Others of them are Latin letters.
    Latin,
    /// Others are of other scripts.
    Other,
}

impl DecodedScript {
    fn of(c: char) -> Self {
        match c {
            '\u{A0}'..='\u{17F}' | '\u{2010}'..='\u{214F}' | '\u{2190}'..='\u{27BF}' | '\u{FEFF}' => {
                Self::Usual
            }
            // Emoji.
            '\u{1F000}'..='\u{1FAFF}' => Self::Usual,
            '\u{180}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' => Self::Latin,
            _ => Self::Other,
        }
    }
}

/// A run of characters whose bytes are UTF-8.
struct DecodedRun {
    text: String,
    script: DecodedScript,
    /// Whether they are so by no chance.
    is_sure: bool,
}

impl DecodedRun {
    /// The run decoded, if it is UTF-8; `around` are the characters before and after it.
    fn of(run: &[(char, u8)], around: [Option<char>; 2]) -> Option<Self> {
        /// So many bytes that are UTF-8 are so by no chance.
        const MANY: usize = 6;
        let text = String::from_utf8(run.iter().map(|(_, byte)| *byte).collect()).ok()?;
        let script = text.chars().map(DecodedScript::of).max()?;
        let is_chance = script != DecodedScript::Usual
            || matches!(run, [(lead, _), (second, _)] if may_be_meant(*lead, *second, around));
        Some(Self { text, script, is_sure: run.len() >= MANY || !is_chance })
    }
}

/// Whether two characters that are UTF-8 as bytes may be text: a letter and what can follow a word.
fn may_be_meant(lead: char, second: char, [before, after]: [Option<char>; 2]) -> bool {
    let is_after_capital = before.is_some_and(char::is_uppercase);
    match second {
        // `Â°` and `Â»` are the usual damage, and no word ends so.
        '‘'..='„' | '…' | '–' | '—' | '«' | '»' | '‹' | '›' | '•' | '°' => {
            lead != 'Â' || is_after_capital
        }
        // `AMANHÃ` before a no-break space; the letter would be a small one.
        '\u{A0}' => is_after_capital,
        // The ångström, as in `Å³`, but `miestÅ³` is Lithuanian and `hÅ±` Hungarian.
        '²' | '³' | '¹' | '±' | '®' | '×' | '÷' => {
            lead == 'Å' && !before.is_some_and(char::is_lowercase) && !after.is_some_and(char::is_alphabetic)
        }
        '·' => lead == 'Å',
        _ => false,
    }
}

fn with_single_blanks(text: &str) -> Cow<'_, str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let joined = words.join(" ");
    if joined == text { Cow::Borrowed(text) } else { Cow::Owned(joined) }
}
