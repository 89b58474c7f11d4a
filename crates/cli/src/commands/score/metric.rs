//! The names of metrics.

use clap::ValueEnum;

/// The name of a metric.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MetricName {
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

impl MetricName {
    /// The name on the command line.
    pub(super) fn name(&self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
