//! The probabilities that words are translated by others.

use super::vocabulary::IndexedText;

/// A smaller probability counts as this, so that no alignment is impossible.
const SMALLEST: f32 = 1e-9;

/// The concentration of the prior of the probabilities.
const PRIOR: f64 = 0.2;

/// The derivative of the logarithm of the gamma function, for positive numbers: by its recurrence up to 6,
/// and by its asymptotic series from there.
fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 6.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)));
    result + x.ln() - 0.5 / x - series
}

/// For each given word, and for the empty word, the words beside which it occurs, with their probabilities.
#[derive(Debug)]
pub(super) struct TranslationTable {
    /// The end of each given word's entries; the last is the empty word's.
    ends: Vec<usize>,
    /// The words of each entry, ascending for each given word.
    words: Vec<u32>,
    probabilities: Vec<f32>,
}

impl TranslationTable {
    /// Equal probabilities for all words that occur in the same pairs.
    pub(super) fn new(given: &IndexedText, text: &IndexedText) -> Self {
        let mut pairs_of: Vec<Vec<u32>> = vec![Vec::new(); given.n_words];
        for (pair, sentence) in given.sentences.iter().enumerate() {
            for &word in sentence {
                let pairs = &mut pairs_of[word as usize];
                if pairs.last() != Some(&(pair as u32)) {
                    pairs.push(pair as u32);
                }
            }
        }
        let (mut ends, mut words) = (Vec::with_capacity(given.n_words + 1), Vec::new());
        let mut seen = vec![false; text.n_words];
        for pairs in pairs_of {
            let start = words.len();
            for word in pairs.into_iter().flat_map(|pair| &text.sentences[pair as usize]) {
                if !std::mem::replace(&mut seen[*word as usize], true) {
                    words.push(*word);
                }
            }
            words[start..].iter().for_each(|word| seen[*word as usize] = false);
            words[start..].sort_unstable();
            ends.push(words.len());
        }
        words.extend(0..text.n_words as u32);
        ends.push(words.len());
        let mut table = Self { probabilities: vec![1.0; words.len()], ends, words };
        table.improve(&vec![1.0; table.words.len()]);
        table
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The place of the entry of `word`, given another word, or none for the empty word.
    ///
    /// # Panics
    /// If they never occur in the same pair.
    pub(super) fn place(&self, given: Option<u32>, word: u32) -> usize {
        let Some(given) = given else {
            return self.len() - self.of_empty_word() + word as usize;
        };
        let start = match given {
            0 => 0,
            _ => self.ends[given as usize - 1],
        };
        let own = &self.words[start..self.ends[given as usize]];
        start + own.binary_search(&word).expect("words of one pair")
    }

    pub(super) fn probability(&self, place: usize) -> f64 {
        self.probabilities[place].max(SMALLEST).into()
    }

    /// Takes the `counts` of all entries for new probabilities, by variational Bayes: a prior for few
    /// translations of each word keeps rare words from being taken for the translations of whatever is beside
    /// them (Riley and Gildea 2012).
    pub(super) fn improve(&mut self, counts: &[f64]) {
        let mut start = 0;
        for &end in &self.ends {
            let total: f64 = counts[start..end].iter().map(|count| count + PRIOR).sum();
            let log_total = digamma(total);
            for (probability, count) in self.probabilities[start..end].iter_mut().zip(&counts[start..end]) {
                *probability = (digamma(count + PRIOR) - log_total).exp() as f32;
            }
            start = end;
        }
    }

    /// The number of the empty word's entries.
    fn of_empty_word(&self) -> usize {
        let before = self.ends.len().checked_sub(2).map_or(0, |place| self.ends[place]);
        self.len() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digamma_function_has_its_known_values() {
        // −γ at 1, ψ(x + 1) = ψ(x) + 1/x, and −γ − 2 ln 2 at ½.
        const EULER: f64 = 0.577_215_664_901_532_9;
        for (x, expected) in [
            (1.0, -EULER),
            (2.0, 1.0 - EULER),
            (0.5, -EULER - 2.0 * 2.0_f64.ln()),
            (10.0, 2.251_752_589_066_721),
        ] {
            assert!((digamma(x) - expected).abs() < 1e-9, "{x}");
        }
    }
}
