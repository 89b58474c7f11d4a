//! Accuracy and perplexity.

use super::score::{Score, signature};
use super::segments::CorpusMetric;

/// The number of correct items out of a total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Accuracy {
    /// The number of correct items.
    pub correct: u64,
    /// The number of all items.
    pub total: u64,
}

impl Accuracy {
    /// Returns the ratio, from 0 to 1; 0 if the total is 0.
    ///
    /// # Panics
    /// If `correct` exceeds `total`.
    pub fn fraction(&self) -> f64 {
        assert!(self.correct <= self.total, "{} correct out of {}", self.correct, self.total);
        if self.total == 0 { 0.0 } else { self.correct as f64 / self.total as f64 }
    }
}

/// Counts the lines that equal their references, ignoring a final line break.
///
/// # Panics
/// If the numbers of hypotheses and references differ.
pub fn exact_match<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> Accuracy {
    assert!(
        hypotheses.len() == references.len(),
        "{} hypotheses but {} references",
        hypotheses.len(),
        references.len()
    );
    let correct = hypotheses
        .iter()
        .zip(references)
        .filter(|(hypothesis, reference)| {
            without_newline(hypothesis.as_ref()) == without_newline(reference.as_ref())
        })
        .count();
    Accuracy { correct: correct as u64, total: hypotheses.len() as u64 }
}

/// The share of lines that equal their first reference, as a [`CorpusMetric`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMatch;

/// The statistics of a line are 1 or 0 (whether it equals its reference) and the constant 1.
impl CorpusMetric for ExactMatch {
    fn n_statistics(&self) -> usize {
        2
    }

    fn line_statistics(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let is_equal = exact_match(&[hypothesis], &references[..1]).correct;
        vec![is_equal as f64, 1.0]
    }

    /// From 0 to 1, like [`Accuracy::fraction`].
    fn value(&self, sums: &[f64]) -> f64 {
        if sums[1] == 0.0 { 0.0 } else { sums[0] / sums[1] }
    }

    fn report(&self, sums: &[f64], n_references: usize) -> Score {
        Score {
            name: "exact match".into(),
            value: self.value(sums),
            signature: signature(n_references, &[]),
            detail: String::new(),
            interval: None,
        }
    }
}

fn without_newline(line: &str) -> &str {
    line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line)
}

/// Perplexity: e to the power of the average negative log-likelihood per token, given the sum in nats. It is
/// the number of equally likely tokens that the model effectively chooses among.
///
/// # Panics
/// If there are no tokens.
pub fn perplexity(negative_log_likelihood: f64, n_tokens: u64) -> f64 {
    assert!(
        n_tokens > 0,
        "perplexity is undefined for a negative log-likelihood of {negative_log_likelihood} over {n_tokens} \
         tokens"
    );
    (negative_log_likelihood / n_tokens as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_match_ignores_only_the_line_break() {
        let accuracy = exact_match(&["a b\n", "a b ", "", "x\r\n", "A"], &["a b", "a b", "\n", "x\n", "a"]);
        assert_eq!(accuracy, Accuracy { correct: 3, total: 5 });
        assert_eq!(accuracy.fraction(), 0.6);
        assert_eq!(Accuracy::default().fraction(), 0.0);
    }

    #[test]
    #[should_panic(expected = "2 hypotheses but 1 references")]
    fn refuses_unaligned_lines() {
        exact_match(&["a", "b"], &["a"]);
    }

    #[test]
    fn a_uniform_guess_has_the_perplexity_of_the_vocabulary() {
        let nll = 7.0 * 32f64.ln();
        assert!((perplexity(nll, 7) - 32.0).abs() < 1e-12);
        assert_eq!(perplexity(0.0, 3), 1.0);
    }
}
