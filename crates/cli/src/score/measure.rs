//! The metrics of `attentive score`.

use attentive_metrics::{Bleu, Chrf, CorpusMetric, Score, Ter};
use clap::ValueEnum;

/// The name of a metric.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Metric {
    /// Word n-grams (Papineni et al. 2002).
    Bleu,
    /// Character n-grams (Popović 2015).
    Chrf,
    /// Character n-grams, words and word bigrams (Popović 2017).
    #[value(name = "chrf++")]
    ChrfPlusPlus,
    /// Edit rate (Snover et al. 2006).
    Ter,
}

impl Metric {
    /// The name on the command line.
    pub(super) fn name(&self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A metric with all its options.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Measure {
    Bleu(Bleu),
    Chrf(Chrf),
    Ter(Ter),
}

impl Measure {
    /// The score of one line, which for BLEU differs from the score of a corpus of one line.
    pub(super) fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
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
