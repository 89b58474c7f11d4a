//! Digit sequences and their reversals.

use std::ops::RangeInclusive;

use super::{Example, PartOfSpeech, Side};
use crate::random::Random;

/// Default lengths of digit sequences.
pub(super) const LENGTHS: RangeInclusive<usize> = 5..=40;

/// A random sequence and its reversal; the length is uniformly drawn from `lengths`.
pub(super) fn draw(random: &mut Random, lengths: &RangeInclusive<usize>) -> Example {
    let (shortest, longest) = (*lengths.start(), *lengths.end());
    assert!(
        0 < shortest && shortest <= longest,
        "lengths must be a non-empty range of positive numbers, not {shortest}..={longest}"
    );
    let n_digits = shortest + random.below(longest - shortest + 1);
    let digits: Vec<String> = (0..n_digits)
        .map(|_| random.below(10).to_string())
        .collect();
    let reversed = digits.iter().rev().cloned().collect();
    Example {
        src: side(digits),
        tgt: side(reversed),
        label: None,
    }
}

fn side(digits: Vec<String>) -> Side {
    Side {
        text: digits.join(" "),
        tags: vec![PartOfSpeech::Numeral; digits.len()],
        tokens: digits,
    }
}
