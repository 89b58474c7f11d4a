//! Search for terms in texts.

use std::collections::HashMap;

use attentive_text::composed;
use unicode_segmentation::UnicodeSegmentation;

/// Terms, each with the number of its entry, in a trie of words.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// A number for each word that occurs in a term.
    words: HashMap<Box<str>, u32>,
    /// The child of a node, of which 0 is the root, for a word.
    next: HashMap<(u32, u32), u32>,
    /// The entries of the terms that end at a node.
    entries: HashMap<u32, usize>,
}

/// The number of bytes of memory that a word of a term takes, besides its characters.
pub(super) const MEMORY: usize = 96;

impl Finder {
    /// Adds a term. If the term exists already, returns its entry and leaves it unchanged.
    pub(super) fn insert(&mut self, term: &str, entry: usize) -> Option<usize> {
        let mut node = 0;
        for word in words(&composed(term)) {
            let new = self.words.len() as u32;
            let word = match self.words.get(word) {
                Some(&known) => known,
                None => *self.words.entry(word.into()).or_insert(new),
            };
            let new = self.next.len() as u32 + 1;
            node = *self.next.entry((node, word)).or_insert(new);
        }
        let known = self.entries.get(&node).copied();
        if known.is_none() {
            self.entries.insert(node, entry);
        }
        known
    }

    /// The entries of the terms in `text`, in whichever Unicode form either is written, in ascending order.
    /// Of overlapping terms, the first one is taken, and of those with the same start the longest.
    pub(super) fn find(&self, text: &str) -> Vec<usize> {
        let words: Vec<Option<u32>> =
            words(&composed(text)).map(|word| self.words.get(word).copied()).collect();
        let mut found = Vec::new();
        let mut place = 0;
        while place < words.len() {
            let (entry, len) = self.longest(&words[place..]).unzip();
            found.extend(entry);
            place += len.unwrap_or(1);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The entry of the longest term that is a prefix of `words`, and its number of words.
    fn longest(&self, words: &[Option<u32>]) -> Option<(usize, usize)> {
        let mut node = 0;
        let mut longest = None;
        for (len, word) in (1..).zip(words) {
            let Some(&next) = word.and_then(|word| self.next.get(&(node, word))) else {
                break;
            };
            node = next;
            longest = self.entries.get(&node).map(|&entry| (entry, len)).or(longest);
        }
        longest
    }
}

/// The words of `text` by the rules of Unicode, the characters between them, and a single blank for each run
/// of blanks.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split_word_bounds();
    let parts = parts.map(|part| if part.trim().is_empty() { " " } else { part });
    let mut last = "";
    parts.filter(move |&part| std::mem::replace(&mut last, part) != " " || part != " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(terms: &[&'a str], text: &str) -> Vec<&'a str> {
        let mut finder = Finder::default();
        for (entry, term) in terms.iter().enumerate() {
            assert_eq!(finder.insert(term, entry), None, "{term}");
        }
        let found = finder.find(text);
        found.into_iter().map(|entry| terms[entry]).collect()
    }

    #[test]
    fn terms_are_whole_words_in_their_case() {
        let terms = ["dog", "New York", "U.S.", "don't", "C++", "犬"];
        for (text, expected) in [
            ("The dog, a hotdog", vec!["dog"]),
            ("dogs Dog DOG dog's", vec![]),
            ("(dog)", vec!["dog"]),
            ("New  York\nor New\tYork", vec!["New York"]),
            ("NewYork New, York", vec![]),
            ("the U.S. don't", vec!["U.S.", "don't"]),
            ("C++ or C", vec!["C++"]),
            ("大きい犬です", vec!["犬"]),
            ("", vec![]),
        ] {
            assert_eq!(found(&terms, text), expected, "{text}");
        }
        for (term, text) in
            [("caf\u{e9}", "a cafe\u{301}."), ("cafe\u{301}", "a caf\u{e9}."), ("\u{212b}", "\u{c5}")]
        {
            assert_eq!(found(&[term], text), [term]);
        }
    }

    #[test]
    fn the_longest_term_counts() {
        let terms = ["a", "a b c", "b", "b c d e"];
        assert_eq!(found(&terms, "a b c d"), ["a b c"]);
        assert_eq!(found(&terms, "a b d"), ["a", "b"]);
        assert_eq!(found(&terms, "b c d e a a"), ["a", "b c d e"]);
        let mut finder = Finder::default();
        assert_eq!(finder.insert("a b", 7), None);
        assert_eq!(finder.insert("a  b", 8), Some(7));
        assert_eq!(finder.find("a b"), [7]);
    }
}
