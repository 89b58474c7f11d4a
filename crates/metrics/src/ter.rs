//! TER: the number of edits, including phrase shifts, that turn the output into a reference (Snover et al.,
//! 2006).

use std::collections::HashMap;

use super::edit_distance::translation_edits;
use super::ngrams::number;
use super::score::{Case, Score, signature, yes_no};
use super::segments::{CorpusMetric, Segments};
use super::{text, tokenize};

/// TER as computed by sacreBLEU and Tercom. By default it is case-insensitive and splits words at white
/// space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ter {
    /// Case sensitivity.
    pub case: Case,
    /// Resolve XML entities and separate punctuation from words.
    pub normalized: bool,
    pub remove_punctuation: bool,
    /// Split Chinese and Japanese text into characters when normalizing, and remove Asian punctuation as
    /// well.
    pub asian_support: bool,
}

impl Default for Ter {
    fn default() -> Self {
        Self { case: Case::Lower, normalized: false, remove_punctuation: false, asian_support: false }
    }
}

impl Ter {
    /// TER of a corpus.
    ///
    /// `references` holds one stream per reference translation, each with one line per hypothesis. An empty
    /// corpus, or one of empty lines, scores 0; output with empty references scores 100.
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

    /// TER of one sentence.
    ///
    /// # Panics
    /// If there are no references.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
        assert!(!references.is_empty(), "at least one reference is required");
        self.report(&self.line_statistics(hypothesis, references), references.len())
    }

    /// The words of a line, separated by single spaces.
    fn tokenize(&self, line: &str) -> String {
        let mut line = self.case.apply(text::strip_end(line));
        if self.normalized {
            line = tokenize::tercom_western(&line);
            if self.asian_support {
                line = tokenize::tercom_asian(&line);
            }
        }
        if self.remove_punctuation {
            line = tokenize::without_western_marks(&line);
            if self.asian_support {
                line = tokenize::without_asian_marks(&line);
            }
        }
        text::words(&line).collect::<Vec<_>>().join(" ")
    }

    fn signature(&self, n_references: usize) -> String {
        signature(
            n_references,
            &[
                ("case", self.case.signature()),
                ("tok", "tercom"),
                ("norm", yes_no(self.normalized)),
                ("punct", yes_no(!self.remove_punctuation)),
                ("asian", yes_no(self.asian_support)),
            ],
        )
    }
}

/// A line has two statistics: the edits needed for the closest reference, and the mean length of the
/// references.
impl CorpusMetric for Ter {
    fn n_statistics(&self) -> usize {
        2
    }

    fn line_statistics(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let mut numbers = HashMap::new();
        let mut words_of = |line: &str| -> Vec<u32> {
            text::words(line).map(|word| number(&mut numbers, word.to_owned())).collect()
        };
        let hypothesis = words_of(&self.tokenize(hypothesis));
        // sacreBLEU preprocesses references twice, and the second pass can change more: `a's,` becomes
        // `a's ,`, and only then `a 's ,`.
        let references: Vec<Vec<u32>> =
            references.iter().map(|reference| words_of(&self.tokenize(&self.tokenize(reference)))).collect();
        let reference_len: usize = references.iter().map(Vec::len).sum();
        let edits =
            references.iter().map(|reference| translation_edits(&hypothesis, reference)).min().unwrap_or(0);
        vec![edits as f64, reference_len as f64 / references.len() as f64]
    }

    fn value(&self, sums: &[f64]) -> f64 {
        let (edits, reference_len) = (sums[0], sums[1]);
        if reference_len > 0.0 {
            100.0 * (edits / reference_len)
        } else if edits > 0.0 {
            100.0
        } else {
            0.0
        }
    }

    fn report(&self, sums: &[f64], n_references: usize) -> Score {
        Score {
            name: "TER".into(),
            value: self.value(sums),
            signature: self.signature(n_references),
            detail: String::new(),
            interval: None,
        }
    }
}
