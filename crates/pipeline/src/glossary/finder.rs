//! Search for terms in texts.

use std::collections::HashMap;
use std::ops::Range;

use attentive_text::composed;
use unicode_segmentation::UnicodeSegmentation;

/// Terms, each with the number of its entry.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// As they are written.
    exact: Trie,
    /// In lower case, but for those that are written in capitals.
    lower: Trie,
}

/// Terms in a trie of words.
#[derive(Debug, Default)]
struct Trie {
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
        let term = composed(term);
        let known = self.exact.insert(&term, entry);
        if known.is_none() && !is_in_capitals(&term) {
            self.lower.insert(&term.to_lowercase(), entry);
        }
        known
    }

    /// The terms in the composed `text`: their bytes and entries, in the order of the text. A term is found
    /// in any case, but preferred as it is written; one in capitals, such as `US`, is found only so, and
    /// short words in capitals are no other terms. Of overlapping terms, the first one is taken, and of those
    /// with the same start the longest.
    pub(super) fn find(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let words = ranges(text);
        let exact: Vec<Option<u32>> = words.iter().map(|(_, word)| self.exact.word(word)).collect();
        let lower: Vec<Option<u32>> = words.iter().map(|(_, word)| self.lower.folded(word)).collect();
        let mut found = Vec::new();
        let mut place = 0;
        while place < words.len() {
            let as_written = self.exact.longest(&exact[place..]);
            let longest = match (as_written, self.lower.longest(&lower[place..])) {
                (Some(exact), Some(lower)) => Some(if lower.1 > exact.1 { lower } else { exact }),
                (exact, lower) => exact.or(lower),
            };
            let Some((entry, len)) = longest else {
                place += 1;
                continue;
            };
            let last = &words[place + len - 1];
            found.push((words[place].0..last.0 + last.1.len(), entry));
            place += len;
        }
        found
    }
}

impl Trie {
    /// Adds a term. If the term exists already, returns its entry and leaves it unchanged.
    fn insert(&mut self, term: &str, entry: usize) -> Option<usize> {
        let mut node = 0;
        for word in words(term) {
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

    /// The number of a word; `None` if no term has it.
    fn word(&self, word: &str) -> Option<u32> {
        self.words.get(one_blank(word)).copied()
    }

    /// The number of `word` in lower case. Short words in capitals are likelier to be others, such as `IT`.
    fn folded(&self, word: &str) -> Option<u32> {
        if is_in_capitals(word) && word.chars().count() < 3 {
            return None;
        }
        self.word(&word.to_lowercase())
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

/// True if all of at least two letters of `word` are capitals.
fn is_in_capitals(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic());
    letters.clone().nth(1).is_some() && letters.all(char::is_uppercase)
}

/// `part`, or a single blank for blanks.
fn one_blank(part: &str) -> &str {
    if part.trim().is_empty() { " " } else { part }
}

/// The words of `text` by the rules of Unicode, the characters between them, and a single blank for each run
/// of blanks.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    ranges(text).into_iter().map(|(_, part)| one_blank(part))
}

/// The parts of a word that ends in an English genitive, or the word.
fn without_genitive((start, word): (usize, &str)) -> impl Iterator<Item = (usize, &str)> {
    let stem = ["'s", "\u{2019}s"].iter().find_map(|end| word.strip_suffix(end));
    let len = stem.filter(|stem| !stem.is_empty()).map_or(word.len(), str::len);
    let (word, end) = word.split_at(len);
    [(start, word), (start + len, end)].into_iter().filter(|(_, part)| !part.is_empty())
}

/// The parts of [`words`], as they are written, with their first bytes.
fn ranges(text: &str) -> Vec<(usize, &str)> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for (start, part) in text.split_word_bound_indices().flat_map(without_genitive) {
        match found.last_mut() {
            Some((first, last)) if one_blank(last) == " " && one_blank(part) == " " => {
                *last = &text[*first..start + part.len()];
            }
            _ => found.push((start, part)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(terms: &[&'a str], text: &str) -> Vec<&'a str> {
        let mut finder = Finder::default();
        for (entry, term) in terms.iter().enumerate() {
            assert_eq!(finder.insert(term, entry), None, "{term}");
        }
        let found = finder.find(&composed(text));
        found.into_iter().map(|(_, entry)| terms[entry]).collect()
    }

    #[test]
    fn terms_are_whole_words() {
        let terms = ["dog", "New York", "U.S.", "don't", "C++", "犬"];
        for (text, expected) in [
            ("The dog, a hotdog", vec!["dog"]),
            ("dogs hotdog's", vec![]),
            ("dog's dog\u{2019}s", vec!["dog", "dog"]),
            ("Dog DOG", vec!["dog", "dog"]),
            ("(dog)", vec!["dog"]),
            ("New  York\nor New\tYork", vec!["New York"; 2]),
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
        assert_eq!(found(&terms, "b c d e a a"), ["b c d e", "a", "a"]);
        let mut finder = Finder::default();
        assert_eq!(finder.insert("a b", 7), None);
        assert_eq!(finder.insert("a  b", 8), Some(7));
        assert_eq!(finder.find("a b"), [(0..3, 7)]);
    }

    #[test]
    fn terms_are_found_in_other_cases() {
        let terms = ["dog", "Apple", "US", "it", "Straße", "am", "Dog sled"];
        for (text, expected) in [
            ("a dog, a Dog, a DOG", vec!["dog"; 3]),
            ("an apple APPLE", vec!["Apple"; 2]),
            ("tell us in the US", vec!["US"]),
            ("It is it, IT", vec!["it"; 2]),
            ("die straße", vec!["Straße"]),
            ("a DOG sled, dog  Sled", vec!["Dog sled"; 2]),
        ] {
            assert_eq!(found(&terms, text), expected, "{text}");
        }
        // As it is written first.
        assert_eq!(found(&["polish", "Polish"], "Polish polish POLISH"), ["Polish", "polish", "polish"]);
    }

    #[test]
    fn the_bytes_of_terms_are_known() {
        let mut finder = Finder::default();
        finder.insert("new york", 0);
        finder.insert("犬", 1);
        assert_eq!(finder.find("Ä New \u{a0} York大犬"), [(3..14, 0), (17..20, 1)]);
    }
}
