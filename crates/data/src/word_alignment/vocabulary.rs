//! Words as numbers.

use std::collections::HashMap;

/// Sentences whose words are numbers.
#[derive(Debug)]
pub(super) struct IndexedText {
    pub(super) sentences: Vec<Vec<u32>>,
    /// The number of different words.
    pub(super) n_words: usize,
}

impl IndexedText {
    pub(super) fn new(lines: &[String]) -> Self {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut number = |word: &str| {
            let next = numbers.len() as u32;
            *numbers.entry(word.to_lowercase()).or_insert(next)
        };
        let sentences = lines.iter().map(|line| line.split_whitespace().map(&mut number).collect()).collect();
        Self { sentences, n_words: numbers.len() }
    }

    pub(super) fn len(&self) -> usize {
        self.sentences.len()
    }
}
