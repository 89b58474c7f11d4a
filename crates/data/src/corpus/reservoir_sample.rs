//! A random sample of the lines of a corpus.

use attentive_base::random::Random;

use crate::corpus::item::NumberedItem;

/// The seed is fixed, so the sample of a corpus is always the same.
const SEED: u64 = 0;
const STREAM: u64 = 0x7361_6d70_6c65_0000;

/// A random sample of the lines of a corpus, which contains each line with the same probability (Vitter 1985,
/// algorithm R).
#[derive(Debug)]
pub struct ReservoirSample {
    most: usize,
    seen: usize,
    entries: Vec<NumberedItem>,
    random: Random,
}

impl ReservoirSample {
    /// Returns an empty sample, which will hold at most `most` lines.
    pub fn new(most: usize) -> Self {
        Self { most, seen: 0, entries: Vec::new(), random: Random::new(SEED, STREAM) }
    }

    /// Offers the next line of the corpus.
    pub fn offer(&mut self, entry: NumberedItem) {
        self.seen += 1;
        if self.entries.len() < self.most {
            self.entries.push(entry);
            return;
        }
        let place = self.random.below(self.seen);
        if let Some(old) = self.entries.get_mut(place) {
            *old = entry;
        }
    }

    /// Returns the sample in the order of the corpus.
    pub fn into_entries(mut self) -> Vec<NumberedItem> {
        self.entries.sort_unstable_by_key(|entry| entry.line);
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Item;

    fn sample(n: usize, most: usize) -> Vec<usize> {
        let mut sample = ReservoirSample::new(most);
        for line in 1..=n {
            let item = Item::Text(line.to_string());
            sample.offer(NumberedItem { item, line, weight: 1.0 });
        }
        sample.into_entries().iter().map(|entry| entry.line).collect()
    }

    #[test]
    fn small_corpora_are_taken_as_a_whole() {
        assert_eq!(sample(5, 5), [1, 2, 3, 4, 5]);
        assert!(sample(0, 5).is_empty());
    }

    #[test]
    fn all_parts_of_a_corpus_are_sampled_alike() {
        let lines = sample(10_000, 2000);
        assert_eq!(lines.len(), 2000);
        assert!(lines.is_sorted());
        assert_eq!(lines, sample(10_000, 2000));
        for part in 0..5 {
            let found = lines.iter().filter(|&&line| (line - 1) / 2000 == part);
            let found = found.count();
            // The standard deviation is 16.
            assert!((320..480).contains(&found), "{found} of part {part}");
        }
    }
}
