//! Digit sequences and their reversals.

use std::ops::Range;

use attentive_base::random::Random;

use super::{BuiltinExample, PartOfSpeech, TaggedSentence};

/// The lengths of digit sequences.
const LENGTHS: Range<usize> = 5..41;

/// A random sequence and its reversal; the length is drawn uniformly.
pub(super) fn draw(random: &mut Random) -> BuiltinExample {
    let n_digits = LENGTHS.start + random.below(LENGTHS.len());
    let digits: Vec<String> = (0..n_digits).map(|_| random.below(10).to_string()).collect();
    let reversed = digits.iter().rev().cloned().collect();
    BuiltinExample { src: side(digits), tgt: side(reversed), label: None }
}

fn side(digits: Vec<String>) -> TaggedSentence {
    TaggedSentence { text: digits.join(" "), tags: vec![PartOfSpeech::Numeral; digits.len()], tokens: digits }
}
