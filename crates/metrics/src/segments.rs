//! The statistics of every line of a corpus, from which resampled corpora are scored.

use super::per_segment;
use super::score::Score;

/// A metric whose score of a corpus depends only on the sums of statistics of its lines.
pub trait CorpusMetric: Clone + PartialEq + Send + Sync {
    /// Number of statistics of a line.
    fn n_statistics(&self) -> usize;

    /// The statistics of one line, such as counts of n-grams. `references` is not empty.
    fn line_statistics(&self, hypothesis: &str, references: &[&str]) -> Vec<f64>;

    /// The score of a corpus whose statistics have these sums.
    fn value(&self, sums: &[f64]) -> f64;

    /// [`CorpusMetric::value`] with its name and signature.
    fn report(&self, sums: &[f64], n_references: usize) -> Score;
}

/// The statistics of every line of a system's output under the metric `M`.
#[derive(Clone, Debug)]
pub struct Segments<M> {
    metric: M,
    n_references: usize,
    n_lines: usize,
    /// `[line][statistic]`.
    statistics: Vec<f64>,
}

impl<M: CorpusMetric> Segments<M> {
    /// Gathers the statistics of `hypotheses`.
    ///
    /// `references` holds one stream per reference translation, each with one line per hypothesis.
    ///
    /// # Panics
    /// If there are no references, or a stream and `hypotheses` differ in length.
    pub fn new<H, R>(metric: M, hypotheses: &[H], references: &[Vec<R>]) -> Self
    where
        H: AsRef<str> + Sync,
        R: AsRef<str> + Sync,
    {
        let lines = per_segment(hypotheses, references, |hypothesis, references| {
            metric.line_statistics(hypothesis, references)
        });
        Self { metric, n_references: references.len(), n_lines: hypotheses.len(), statistics: lines.concat() }
    }

    pub fn n_lines(&self) -> usize {
        self.n_lines
    }

    /// Returns the score of the corpus.
    pub fn score(&self) -> Score {
        let sums = self.sums(0..self.n_lines);
        self.metric.report(&sums, self.n_references)
    }

    /// Returns the value of [`Segments::score`].
    pub fn value(&self) -> f64 {
        self.metric.value(&self.sums(0..self.n_lines))
    }

    /// The score of a corpus of these lines, each counted as often as it occurs in `lines`.
    pub(super) fn value_of(&self, lines: &[u32]) -> f64 {
        let lines = lines.iter().map(|&line| line as usize);
        self.metric.value(&self.sums(lines))
    }

    /// The scores of two corpora: one takes the lines of `self` where `chosen` is true and those of `other`
    /// elsewhere, the second takes the rest.
    pub(super) fn values_of_exchange(&self, other: &Self, chosen: &[bool]) -> [f64; 2] {
        [true, false].map(|own| {
            let mut sums = vec![0.0; self.metric.n_statistics()];
            for (line, &chosen) in chosen.iter().enumerate() {
                let from = if chosen == own { self } else { other };
                add(&mut sums, from.line(line));
            }
            self.metric.value(&sums)
        })
    }

    /// Checks that `other` scores the same lines with the same metric.
    ///
    /// # Panics
    /// If it does not.
    pub(super) fn assert_comparable(&self, other: &Self) {
        assert!(
            self.n_lines == other.n_lines,
            "a baseline of {} lines but a system of {}",
            self.n_lines,
            other.n_lines
        );
        assert!(self.metric == other.metric, "the systems were scored with different options");
    }

    fn line(&self, line: usize) -> &[f64] {
        let width = self.metric.n_statistics();
        &self.statistics[line * width..][..width]
    }

    fn sums(&self, lines: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.metric.n_statistics()];
        lines.for_each(|line| add(&mut sums, self.line(line)));
        sums
    }
}

/// Number of corpora of `n_lines` lines that are drawn at once, before they are scored in parallel: few if
/// they are long, to save memory.
pub(super) fn block(n_lines: usize) -> usize {
    ((1 << 20) / n_lines.max(1)).clamp(16, 256)
}

fn add(sums: &mut [f64], line: &[f64]) {
    for (sum, statistic) in sums.iter_mut().zip(line) {
        *sum += statistic;
    }
}
