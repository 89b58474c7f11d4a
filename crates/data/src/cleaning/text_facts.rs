//! What rules ask about a text.

use super::words::{has_no_blanks, words};
use crate::corpus::item::is_control;

/// What rules ask about a text.
#[derive(Debug)]
pub(super) struct TextFacts<'a> {
    /// The words; of scripts without blanks, each character.
    pub(super) words: Vec<&'a str>,
    /// The visible characters, as letters of an alphabet.
    pub(super) length: usize,
    n_visible: usize,
    n_letters: usize,
    n_words_of_letters: usize,
    /// The characters of the longest word that is no address.
    pub(super) longest_word: usize,
    /// The numbers, as digits alone, sorted.
    pub(super) numbers: Vec<String>,
    /// The addresses, sorted.
    pub(super) addresses: Vec<&'a str>,
    /// Whether there are characters that no text has.
    pub(super) is_damaged: bool,
}

impl<'a> TextFacts<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let of_blanks = || text.split_whitespace();
        let mut addresses: Vec<&str> = of_blanks().filter_map(address).collect();
        addresses.sort_unstable();
        let visible = || text.chars().filter(|c| !c.is_whitespace());
        let plain = of_blanks().filter(|word| address(word).is_none()).flat_map(words);
        let words: Vec<&str> = of_blanks().flat_map(words).collect();
        Self {
            length: visible().map(n_letters).sum(),
            n_visible: visible().count(),
            n_letters: visible().filter(|c| c.is_alphabetic()).count(),
            n_words_of_letters: words.iter().filter(|word| word.contains(char::is_alphabetic)).count(),
            longest_word: plain.map(|word| word.chars().count()).max().unwrap_or(0),
            numbers: numbers(text),
            addresses,
            is_damaged: text.chars().any(|c| c == '\u{FFFD}' || is_control(c)),
            words,
        }
    }

    /// The number of words, of which scripts without blanks have one in two characters.
    pub(super) fn n_words(&self) -> usize {
        let n_characters = self.words.iter().filter(|word| word.starts_with(has_no_blanks)).count();
        self.words.len() - n_characters + n_characters.div_ceil(2)
    }

    pub(super) fn share_of_letters(&self) -> f64 {
        self.n_letters as f64 / self.n_visible.max(1) as f64
    }

    pub(super) fn share_of_words_of_letters(&self) -> f64 {
        self.n_words_of_letters as f64 / self.words.len().max(1) as f64
    }
}

/// How many letters of an alphabet say about as much as `c`.
fn n_letters(c: char) -> usize {
    match c {
        // Chinese characters.
        '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => 3,
        // Kana and Hangul syllables.
        '\u{3041}'..='\u{30FF}' | '\u{AC00}'..='\u{D7A3}' => 2,
        _ => 1,
    }
}

/// The address of a page, a file or a person that `word` is, without punctuation around it.
fn address<'a>(word: &'a str) -> Option<&'a str> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~'));
    let is_mail =
        |word: &str| word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    let is_address = word.contains("://") || word.starts_with("www.") || is_mail(word);
    // A page is the same with and without these.
    let optional = ["http://", "https://", "www."];
    let page =
        |word: &'a str| optional.iter().fold(word, |rest, start| rest.strip_prefix(start).unwrap_or(rest));
    is_address.then(|| page(word).trim_end_matches('/'))
}

/// The numbers of `text`, as digits alone, sorted: 1,000, 1.000 and 1000 are the same, and so are 5 and 05, and
/// digits of other scripts.
fn numbers(text: &str) -> Vec<String> {
    let mut numbers: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c| digit(c).is_some()) {
        let (mut number, mut after) = digits(&rest[start..]);
        // Thousands are grouped in many ways.
        let mut is_group = number.len() <= 3;
        while is_group && let Some(group) = after.strip_prefix(is_separator) {
            let (next, behind) = digits(group);
            is_group = next.len() == 3;
            if is_group {
                number.push_str(&next);
                after = behind;
            }
        }
        let significant = number.trim_start_matches('0');
        numbers.push(if significant.is_empty() { "0" } else { significant }.to_owned());
        rest = after;
    }
    numbers.sort_unstable();
    numbers
}

/// The digits at the beginning of `text`, and what follows them.
fn digits(text: &str) -> (String, &str) {
    let end = text.find(|c| digit(c).is_none()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.chars().filter_map(digit).collect(), rest)
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | ',' | '\'' | '’' | ' ' | '\u{A0}' | '\u{2009}' | '\u{202F}')
}

/// The digit from 0 to 9 that `c` is in any script, also above and below the line.
fn digit(c: char) -> Option<char> {
    /// The zeros of Arabic, Persian, Devanagari, Bengali, Gujarati, Tamil, Thai and the wide digits, and those
    /// below the line; above it, 1 to 3 stand elsewhere.
    const ZEROS: [char; 10] = ['0', '٠', '۰', '०', '০', '૦', '௦', '๐', '０', '₀'];
    let raised = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let of_script = ZEROS.iter().map(|&zero| u32::from(c).wrapping_sub(u32::from(zero)));
    let of_raised = raised.iter().position(|&other| other == c).map(|place| place as u32);
    of_script.chain(of_raised).find(|&digit| digit < 10).and_then(|digit| char::from_digit(digit, 10))
}
