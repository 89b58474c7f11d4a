//! Any of the metrics.

use super::{Bleu, Chrf, CorpusMetric, Score, Ter};

/// A metric with all its options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Word n-grams.
    Bleu(Bleu),
    /// Character n-grams, and words if it is chrF++.
    Chrf(Chrf),
    /// Edit rate.
    Ter(Ter),
}

impl Measure {
    /// Returns the score of one line, which for BLEU differs from the score of a corpus of one line.
    ///
    /// # Panics
    /// If there are no references.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
        match self {
            Self::Bleu(bleu) => bleu.sentence(hypothesis, references),
            Self::Chrf(chrf) => chrf.sentence(hypothesis, references),
            Self::Ter(ter) => ter.sentence(hypothesis, references),
        }
    }
}

impl CorpusMetric for Measure {
    fn n_statistics(&self) -> usize {
        match self {
            Self::Bleu(bleu) => bleu.n_statistics(),
            Self::Chrf(chrf) => chrf.n_statistics(),
            Self::Ter(ter) => ter.n_statistics(),
        }
    }

    fn line_statistics(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        match self {
            Self::Bleu(bleu) => bleu.line_statistics(hypothesis, references),
            Self::Chrf(chrf) => chrf.line_statistics(hypothesis, references),
            Self::Ter(ter) => ter.line_statistics(hypothesis, references),
        }
    }

    fn value(&self, sums: &[f64]) -> f64 {
        match self {
            Self::Bleu(bleu) => bleu.value(sums),
            Self::Chrf(chrf) => chrf.value(sums),
            Self::Ter(ter) => ter.value(sums),
        }
    }

    fn report(&self, sums: &[f64], n_references: usize) -> Score {
        match self {
            Self::Bleu(bleu) => bleu.report(sums, n_references),
            Self::Chrf(chrf) => chrf.report(sums, n_references),
            Self::Ter(ter) => ter.report(sums, n_references),
        }
    }
}
