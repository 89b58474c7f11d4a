//! Scores of translations.

use std::num::NonZeroUsize;

use attentive::count::count;
use attentive::error::{Error, Result};
use attentive::metrics::{
    Bleu, BleuTokenizer, Bootstrap, Case, Chrf, Estimate, Interval, Measure, Randomization, Score, Segments,
    Smoothing, SmoothingMethod, Ter,
};
use pyo3::prelude::*;

use crate::choice::{choice, unknown};
use crate::threads::ThreadCount;
use crate::work;

/// A metric, as a dictionary of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MetricOptions {
    metric: String,
    lowercase: bool,
    tokenize: String,
    smooth: String,
    smooth_value: Option<f64>,
    word_order: usize,
}

/// The mean of resampled scores, and the ends of their interval.
type Range = (f64, f64, f64);

/// A score: name, value, signature, detail and interval.
type Scored = (String, f64, String, String, Option<Range>);

/// A score on the corpus itself, and its interval.
type Estimated = (f64, Range);

impl MetricOptions {
    fn measure(&self) -> Result<Measure> {
        let case = if self.lowercase { Case::Lower } else { Case::Mixed };
        Ok(match self.metric.as_str() {
            "bleu" => {
                let method: SmoothingMethod = choice("smooth", &self.smooth)?;
                let tokenizer: BleuTokenizer = choice("tokenize", &self.tokenize)?;
                Measure::Bleu(Bleu {
                    tokenizer,
                    smoothing: Smoothing { method, value: self.smooth_value },
                    case,
                    ..Bleu::default()
                })
            }
            "chrf" => Measure::Chrf(Chrf { case, word_order: self.word_order, ..Chrf::default() }),
            "ter" => Measure::Ter(Ter::default()),
            other => return Err(unknown("metric", other, &["bleu", "chrf", "ter"])),
        })
    }
}

/// The score of `hypotheses`, with an interval from `resamples` if there are any.
#[pyfunction]
pub(crate) fn score(
    py: Python<'_>,
    options: MetricOptions,
    hypotheses: Vec<String>,
    references: Vec<Vec<String>>,
    resamples: usize,
    seed: u64,
) -> PyResult<Scored> {
    on_all_threads(py, || {
        check(hypotheses.len(), &references)?;
        let segments = Segments::new(options.measure()?, &hypotheses, &references);
        let score = segments.score();
        let resamples = NonZeroUsize::new(resamples);
        Ok(scored(match resamples {
            Some(resamples) => {
                let bootstrap = Bootstrap { resamples, seed };
                score.with_interval(bootstrap.estimate(&segments).interval, &bootstrap)
            }
            None => score,
        }))
    })
}

/// The score of each of `hypotheses`.
#[pyfunction]
pub(crate) fn sentence_scores(
    py: Python<'_>,
    options: MetricOptions,
    hypotheses: Vec<String>,
    references: Vec<Vec<String>>,
) -> PyResult<Vec<Scored>> {
    on_all_threads(py, || {
        check(hypotheses.len(), &references)?;
        let measure = options.measure()?;
        let one = |(line, hypothesis): (usize, &String)| {
            let references: Vec<&str> = references.iter().map(|stream| &*stream[line]).collect();
            scored(measure.sentence(hypothesis, &references))
        };
        Ok(hypotheses.iter().enumerate().map(one).collect())
    })
}

/// The scores of a baseline and of a system, and their difference with its interval and p-value. The test is
/// randomization with this number of `trials`, or the bootstrap if there are none.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn paired(
    py: Python<'_>,
    options: MetricOptions,
    baseline: Vec<String>,
    system: Vec<String>,
    references: Vec<Vec<String>>,
    resamples: usize,
    trials: usize,
    seed: u64,
) -> PyResult<(Estimated, Estimated, Estimated, f64)> {
    on_all_threads(py, || {
        check(baseline.len(), &references)?;
        check(system.len(), &references)?;
        let measure = options.measure()?;
        let baseline = Segments::new(measure, &baseline, &references);
        let system = Segments::new(measure, &system, &references);
        let Some(resamples) = NonZeroUsize::new(resamples) else {
            return Err(Error::usage("the number of resamples is 0", "1000 is usual"));
        };
        let paired = Bootstrap { resamples, seed }.paired(&baseline, &system);
        let p_value = match NonZeroUsize::new(trials) {
            Some(trials) => Randomization { trials, seed }.p_value(&baseline, &system),
            None => paired.difference.p_value,
        };
        let difference = (paired.difference.value, range(paired.difference.interval));
        Ok((estimated(paired.baseline), estimated(paired.system), difference, p_value))
    })
}

fn on_all_threads<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let threads = ThreadCount::new(None).map_err(|error| crate::errors::exception(py, &error))?;
    work::run(py, threads, work)
}

/// Refuses references that do not belong to `lines` lines.
fn check(lines: usize, references: &[Vec<String>]) -> Result<()> {
    let refuse = |problem: String, hint: &str| Err(Error::data(problem, hint));
    if references.is_empty() {
        return refuse("there are no references".into(), "give at least one list of them");
    }
    match references.iter().find(|stream| stream.len() != lines) {
        Some(stream) => refuse(
            format!("{}, but {}", count(lines, "translation"), count(stream.len(), "reference")),
            "reference n belongs to translation n; blank ones count",
        ),
        None => Ok(()),
    }
}

fn scored(score: Score) -> Scored {
    let interval = score.interval.map(range);
    (score.name, score.value, score.signature, score.detail, interval)
}

fn estimated(estimate: Estimate) -> Estimated {
    (estimate.value, range(estimate.interval))
}

fn range(interval: Interval) -> Range {
    (interval.mean, interval.lower, interval.upper)
}
