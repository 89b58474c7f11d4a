//! Words as numbers.

use std::collections::HashMap;

/// Words that occur less often are told apart by their beginnings alone, so that forms of a word share what
/// is learned of them.
const RARE: usize = 30;
/// The number of characters of such a beginning.
const BEGINNING: usize = 4;

/// The word in lower case, without punctuation around it, which text that is not tokenized has.
fn form(word: &str) -> String {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    if inner.is_empty() { word } else { inner }.to_lowercase()
}

/// Sentences whose words are numbers.
#[derive(Debug)]
pub(super) struct IndexedText {
    pub(super) sentences: Vec<Vec<u32>>,
    /// The number of words that are told apart.
    pub(super) n_words: usize,
}

impl IndexedText {
    pub(super) fn new(lines: &[String]) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for word in lines.iter().flat_map(|line| line.split_whitespace()) {
            *counts.entry(form(word)).or_default() += 1;
        }
        let mut numbers: HashMap<(bool, String), u32> = HashMap::new();
        let mut number = |word: &str| {
            let next = numbers.len() as u32;
            let word = form(word);
            let is_rare = counts[&word] < RARE;
            let key = if is_rare { word.chars().take(BEGINNING).collect() } else { word };
            *numbers.entry((is_rare, key)).or_insert(next)
        };
        let sentences = lines.iter().map(|line| line.split_whitespace().map(&mut number).collect()).collect();
        Self { sentences, n_words: numbers.len() }
    }

    pub(super) fn len(&self) -> usize {
        self.sentences.len()
    }
}
