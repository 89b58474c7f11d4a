//! How well a translation agrees with others of the same sentence.

use serde::{Deserialize, Serialize};

use super::ngrams::{NgramCounts, count_ngrams};
use super::{Bleu, Chrf, text};

/// A metric of the agreement of translations, for decoding by minimum Bayes risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Utility {
    /// chrF2, by characters.
    Chrf,
    /// Sentence BLEU, by words, with 1 added to matches and totals of orders above 1 (Lin and Och 2004).
    Bleu,
}

/// The n-gram counts of all candidates and their averages, of one order.
struct Order {
    ngrams: NgramCounts,
    means: Vec<f64>,
}

impl Order {
    fn of(ngrams: NgramCounts) -> Self {
        Self { means: ngrams.means(), ngrams }
    }

    /// The n-grams of a candidate, those of the average candidate, and how many match.
    fn counts(&self, candidate: usize) -> [f64; 3] {
        let average = self.means.iter().sum();
        let matching = self.ngrams.matches_of(candidate, &self.means);
        [self.ngrams.total(candidate) as f64, average, matching]
    }
}

impl Utility {
    /// Returns the score of `candidate` against `reference`, from 0 to 100.
    pub fn against(self, candidate: &str, reference: &str) -> f64 {
        match self {
            Self::Chrf => Chrf::default().sentence(candidate, &[reference]).value,
            Self::Bleu => {
                let counts = |order: &NgramCounts| {
                    let [candidate, reference] = [0, 1].map(|text| order.total(text) as f64);
                    [candidate, reference, order.matches(0, 1..2) as f64]
                };
                smoothed_bleu(&word_counts(&[candidate, reference]).iter().map(counts).collect::<Vec<_>>())
            }
        }
    }

    /// Returns the score of each of `candidates` against all of them, from 0 to 100. Instead of scoring each
    /// against each, it is scored against the average of their n-gram counts, with one comparison for each
    /// (Vamvas and Sennrich 2024).
    pub fn expected(self, candidates: &[&str]) -> Vec<f64> {
        let orders: Vec<Order> = match self {
            Self::Chrf => {
                let characters = candidates.iter().map(|one| text::visible_chars(one).collect());
                count_ngrams(characters.collect(), Chrf::default().char_order)
            }
            Self::Bleu => word_counts(candidates),
        }
        .into_iter()
        .map(Order::of)
        .collect();
        let score = |candidate| {
            let counts: Vec<[f64; 3]> = orders.iter().map(|order| order.counts(candidate)).collect();
            match self {
                Self::Chrf => Chrf::default().f_score(&counts),
                Self::Bleu => smoothed_bleu(&counts),
            }
        };
        (0..candidates.len()).map(score).collect()
    }
}

/// The n-grams of words that BLEU counts.
fn word_counts(texts: &[&str]) -> Vec<NgramCounts> {
    let tokenizer = Bleu::default().tokenizer;
    let lines: Vec<String> = texts.iter().map(|one| tokenizer.tokenize(one)).collect();
    let words = lines.iter().map(|line| text::words(line).collect());
    count_ngrams(words.collect::<Vec<Vec<&str>>>(), super::bleu::MAX_NGRAM_ORDER)
}

/// Sentence BLEU, of which each order has the n-grams of a candidate, those of the reference, and the matches.
fn smoothed_bleu(orders: &[[f64; 3]]) -> f64 {
    let [len, average, _] = orders[0];
    if len == 0.0 {
        return if average == 0.0 { 100.0 } else { 0.0 };
    }
    let log_precision = |(order, &[total, _, matching]): (usize, &[f64; 3])| {
        let added = if order == 0 { 0.0 } else { 1.0 };
        ((matching + added) / (total + added)).ln()
    };
    let mean = orders.iter().enumerate().map(log_precision).sum::<f64>() / orders.len() as f64;
    let brevity = (1.0 - average / len).min(0.0);
    100.0 * (mean + brevity).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTILITIES: [Utility; 2] = [Utility::Chrf, Utility::Bleu];

    #[test]
    fn equal_translations_agree_fully() {
        for utility in UTILITIES {
            for score in utility.expected(&["A dog runs home.", "A dog runs home."]) {
                assert!((score - 100.0).abs() < 1e-9, "{utility:?}: {score}");
            }
        }
        assert!(Utility::Chrf.expected(&[]).is_empty());
        assert_eq!(Utility::Bleu.expected(&["", ""]), [100.0, 100.0]);
        assert_eq!(Utility::Bleu.expected(&["", "a b"])[0], 0.0);
    }

    #[test]
    fn bleu_against_a_reference_adds_one_above_words() {
        let expected = 100.0 * (0.75_f64 * (3.0 / 4.0) * (2.0 / 3.0) * (1.0 / 2.0)).powf(0.25);
        assert!((Utility::Bleu.against("a b c d", "a b c e") - expected).abs() < 1e-9);
    }

    #[test]
    fn the_translation_that_the_others_agree_with_is_best() {
        let candidates = ["a dog runs home", "a dog runs away", "a cat runs home", "two birds sing"];
        for utility in UTILITIES {
            let scores = utility.expected(&candidates);
            let best = (0..4).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
            assert_eq!(best, 0, "{scores:?}");
            let worst = (0..4).min_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
            assert_eq!(worst, 3, "{scores:?}");
        }
    }

    #[test]
    fn two_candidates_have_the_expected_counts() {
        // Unigrams of "ab" against the average of "ab" and "b": a ½, b 1. Bigrams: ½ of one.
        let orders = [[2.0, 1.5, 1.5], [1.0, 0.5, 0.5]];
        let precision = (1.5 / 2.0 + 0.5) / 2.0;
        let recall: f64 = 1.0;
        let expected = 100.0 * 5.0 * precision * recall / (4.0 * precision + recall);
        assert!((Chrf::default().f_score(&orders) - expected).abs() < 1e-9);
        assert!((Utility::Chrf.expected(&["ab", "b"])[0] - expected).abs() < 1e-9);
        // One word of each: matches ½, both of length 1.
        assert!((Utility::Bleu.expected(&["ab", "b"])[0] - 100.0 * 0.5_f64.powf(0.25)).abs() < 1e-9);
    }
}
