//! BLEU: how many n-grams of the output stand in a reference (Papineni et al., 2002).

use super::ngrams::count_ngrams;
use super::score::{Case, Score, signature, yes_no};
use super::{BleuTokenizer, per_segment, text};

/// The longest n-grams that BLEU counts.
pub const MAX_NGRAM_ORDER: usize = 4;

/// What stands in for the precision of an order of which no n-gram matched (Chen and Cherry, 2014).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smoothing {
    /// 1/2, 1/4, 1/8, … matches for the first, second, third such order: NIST's method 3.
    #[default]
    Exp,
    /// So many matches: method 1.
    Floor(f64),
    /// So many added to matches and total of every order above 1, met or not: method 2.
    AddK(f64),
    /// Nothing: BLEU is 0 then.
    None,
}

/// The name of a [`Smoothing`], for a command line where its value is an option of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SmoothingMethod {
    /// The k-th n-gram order without a match counts as 1 / 2ᵏ matches.
    #[default]
    Exp,
    /// An order without a match counts as a small number of them, 0.1 unless a value is given.
    Floor,
    /// A number is added to matches and totals above unigrams, 1 unless a value is given.
    AddK,
    /// As counted: without a match in one order BLEU is 0.
    None,
}

impl SmoothingMethod {
    /// The smoothing with this `value`, or with sacreBLEU's default; methods without a value ignore it.
    pub fn with_value(self, value: Option<f64>) -> Smoothing {
        match self {
            Self::Exp => Smoothing::Exp,
            Self::Floor => Smoothing::Floor(value.unwrap_or(0.1)),
            Self::AddK => Smoothing::AddK(value.unwrap_or(1.0)),
            Self::None => Smoothing::None,
        }
    }
}

impl Smoothing {
    fn signature(self) -> String {
        match self {
            Self::Exp => "exp".into(),
            Self::Floor(value) => format!("floor[{value:.2}]"),
            Self::AddK(value) => format!("add-k[{value:.2}]"),
            Self::None => "none".into(),
        }
    }
}

/// BLEU as sacreBLEU computes it; the default is the BLEU of WMT's tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bleu {
    /// What is a word.
    pub tokenizer: BleuTokenizer,
    /// What to do about orders without a match.
    pub smoothing: Smoothing,
    /// Whether case matters.
    pub case: Case,
    /// Leave out the orders that are longer than the output; [`Bleu::sentence`] always does.
    pub effective_order: bool,
}

impl Default for Bleu {
    fn default() -> Self {
        Self {
            tokenizer: BleuTokenizer::Mteval13a,
            smoothing: Smoothing::Exp,
            case: Case::Mixed,
            effective_order: false,
        }
    }
}

/// All that BLEU needs to know about a corpus; the sum over segments is that of the corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BleuStatistics {
    /// Words of the output.
    pub hypothesis_len: u64,
    /// Words of the references: of each segment's, the one that is nearest in length to the output.
    pub reference_len: u64,
    /// Matching n-grams of each order.
    pub correct: [u64; MAX_NGRAM_ORDER],
    /// N-grams of the output of each order.
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
    /// The factor, at most 1, that keeps short output from scoring by precision alone.
    pub fn brevity_penalty(&self) -> f64 {
        if self.hypothesis_len >= self.reference_len {
            1.0
        } else if self.hypothesis_len == 0 {
            0.0
        } else {
            (1.0 - self.reference_len as f64 / self.hypothesis_len as f64).exp()
        }
    }

    /// The smoothed precision of each order in percent, up to the last order of which the output has n-grams; none
    /// if nothing matches at all.
    pub fn precisions(&self, smoothing: Smoothing) -> Vec<f64> {
        let mut precisions = Vec::with_capacity(MAX_NGRAM_ORDER);
        if self.correct == [0; MAX_NGRAM_ORDER] {
            return precisions;
        }
        let mut halvings = 1.0;
        for order in 0..MAX_NGRAM_ORDER {
            let added = match smoothing {
                Smoothing::AddK(k) if order > 0 => k,
                _ => 0.0,
            };
            let correct = self.correct[order] as f64 + added;
            let total = self.total[order] as f64 + added;
            if total == 0.0 {
                break;
            }
            let matches = match smoothing {
                Smoothing::Exp if correct == 0.0 => {
                    halvings *= 2.0;
                    1.0 / halvings
                }
                Smoothing::Floor(value) if correct == 0.0 => value,
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
    /// `references` holds one stream per reference translation, each with a line for every hypothesis. A corpus of no
    /// lines scores 0.
    ///
    /// # Panics
    /// Without references, or where a stream has not as many lines as `hypotheses`.
    pub fn corpus<H, R>(&self, hypotheses: &[H], references: &[Vec<R>]) -> Score
    where
        H: AsRef<str> + Sync,
        R: AsRef<str> + Sync,
    {
        self.score(&self.statistics(hypotheses, references), references.len())
    }

    /// BLEU of one line, with the effective order as sacreBLEU has it for sentences.
    ///
    /// # Panics
    /// Without references.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
        assert!(
            !references.is_empty(),
            "a metric needs at least one reference"
        );
        let metric = Self {
            effective_order: true,
            ..*self
        };
        metric.score(&metric.segment(hypothesis, references), references.len())
    }

    /// What a corpus scores by; arguments and panics as for [`Bleu::corpus`].
    pub fn statistics<H, R>(&self, hypotheses: &[H], references: &[Vec<R>]) -> BleuStatistics
    where
        H: AsRef<str> + Sync,
        R: AsRef<str> + Sync,
    {
        let mut sum = BleuStatistics::default();
        for segment in per_segment(hypotheses, references, |hypothesis, references| {
            self.segment(hypothesis, references)
        }) {
            sum += segment;
        }
        sum
    }

    /// The score that `statistics`, gathered against `n_references` references, give.
    pub fn score(&self, statistics: &BleuStatistics, n_references: usize) -> Score {
        let mut precisions = statistics.precisions(self.smoothing);
        let n_orders = if self.effective_order {
            precisions.len()
        } else {
            MAX_NGRAM_ORDER
        };
        precisions.resize(MAX_NGRAM_ORDER, 0.0);
        let value = if n_orders == 0 {
            0.0
        } else {
            // The logarithm of a precision of 0 is −∞, and makes BLEU 0.
            let mean = precisions[..n_orders].iter().map(|p| p.ln()).sum::<f64>() / n_orders as f64;
            statistics.brevity_penalty() * mean.exp()
        };
        Score {
            name: "BLEU".into(),
            value,
            signature: self.signature(n_references),
            detail: detail(statistics, &precisions),
        }
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> BleuStatistics {
        let lines: Vec<String> = std::iter::once(hypothesis)
            .chain(references.iter().copied())
            .map(|line| {
                self.tokenizer
                    .tokenize(text::strip_end(&self.case.apply(line)))
            })
            .collect();
        let words: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| text::words(line).collect())
            .collect();
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

fn detail(statistics: &BleuStatistics, precisions: &[f64]) -> String {
    let BleuStatistics {
        hypothesis_len,
        reference_len,
        ..
    } = *statistics;
    let precisions: Vec<String> = precisions.iter().map(|p| format!("{p:.1}")).collect();
    let ratio = if reference_len == 0 {
        0.0
    } else {
        hypothesis_len as f64 / reference_len as f64
    };
    format!(
        "{} (BP = {:.3} ratio = {ratio:.3} hyp_len = {hypothesis_len} ref_len = {reference_len})",
        precisions.join("/"),
        statistics.brevity_penalty()
    )
}
