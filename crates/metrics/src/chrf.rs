//! chrF and chrF++: F-score of character n-grams, and of word n-grams (Popović, 2015 and 2017).

use super::ngrams::{NgramCounts, count_ngrams};
use super::score::{Case, Score, signature, yes_no};
use super::segments::{CorpusMetric, Segments};
use super::text;

/// chrF as computed by sacreBLEU; the default is chrF2, and a `word_order` of 2 makes it chrF2++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chrf {
    /// The maximum order of character n-grams.
    pub char_order: usize,
    /// The maximum order of word n-grams; 0 for none.
    pub word_order: usize,
    /// β: the weight of recall relative to precision.
    pub beta: u32,
    /// Case sensitivity.
    pub case: Case,
    /// Count white space as characters.
    pub whitespace: bool,
    /// Average over all orders, using ε for those without n-grams, as chrF++.py, Moses and NLTK do, instead
    /// of over the orders that both sides have.
    pub epsilon_smoothing: bool,
}

impl Default for Chrf {
    fn default() -> Self {
        Self {
            char_order: 6,
            word_order: 0,
            beta: 2,
            case: Case::Mixed,
            whitespace: false,
            epsilon_smoothing: false,
        }
    }
}

/// N-gram counts of one order: of the hypothesis, of the reference, matching.
type OrderCounts = [f64; 3];

impl Chrf {
    /// chrF of a corpus.
    ///
    /// `references` holds one stream per reference translation, each with one line per hypothesis; each line
    /// is compared with the reference that gives the best score. An empty corpus scores 0.
    ///
    /// # Panics
    /// If there are no references, or a stream and `hypotheses` differ in length.
    pub fn corpus<H, R>(&self, hypotheses: &[H], references: &[Vec<R>]) -> Score
    where
        H: AsRef<str> + Sync,
        R: AsRef<str> + Sync,
    {
        Segments::new(*self, hypotheses, references).score()
    }

    /// chrF of one sentence.
    ///
    /// # Panics
    /// If there are no references.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
        assert!(!references.is_empty(), "at least one reference is required");
        self.report(&self.line_statistics(hypothesis, references), references.len())
    }

    fn characters(&self, line: &str) -> Vec<char> {
        if self.whitespace { line.chars().collect() } else { text::visible_chars(line).collect() }
    }

    /// F_β in percent.
    pub(super) fn f_score(&self, orders: &[OrderCounts]) -> f64 {
        if self.epsilon_smoothing { self.mean_of_f_scores(orders) } else { self.f_score_of_means(orders) }
    }

    /// The average F_β of all orders.
    fn mean_of_f_scores(&self, orders: &[OrderCounts]) -> f64 {
        const EPSILON: f64 = 1e-16;
        let ratio = |part: f64, whole: f64| {
            if whole > 0.0 { part / whole } else { EPSILON }
        };
        let factor = f64::from(self.beta).powi(2);
        let sum: f64 = orders
            .iter()
            .map(|&[hypothesis, reference, matching]| {
                let precision = ratio(matching, hypothesis);
                let recall = ratio(matching, reference);
                let denominator = factor * precision + recall;
                if denominator > 0.0 { (1.0 + factor) * precision * recall / denominator } else { EPSILON }
            })
            .sum();
        100.0 * sum / orders.len() as f64
    }

    /// F_β of the average precision and the average recall of the orders that both sides have.
    fn f_score_of_means(&self, orders: &[OrderCounts]) -> f64 {
        let (mut precision, mut recall, mut n_orders) = (0.0, 0.0, 0.0);
        for &[hypothesis, reference, matching] in orders {
            if hypothesis > 0.0 && reference > 0.0 {
                precision += matching / hypothesis;
                recall += matching / reference;
                n_orders += 1.0;
            }
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precision / n_orders, recall / n_orders);
        let factor = f64::from(self.beta).powi(2);
        100.0 * (1.0 + factor) * precision * recall / (factor * precision + recall)
    }
}

/// The statistics of a line are three numbers per order, characters first: the n-grams of the hypothesis, of
/// the best-scoring reference, and those that match.
impl CorpusMetric for Chrf {
    fn n_statistics(&self) -> usize {
        3 * (self.char_order + self.word_order)
    }

    fn line_statistics(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let lines: Vec<String> = std::iter::once(hypothesis)
            .chain(references.iter().copied())
            .map(|line| self.case.apply(line))
            .collect();
        let mut orders =
            count_ngrams(lines.iter().map(|line| self.characters(line)).collect(), self.char_order);
        if self.word_order > 0 {
            orders.extend(count_ngrams(lines.iter().map(|line| words(line)).collect(), self.word_order));
        }
        let mut best = (-1.0, Vec::new());
        for reference in 1..lines.len() {
            let counts: Vec<OrderCounts> = orders.iter().map(|ngrams| against(ngrams, reference)).collect();
            let f_score = self.f_score(&counts);
            if f_score > best.0 {
                best = (f_score, counts);
            }
        }
        best.1.into_flattened()
    }

    fn value(&self, sums: &[f64]) -> f64 {
        self.f_score(sums.as_chunks().0)
    }

    fn report(&self, sums: &[f64], n_references: usize) -> Score {
        Score {
            name: format!("chrF{}{}", self.beta, "+".repeat(self.word_order)),
            value: self.value(sums),
            signature: signature(
                n_references,
                &[
                    ("case", self.case.signature()),
                    ("eff", yes_no(!self.epsilon_smoothing)),
                    ("nc", &self.char_order.to_string()),
                    ("nw", &self.word_order.to_string()),
                    ("space", yes_no(self.whitespace)),
                ],
            ),
            detail: String::new(),
            interval: None,
        }
    }
}

/// The statistics of the first sequence of `ngrams` against the sequence `reference`; if the latter has no
/// n-grams, those of the first are not counted.
fn against(ngrams: &NgramCounts, reference: usize) -> OrderCounts {
    let n_reference = ngrams.total(reference);
    [
        if n_reference == 0 { 0 } else { ngrams.total(0) },
        n_reference,
        ngrams.matches(0, reference..reference + 1),
    ]
    .map(|count| count as f64)
}

/// Splits a line into words, separating one ASCII punctuation mark from the end, or else from the start, of
/// each word.
fn words(line: &str) -> Vec<&str> {
    let is_mark = |c: &char| c.is_ascii_punctuation();
    let mut pieces = Vec::new();
    for word in text::words(line) {
        let cut = if word.chars().nth(1).is_none() {
            None
        } else if word.chars().next_back().is_some_and(|c| is_mark(&c)) {
            Some(word.len() - 1)
        } else {
            word.chars().next().filter(is_mark).map(|_| 1)
        };
        match cut {
            Some(cut) => pieces.extend([&word[..cut], &word[cut..]]),
            None => pieces.push(word),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_one_mark_from_a_word() {
        assert_eq!(
            words("(hi) «a» 'tis well, ... . ü? \u{a0}(ä"),
            ["(hi", ")", "«a»", "'", "tis", "well", ",", "..", ".", ".", "ü", "?", "(", "ä"]
        );
    }
}
