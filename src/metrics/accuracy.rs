//! Plain accuracy, and perplexity.

/// How many of how many are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Accuracy {
    /// Those that are right.
    pub correct: u64,
    /// All.
    pub total: u64,
}

impl Accuracy {
    /// From 0 to 1; 0 where there is nothing.
    ///
    /// # Panics
    /// Where more are right than there are.
    pub fn fraction(&self) -> f64 {
        assert!(
            self.correct <= self.total,
            "{} correct of only {}",
            self.correct,
            self.total
        );
        if self.total == 0 {
            0.0
        } else {
            self.correct as f64 / self.total as f64
        }
    }
}

/// How many lines equal their references in every character but a closing line break.
///
/// # Panics
/// Where there are not as many references as hypotheses.
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
    Accuracy {
        correct: correct as u64,
        total: hypotheses.len() as u64,
    }
}

fn without_newline(line: &str) -> &str {
    line.strip_suffix("\r\n")
        .or_else(|| line.strip_suffix('\n'))
        .unwrap_or(line)
}

/// e to the mean negative log-likelihood per token, given the sum in nats: among how many equally likely tokens the
/// model hesitates.
///
/// # Panics
/// Where there are no tokens.
pub fn perplexity(negative_log_likelihood: f64, n_tokens: u64) -> f64 {
    assert!(
        n_tokens > 0,
        "no perplexity for a likelihood of {negative_log_likelihood} over {n_tokens} tokens"
    );
    (negative_log_likelihood / n_tokens as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_match_but_for_the_newline() {
        let accuracy = exact_match(
            &["a b\n", "a b ", "", "x\r\n", "A"],
            &["a b", "a b", "\n", "x\n", "a"],
        );
        assert_eq!(
            accuracy,
            Accuracy {
                correct: 3,
                total: 5
            }
        );
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
