//! N-gram counts of words or characters.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

/// Counts of the n-grams of one order in several sequences.
pub(super) struct NgramCounts {
    /// `[sequence][n-gram]`.
    counts: Vec<Vec<u32>>,
    /// Number of n-grams in each sequence, repetitions included.
    totals: Vec<u64>,
}

impl NgramCounts {
    /// Number of n-grams in a sequence, repetitions included.
    pub(super) fn total(&self, sequence: usize) -> u64 {
        self.totals[sequence]
    }

    /// The average count of each n-gram over all sequences.
    pub(super) fn means(&self) -> Vec<f64> {
        let n = self.counts.len() as f64;
        let n_distinct = self.counts.first().map_or(0, Vec::len);
        let sum = |ngram: usize| self.counts.iter().map(|counts| f64::from(counts[ngram])).sum::<f64>();
        (0..n_distinct).map(|ngram| sum(ngram) / n).collect()
    }

    /// Number of n-grams of `sequence` that match, clipped to these counts.
    pub(super) fn matches_of(&self, sequence: usize, counts: &[f64]) -> f64 {
        self.counts[sequence].iter().zip(counts).map(|(&count, other)| f64::from(count).min(*other)).sum()
    }

    /// Number of n-grams of `sequence` that match, clipped to the maximum count in any one of `others`.
    pub(super) fn matches(&self, sequence: usize, others: std::ops::Range<usize>) -> u64 {
        let others = &self.counts[others];
        self.counts[sequence]
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(ngram, &count)| count.min(others.iter().map(|other| other[ngram]).max().unwrap_or(0)))
            .map(u64::from)
            .sum()
    }
}

/// Counts the n-grams of orders 1 to `max_order` in `sequences`; the first element is for order 1.
///
/// N-grams are numbered: an n-gram is identified by the number of its first n − 1 symbols and its last
/// symbol, so the cost per n-gram does not depend on n.
pub(super) fn count_ngrams<T: Hash + Eq>(sequences: Vec<Vec<T>>, max_order: usize) -> Vec<NgramCounts> {
    let mut numbers = HashMap::new();
    let symbols: Vec<Vec<u32>> = sequences
        .into_iter()
        .map(|sequence| sequence.into_iter().map(|symbol| number(&mut numbers, symbol)).collect())
        .collect();
    let mut n_distinct = numbers.len();
    let mut ngrams = symbols.clone();
    (1..=max_order)
        .map(|order| {
            if order > 1 {
                n_distinct = extend(&mut ngrams, &symbols, order);
            }
            NgramCounts {
                counts: ngrams.iter().map(|sequence| histogram(sequence, n_distinct)).collect(),
                totals: ngrams.iter().map(|sequence| sequence.len() as u64).collect(),
            }
        })
        .collect()
}

/// Extends the n-grams of the previous order to `order` and returns the number of distinct ones.
fn extend(ngrams: &mut [Vec<u32>], symbols: &[Vec<u32>], order: usize) -> usize {
    let mut numbers = HashMap::<u64, u32, BuildHasherDefault<PairHasher>>::default();
    for (ngrams, symbols) in ngrams.iter_mut().zip(symbols) {
        ngrams.truncate((symbols.len() + 1).saturating_sub(order));
        for (ngram, &last) in ngrams.iter_mut().zip(symbols.iter().skip(order - 1)) {
            let pair = u64::from(*ngram) << 32 | u64::from(last);
            *ngram = number(&mut numbers, pair);
        }
    }
    numbers.len()
}

/// The number of `key`, assigning the next free number to a new key.
pub(super) fn number<K: Hash + Eq, S: BuildHasher>(numbers: &mut HashMap<K, u32, S>, key: K) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(key).or_insert(next)
}

/// Hashes a pair of numbers with one multiplication. The keys are internal numbers, so no input can force
/// collisions.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, pair: u64) {
        // 2⁶⁴ divided by the golden ratio. The high bits of the product are well mixed; the table uses both
        // ends.
        let product = (self.0 ^ pair).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn histogram(sequence: &[u32], n_distinct: usize) -> Vec<u32> {
    let mut counts = vec![0; n_distinct];
    for &ngram in sequence {
        counts[ngram as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_naive_count() {
        let sequences: Vec<Vec<char>> =
            ["abababcab", "babcabab", "", "ab"].iter().map(|s| s.chars().collect()).collect();
        let orders = count_ngrams(sequences.clone(), 5);
        assert_eq!(orders.len(), 5);
        let count = |sequence: &[char], ngram: &[char]| {
            sequence.windows(ngram.len()).filter(|window| *window == ngram).count() as u64
        };
        for (order, counts) in (1..).zip(&orders) {
            let mut distinct: Vec<&[char]> = sequences[0].windows(order).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let expected: u64 = distinct
                .iter()
                .map(|ngram| {
                    let best = sequences[1..].iter().map(|other| count(other, ngram)).max().unwrap_or(0);
                    best.min(count(&sequences[0], ngram))
                })
                .sum();
            assert_eq!(counts.matches(0, 1..4), expected, "order {order}");
            assert_eq!(counts.total(0), (10 - order) as u64);
            assert_eq!(counts.total(3), 3u64.saturating_sub(order as u64));
            assert_eq!(counts.matches(0, 2..3), 0);
        }
    }
}
