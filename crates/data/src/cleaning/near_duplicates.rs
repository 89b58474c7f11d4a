//! Texts that say the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use unicode_segmentation::UnicodeSegmentation;

use super::SentencePair;

/// A number that is the same for pairs that differ in case, digits, white space and punctuation alone.
pub(super) fn hash(pair: &SentencePair) -> u64 {
    let alike = |c: char| if c.is_numeric() { '0' } else { c };
    let mut hasher = DefaultHasher::new();
    for side in [&pair.src, &pair.tgt] {
        characters(side).map(alike).for_each(|c| c.hash(&mut hasher));
        // Of which side a character is.
        '\n'.hash(&mut hasher);
    }
    hasher.finish()
}

impl SentencePair {
    /// Returns a number that is the same for pairs whose targets differ in case, white space and punctuation
    /// alone.
    pub fn target_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        characters(&self.tgt).for_each(|c| c.hash(&mut hasher));
        hasher.finish()
    }
}

/// The letters and digits of a text with their marks, in lower case.
fn characters(text: &str) -> impl Iterator<Item = char> {
    // Vowels and tones are marks in Thai and Hindi, for example.
    let letters = text.graphemes(true).filter(|letter| letter.contains(char::is_alphanumeric));
    letters.flat_map(str::chars).flat_map(char::to_lowercase)
}
