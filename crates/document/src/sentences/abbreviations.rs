//! The meaning of a full stop after a word.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::lists::{
    AFTER_ORDINAL, BEFORE_NUMBER, BEFORE_ORDINAL, ELIDED, NEVER, PARTICLES, STARTERS, TITLES, UNCLEAR,
};

static ABBREVIATIONS: LazyLock<HashMap<&'static str, AbbreviationKind>> = LazyLock::new(|| {
    let lists = [
        (NEVER, AbbreviationKind::Never),
        (BEFORE_NUMBER, AbbreviationKind::BeforeNumber),
        (UNCLEAR, AbbreviationKind::Unclear),
        // Some titles are in `NEVER` too, so that they count in any case.
        (TITLES, AbbreviationKind::Title),
    ];
    let entries = lists.into_iter().flat_map(|(list, kind)| {
        let words = list.split_whitespace();
        words.map(move |word| (word, kind))
    });
    entries.collect()
});

static STARTING: LazyLock<HashSet<&'static str>> = LazyLock::new(|| STARTERS.split_whitespace().collect());

/// True if a short list contains `word`.
fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// The meaning of a full stop after a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbbreviationKind {
    /// The end of a sentence.
    Other,
    /// Part of a title.
    Title,
    /// Part of an abbreviation that must be followed by something, or of a number.
    Never,
    /// Part of an abbreviation if a number follows.
    BeforeNumber,
    /// Part of an abbreviation, and perhaps the end of a sentence as well.
    Unclear,
}

/// The last word before a full stop.
pub(super) struct LastWord<'a> {
    /// The word without the full stop and without brackets or quotation marks around it.
    text: &'a str,
    /// The sentence before it.
    before: &'a str,
}

impl<'a> LastWord<'a> {
    /// The last word of `sentence`.
    pub(super) fn last(sentence: &'a str) -> Self {
        /// The length of the longest abbreviation.
        const MAX_CHARS: usize = 24;
        let encloses = |c| matches!(c, '(' | '[' | '/' | '’' | '\'' | '“' | '"' | '„' | '«' | '»');
        let letters = sentence.chars().rev().take(MAX_CHARS);
        let letters = letters.take_while(|&c| !c.is_whitespace() && !encloses(c));
        let len = letters.map(char::len_utf8).sum::<usize>();
        let (before, text) = sentence.split_at(sentence.len() - len);
        Self { text, before }
    }

    /// The meaning of a full stop after the word if `after` follows; `cased` says whether the text has
    /// capital letters.
    pub(super) fn kind(&self, after: &str, cased: bool) -> AbbreviationKind {
        let begins = self.before.trim().is_empty();
        if begins && self.is_item() {
            return AbbreviationKind::Never;
        }
        if self.is_number() {
            return self.kind_of_number(after);
        }
        let spaced = self.spaced();
        let word = spaced.as_deref().unwrap_or(self.text);
        let last = word.rsplit('-').next().unwrap_or(word);
        let known = known(word).or_else(|| known(last));
        let capital = last.starts_with(char::is_uppercase);
        match known {
            Some(AbbreviationKind::Title) if capital || !cased => AbbreviationKind::Never,
            Some(AbbreviationKind::Title) if has(NEVER, word) => AbbreviationKind::Never,
            Some(AbbreviationKind::Title) => AbbreviationKind::Other,
            // "CA" is not the abbreviation "ca".
            Some(AbbreviationKind::Never) if last.chars().all(char::is_uppercase) => AbbreviationKind::Other,
            Some(kind) => kind,
            None if word.ends_with("str") => AbbreviationKind::BeforeNumber,
            None if self.is_initial() && begins_number(after) => AbbreviationKind::Never,
            None if self.is_dotted() || self.is_initial() => AbbreviationKind::Unclear,
            None => AbbreviationKind::Other,
        }
    }

    /// "J": a single letter, which may be the initial of a name.
    fn is_initial(&self) -> bool {
        let mut letters = self.text.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    }

    /// "U.S" or "Ph.D": parts of one or two letters.
    fn is_dotted(&self) -> bool {
        let short =
            |part: &str| (1..=2).contains(&part.chars().count()) && part.chars().all(char::is_alphabetic);
        self.text.contains('.') && self.text.split('.').all(short)
    }

    /// "3": a number that may be an ordinal or part of a date.
    fn is_number(&self) -> bool {
        (1..=3).contains(&self.text.len()) && self.text.bytes().all(|b| b.is_ascii_digit())
    }

    /// "3", "b" or "IV" as in a list.
    fn is_item(&self) -> bool {
        self.is_number() || self.is_initial() || is_roman(self.text)
    }

    fn kind_of_number(&self, after: &str) -> AbbreviationKind {
        let next = first_word(after).to_lowercase();
        let before = Self::last(self.before.trim_end());
        let is_english = before.text == "am" && Self::last(before.before.trim_end()).text == "I";
        let ordinal = !is_english
            && has(BEFORE_ORDINAL, &before.text.to_lowercase())
            && !STARTING.contains(next.as_str());
        if ordinal || goes_on_as_date(after) || has(AFTER_ORDINAL, &next) {
            AbbreviationKind::Never
        } else {
            AbbreviationKind::Other
        }
    }

    /// "z.B" for the last of the words "z. B", since abbreviations are also written with blanks.
    fn spaced(&self) -> Option<String> {
        if !self.is_initial() {
            return None;
        }
        let first = LastWord::last(self.before.trim_end().strip_suffix('.')?);
        let joined = format!("{}.{}", first.text, self.text);
        (known(&joined).is_some()).then_some(joined)
    }
}

/// The kind of an abbreviation, whatever the case of its letters.
fn known(word: &str) -> Option<AbbreviationKind> {
    ABBREVIATIONS.get(word.to_lowercase().as_str()).copied()
}

/// True if `text` begins with a word that rarely follows the abbreviation `after` within a sentence.
pub(super) fn is_starter(text: &str, after: &LastWord<'_>) -> bool {
    let word = first_word(text);
    let lower = word.to_lowercase();
    let rest = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let follows = |marks: &[char]| rest.get(word.len()..).is_some_and(|rest| rest.starts_with(marks));
    if follows(&['.']) && word.chars().count() == 1 {
        return false;
    }
    let elided = follows(&['\'', '’']) && has(ELIDED, &lower);
    let particle = after.is_initial() && has(PARTICLES, &lower);
    elided || STARTING.contains(lower.as_str()) && !particle
}

/// The letters and digits at the beginning of `text`, after other characters.
fn first_word(text: &str) -> &str {
    /// No word in the lists is longer, and a word rarely has more marks before it.
    const MAX_CHARS: usize = 16;
    let mut chars = text.char_indices().take(MAX_CHARS);
    let Some((start, _)) = chars.find(|(_, c)| c.is_alphanumeric()) else {
        return "";
    };
    let letters = text[start..].chars().take(MAX_CHARS).take_while(|c| c.is_alphanumeric());
    let len: usize = letters.map(char::len_utf8).sum();
    &text[start..start + len]
}

/// True if a number follows, in digits or Roman numerals.
pub(super) fn begins_number(text: &str) -> bool {
    let word = first_word(text);
    word.starts_with(char::is_numeric) || is_roman(word) && word != "I"
}

/// "IV": a number in Roman numerals.
fn is_roman(word: &str) -> bool {
    (1..=6).contains(&word.len()) && word.chars().all(|c| matches!(c, 'I' | 'V' | 'X' | 'L'))
}

/// True if `text` continues like the date "3. 10. 2020" after its first number.
fn goes_on_as_date(text: &str) -> bool {
    let digits = text.bytes().take(5).take_while(u8::is_ascii_digit).count();
    match digits {
        1 | 2 => text[digits..].starts_with('.'),
        4 => true,
        _ => false,
    }
}
