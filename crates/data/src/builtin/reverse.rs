//! Digit sequences and their reversals.

use std::ops::RangeInclusive;

use attentive_base::random::Random;

use super::{BuiltinExample, PartOfSpeech, TaggedSentence};

/// The lengths of digit sequences of the built-in task.
pub(super) const LENGTHS: RangeInclusive<usize> = 5..=40;

/// A random sequence and its reversal; the length is drawn uniformly from `lengths`.
pub(super) fn draw(lengths: RangeInclusive<usize>, random: &mut Random) -> BuiltinExample {
    let n_digits = lengths.start() + random.below(lengths.end() + 1 - lengths.start());
    let digits: Vec<String> = (0..n_digits).map(|_| random.below(10).to_string()).collect();
    let reversed = digits.iter().rev().cloned().collect();
    let links = (0..n_digits).map(|place| (place, n_digits - 1 - place)).collect();
    BuiltinExample { src: side(digits), tgt: side(reversed), label: None, links }
}

fn side(digits: Vec<String>) -> TaggedSentence {
    TaggedSentence { text: digits.join(" "), tags: vec![PartOfSpeech::Numeral; digits.len()], tokens: digits }
}
