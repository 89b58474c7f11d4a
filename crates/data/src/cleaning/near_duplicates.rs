//! Pairs that say the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::SentencePair;

/// A number that is the same for pairs that differ in case, digits, white space and punctuation alone.
pub(super) fn hash(pair: &SentencePair) -> u64 {
    let mut hasher = DefaultHasher::new();
    for side in [&pair.src, &pair.tgt] {
        for c in side.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase) {
            let c = if c.is_numeric() { '0' } else { c };
            c.hash(&mut hasher);
        }
        // Of which side a character is.
        '\n'.hash(&mut hasher);
    }
    hasher.finish()
}
