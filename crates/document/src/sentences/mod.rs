//! Detection of the ends of sentences.
//!
//! The rules do not depend on the language: abbreviations are recognized by what follows them, and each
//! script has its own marks. In case of doubt, text is divided: half a sentence is translated poorly, but the
//! second of two sentences in one may not be translated at all.
//!
//! The time is linear in the length of the text. The iterators of Unicode Standard Annex #29 in
//! `unicode-segmentation` look ahead again from each blank and bracket after a full stop, so they are not
//! used here.

mod abbreviations;
mod lists;
mod marks;

use std::ops::Range;

use attentive_base::ignorable::is_ignorable;

use abbreviations::{AbbreviationKind, LastWord, begins_number, is_starter};
use marks::{PunctuationMark, closers, is_end, is_ideographic, is_opening};

pub(super) use marks::needs_blank;

/// The sentences of `text`, in order and without the blanks around them. Line breaks count as blanks.
pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let start = text.len() - text.trim_start().len();
    let reader = Reader { text: text.trim_end(), cased: text.chars().any(char::is_uppercase) };
    reader.sentences(start)
}

struct Reader<'a> {
    text: &'a str,
    /// True if there is any capital letter, so that a sentence is not expected to begin with a small letter.
    cased: bool,
}

/// The text around the marks at a possible end.
struct Place<'a> {
    /// The sentence up to the marks.
    before: &'a str,
    marks: PunctuationMark,
    /// True if brackets or quotation marks are closed after the marks.
    closes: bool,
    /// The rest of the text after the marks, the closed brackets and any blanks.
    after: &'a str,
}

impl Reader<'_> {
    fn sentences(&self, mut start: usize) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = start;
        while let Some(first) = self.text[at..].find(is_end) {
            let from = at + first;
            let marks = PunctuationMark::read(&self.text[from..]);
            let closed = from + marks.len;
            let end = closed + closers(&self.text[closed..], &marks);
            let rest = &self.text[end..];
            let after = rest.trim_start();
            let place = Place { before: &self.text[start..from], closes: end > closed, after, marks };
            at = end;
            if !after.is_empty() && self.is_end(&place, after.len() < rest.len()) {
                found.push(start..end);
                start = self.text.len() - after.len();
                at = start;
            }
        }
        if start < self.text.len() {
            found.push(start..self.text.len());
        }
        found
    }

    /// True if a sentence ends here, and another one begins after it. `blank` says whether there is a blank
    /// between them.
    fn is_end(&self, place: &Place<'_>, blank: bool) -> bool {
        let next = place.after.chars().next().unwrap_or_default();
        if is_end(next) {
            return false;
        }
        match place.marks.kind {
            marks::PunctuationKind::Wide => !goes_on_in_japanese(place, next) && !self.is_quoted(place, next),
            marks::PunctuationKind::Greek => blank && is_greek(place.before.chars().next_back()),
            marks::PunctuationKind::Strong if !blank => is_ideographic(next),
            _ if !blank => false,
            marks::PunctuationKind::Strong if self.is_quoted(place, next) => false,
            marks::PunctuationKind::Strong => !(is_small(first_letter(place.after)) && self.is_aside(place)),
            marks::PunctuationKind::Ellipsis => match first_letter(place.after) {
                Some(c) => !c.is_lowercase() && !c.is_numeric(),
                None => false,
            },
            marks::PunctuationKind::Stop => self.ends_at_stop(place),
        }
    }

    /// True if an exclamation is part of the sentence around it, as in `"Stop!" he said` and `(sic!) a man`.
    fn is_aside(&self, place: &Place<'_>) -> bool {
        let dash = place.after.starts_with(['-', '–', '—']);
        self.cased && (place.closes || dash)
    }

    /// True if a quoted question or exclamation is part of the sentence around it, in a script without
    /// capitals: the text goes on, and not with another quotation.
    fn is_quoted(&self, place: &Place<'_>, next: char) -> bool {
        let is_uncased = next.is_alphabetic() && !next.is_lowercase() && !next.is_uppercase();
        place.closes && place.marks.asks && is_uncased
    }

    fn ends_at_stop(&self, place: &Place<'_>) -> bool {
        if self.cased && is_small(first_letter(place.after)) && !begins_item(place.after) {
            return false;
        }
        let word = LastWord::last(place.before);
        match word.kind(place.after, self.cased) {
            AbbreviationKind::Title | AbbreviationKind::Never => false,
            AbbreviationKind::BeforeNumber => place.closes || !begins_number(place.after),
            AbbreviationKind::Unclear => place.closes || self.cased && is_starter(place.after, &word),
            AbbreviationKind::Other => true,
        }
    }
}

/// The first letter or digit within the first few characters, after opening marks and dashes.
fn first_letter(text: &str) -> Option<char> {
    const MAX_CHARS: usize = 6;
    let mut chars = text.chars().take(MAX_CHARS);
    let passed =
        |c: &char| is_ignorable(*c) || is_opening(*c) || c.is_whitespace() || matches!(c, '-' | '–' | '—');
    chars.find(|c| !passed(c)).filter(|c| c.is_alphanumeric())
}

/// True if `text` begins with a marker of a list, such as `b)`, or with a name such as `eBay`.
fn begins_item(text: &str) -> bool {
    let mut chars = text.chars();
    let is_small = chars.next().is_some_and(char::is_lowercase);
    is_small && chars.next().is_some_and(|c| c == ')' || c.is_uppercase())
}

/// True for a small letter of a script that begins sentences with capital letters. Georgian does not.
fn is_small(letter: Option<char>) -> bool {
    letter.is_some_and(|c| c.is_lowercase() && !matches!(c, '\u{10d0}'..='\u{10ff}'))
}

fn is_greek(c: Option<char>) -> bool {
    c.is_some_and(|c| matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}'))
}

/// True if a Japanese quotation is part of the sentence around it, which continues with a particle or a
/// comma.
fn goes_on_in_japanese(place: &Place<'_>, next: char) -> bool {
    let particle = matches!(next, 'と' | 'っ' | 'は' | 'が' | 'を' | 'に' | 'の' | 'も');
    matches!(next, '，' | '、' | ',') || place.closes && particle
}
