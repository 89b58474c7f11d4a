//! BLEU: n-gram precision of the output against references (Papineni et al., 2002).

use super::ngrams::count_ngrams;
use super::score::{Case, Score, signature, yes_no};
use super::segments::CorpusMetric;
use super::{BleuTokenizer, per_segment, text};

/// The maximum n-gram order of BLEU.
pub const MAX_NGRAM_ORDER: usize = 4;

/// Smoothing of n-gram orders without a match (Chen and Cherry, 2014).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Smoothing {
    /// What is counted.
    pub method: SmoothingMethod,
    /// The number of the method, if it has one; by default that of sacreBLEU.
    pub value: Option<f64>,
}

/// What is counted for an n-gram order without a match.
// `Exp` is NIST's method 3 in Chen and Cherry's list, `Floor` method 1, `AddK` method 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SmoothingMethod {
    /// Counts the k-th n-gram order without a match as 1 / 2ᵏ matches.
    #[default]
    Exp,
    /// Counts an order without a match as a small number of matches, 0.1 by default.
    Floor,
    /// Adds a number, 1 by default, to the matches and totals of all orders above unigrams.
    AddK,
    /// No smoothing: BLEU is 0 if any order has no match.
    None,
}

impl SmoothingMethod {
    /// Returns sacreBLEU's number for the method; `None` for a method without one.
    pub fn default_value(self) -> Option<f64> {
        match self {
            Self::Floor => Some(0.1),
            Self::AddK => Some(1.0),
            Self::Exp | Self::None => None,
        }
    }
}

impl Smoothing {
    /// The number of the method; 0 for a method without one.
    fn number(self) -> f64 {
        self.method.default_value().map_or(0.0, |default| self.value.unwrap_or(default))
    }

    fn signature(self) -> String {
        let number = self.number();
        match self.method {
            SmoothingMethod::Exp => "exp".into(),
            SmoothingMethod::Floor => format!("floor[{number:.2}]"),
            SmoothingMethod::AddK => format!("add-k[{number:.2}]"),
            SmoothingMethod::None => "none".into(),
        }
    }
}

/// BLEU as computed by sacreBLEU; the defaults are those used at WMT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bleu {
    /// Word segmentation.
    pub tokenizer: BleuTokenizer,
    /// Smoothing of orders without a match.
    pub smoothing: Smoothing,
    /// Case sensitivity.
    pub case: Case,
    /// Ignore the orders that exceed the length of the output; [`Bleu::sentence`] always does.
    pub effective_order: bool,
}

impl Default for Bleu {
    fn default() -> Self {
        Self {
            tokenizer: BleuTokenizer::Mteval13a,
            smoothing: Smoothing::default(),
            case: Case::Mixed,
            effective_order: false,
        }
    }
}

/// Sufficient statistics of BLEU; a corpus has the sum of its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BleuStatistics {
    /// Words in the output.
    pub hypothesis_len: u64,
    /// Words in the references: for each segment, of the reference closest in length to the output.
    pub reference_len: u64,
    /// Matching n-grams per order.
    pub correct: [u64; MAX_NGRAM_ORDER],
    /// N-grams of the output per order.
    pub total: [u64; MAX_NGRAM_ORDER],
}

impl std::ops::AddAssign for BleuStatistics {
    fn add_assign(&mut self, other: Self) {
        self.hypothesis_len += other.hypothesis_len;
        self.reference_len += other.reference_len;
        for order in 0..MAX_NGRAM_ORDER {
            self.correct[order] += other.correct[order];
            self.total[order] += other.total[order];
        }
    }
}

impl BleuStatistics {
    /// The inverse of [`Bleu::line_statistics`].
    fn from_sums(sums: &[f64]) -> Self {
        let count = |place: usize| sums[place] as u64;
        Self {
            hypothesis_len: count(0),
            reference_len: count(1),
            correct: std::array::from_fn(|order| count(2 + order)),
            total: std::array::from_fn(|order| count(2 + MAX_NGRAM_ORDER + order)),
        }
    }

    /// Returns the brevity penalty, at most 1, which penalizes output shorter than the references.
    pub fn brevity_penalty(&self) -> f64 {
        if self.hypothesis_len >= self.reference_len {
            1.0
        } else if self.hypothesis_len == 0 {
            0.0
        } else {
            (1.0 - self.reference_len as f64 / self.hypothesis_len as f64).exp()
        }
    }

    /// Returns the smoothed precision of each order in percent, up to the highest order for which the output
    /// has n-grams; empty if nothing matches.
    pub fn precisions(&self, smoothing: Smoothing) -> Vec<f64> {
        let mut precisions = Vec::with_capacity(MAX_NGRAM_ORDER);
        if self.correct == [0; MAX_NGRAM_ORDER] {
            return precisions;
        }
        let mut halvings = 1.0;
        for order in 0..MAX_NGRAM_ORDER {
            let adds = smoothing.method == SmoothingMethod::AddK && order > 0;
            let added = if adds { smoothing.number() } else { 0.0 };
            let correct = self.correct[order] as f64 + added;
            let total = self.total[order] as f64 + added;
            if total == 0.0 {
                break;
            }
            let matches = match smoothing.method {
                SmoothingMethod::Exp if correct == 0.0 => {
                    halvings *= 2.0;
                    1.0 / halvings
                }
                SmoothingMethod::Floor if correct == 0.0 => smoothing.number(),
                _ => correct,
            };
            precisions.push(100.0 * matches / total);
        }
        precisions
    }
}

impl Bleu {
    /// BLEU of a corpus.
    ///
    /// `references` holds one stream per reference translation, each with one line per hypothesis. An empty
    /// corpus scores 0.
    ///
    /// # Panics
    /// If there are no references, or a stream and `hypotheses` differ in length.
    pub fn corpus<H, R>(&self, hypotheses: &[H], references: &[Vec<R>]) -> Score
    where
        H: AsRef<str> + Sync,
        R: AsRef<str> + Sync,
    {
        self.score(&self.statistics(hypotheses, references), references.len())
    }

    /// BLEU of one sentence, with the effective order as in sacreBLEU's sentence BLEU.
    ///
    /// # Panics
    /// If there are no references.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
        assert!(!references.is_empty(), "at least one reference is required");
        let metric = Self { effective_order: true, ..*self };
        metric.score(&metric.segment(hypothesis, references), references.len())
    }

    /// Gathers the statistics of a corpus; for arguments and panics see [`Bleu::corpus`].
    pub fn statistics<H, R>(&self, hypotheses: &[H], references: &[Vec<R>]) -> BleuStatistics
    where
        H: AsRef<str> + Sync,
        R: AsRef<str> + Sync,
    {
        let mut sum = BleuStatistics::default();
        for segment in
            per_segment(hypotheses, references, |hypothesis, references| self.segment(hypothesis, references))
        {
            sum += segment;
        }
        sum
    }

    /// Returns the score for `statistics` gathered against `n_references` references.
    pub fn score(&self, statistics: &BleuStatistics, n_references: usize) -> Score {
        let (value, precisions) = self.value_and_precisions(statistics);
        Score {
            name: "BLEU".into(),
            value,
            signature: self.signature(n_references),
            detail: detail(statistics, &precisions),
            interval: None,
        }
    }

    fn value_and_precisions(&self, statistics: &BleuStatistics) -> (f64, Vec<f64>) {
        let mut precisions = statistics.precisions(self.smoothing);
        let n_orders = if self.effective_order { precisions.len() } else { MAX_NGRAM_ORDER };
        precisions.resize(MAX_NGRAM_ORDER, 0.0);
        if n_orders == 0 {
            return (0.0, precisions);
        }
        // The logarithm of a precision of 0 is −∞, which makes BLEU 0.
        let mean = precisions[..n_orders].iter().map(|p| p.ln()).sum::<f64>() / n_orders as f64;
        (statistics.brevity_penalty() * mean.exp(), precisions)
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> BleuStatistics {
        let lines: Vec<String> = std::iter::once(hypothesis)
            .chain(references.iter().copied())
            .map(|line| self.tokenizer.tokenize(text::strip_end(&self.case.apply(line))))
            .collect();
        let words: Vec<Vec<&str>> = lines.iter().map(|line| text::words(line).collect()).collect();
        let hypothesis_len = words[0].len();
        let reference_len = words[1..]
            .iter()
            .map(Vec::len)
            .min_by_key(|&len| (len.abs_diff(hypothesis_len), len))
            .unwrap_or(0);
        let mut statistics = BleuStatistics {
            hypothesis_len: hypothesis_len as u64,
            reference_len: reference_len as u64,
            ..BleuStatistics::default()
        };
        let n_lines = lines.len();
        for (order, ngrams) in count_ngrams(words, MAX_NGRAM_ORDER).iter().enumerate() {
            statistics.total[order] = ngrams.total(0);
            statistics.correct[order] = ngrams.matches(0, 1..n_lines);
        }
        statistics
    }

    fn signature(&self, n_references: usize) -> String {
        signature(
            n_references,
            &[
                ("case", self.case.signature()),
                ("eff", yes_no(self.effective_order)),
                ("tok", self.tokenizer.signature()),
                ("smooth", &self.smoothing.signature()),
            ],
        )
    }
}

/// The statistics of a line are the ten numbers of its [`BleuStatistics`].
impl CorpusMetric for Bleu {
    fn n_statistics(&self) -> usize {
        2 + 2 * MAX_NGRAM_ORDER
    }

    fn line_statistics(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let statistics = self.segment(hypothesis, references);
        let lengths = [statistics.hypothesis_len, statistics.reference_len];
        let counts = lengths.into_iter().chain(statistics.correct).chain(statistics.total);
        counts.map(|count| count as f64).collect()
    }

    fn value(&self, sums: &[f64]) -> f64 {
        self.value_and_precisions(&BleuStatistics::from_sums(sums)).0
    }

    fn report(&self, sums: &[f64], n_references: usize) -> Score {
        self.score(&BleuStatistics::from_sums(sums), n_references)
    }
}

fn detail(statistics: &BleuStatistics, precisions: &[f64]) -> String {
    let BleuStatistics { hypothesis_len, reference_len, .. } = *statistics;
    let precisions: Vec<String> = precisions.iter().map(|p| format!("{p:.1}")).collect();
    let ratio = if reference_len == 0 { 0.0 } else { hypothesis_len as f64 / reference_len as f64 };
    format!(
        "{} (BP = {:.3} ratio = {ratio:.3} hyp_len = {hypothesis_len} ref_len = {reference_len})",
        precisions.join("/"),
        statistics.brevity_penalty()
    )
}
