//! What rules ask about a text.

use crate::corpus::item::is_control;

/// What rules ask about a text.
#[derive(Debug)]
pub(super) struct TextFacts<'a> {
    pub(super) words: Vec<&'a str>,
    /// Characters that are not white space.
    pub(super) n_visible: usize,
    n_letters: usize,
    n_words_of_letters: usize,
    /// The characters of the longest word that is no address.
    pub(super) longest_word: usize,
    /// The groups of digits, sorted.
    pub(super) numbers: Vec<String>,
    /// The addresses, in order.
    pub(super) addresses: Vec<&'a str>,
    /// Whether there are characters that no text has.
    pub(super) is_damaged: bool,
}

impl<'a> TextFacts<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut addresses: Vec<&str> = words.iter().filter_map(|word| address(word)).collect();
        addresses.sort_unstable();
        let visible = || text.chars().filter(|c| !c.is_whitespace());
        let plain = words.iter().filter(|word| address(word).is_none());
        Self {
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

    pub(super) fn share_of_letters(&self) -> f64 {
        self.n_letters as f64 / self.n_visible.max(1) as f64
    }

    pub(super) fn share_of_words_of_letters(&self) -> f64 {
        self.n_words_of_letters as f64 / self.words.len().max(1) as f64
    }
}

/// The address of a page, a file or a person that `word` is, without punctuation around it.
fn address(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~'));
    let is_mail =
        |word: &str| word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    let is_address = word.contains("://") || word.starts_with("www.") || is_mail(word);
    is_address.then(|| word.trim_end_matches('/'))
}

/// The groups of digits of `text`, sorted: 1,000 and 1.000 are the same two.
fn numbers(text: &str) -> Vec<String> {
    let digits = |c: char| !c.is_ascii_digit();
    let mut numbers: Vec<String> =
        text.split(digits).filter(|part| !part.is_empty()).map(String::from).collect();
    numbers.sort_unstable();
    numbers
}
