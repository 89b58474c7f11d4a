//! `attentive score`: scores files with BLEU, chrF and TER.

mod metric;
mod paired;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use attentive_metrics::{
    Bleu, BleuTokenizer, Bootstrap, Case, Chrf, Measure, Randomization, Score, Segments, Smoothing,
    SmoothingMethod, Ter,
};
use clap::ValueEnum;
use serde::Serialize;

use crate::examples::printable;
use crate::input;
use crate::message;
use crate::names::names;
use crate::output::OutputWriter;
use metric::MetricName;
use paired::{PairedTest, SystemComparison};

const EXAMPLES: &str = "\
Examples:
  attentive score out.de ref.de
  attentive score out.de ref1.de ref2.de --metric bleu --tokenize intl
  attentive score out.de ref.de --sentence-level --metric chrf
  attentive score out.de ref.de --json
  attentive score out.de ref.de --confidence
  attentive score baseline.de ref.de --system new.de other.de
  attentive score baseline.de ref.de --system new.de --paired randomization --metric bleu

The scores match those of sacreBLEU and are printed with its signatures. Higher is better for BLEU and chrF, lower for TER.

`μ ± x` is the average score of resampled test sets and half the width of the interval that contains 95 % of their scores \
(bootstrap resampling); `[a, b]` is this interval for a difference. A p-value is roughly the probability of a difference at \
least this large if the systems were equally good; `*` marks p-values below 0.05. Intervals and p-values match sacreBLEU's \
for the same seed. Its bootstrap counts differences in one direction only, so randomization gives about twice the p-value; \
for systems that differ in very few lines, randomization gives p-values that are too small.";

/// Score translations with BLEU, chrF and TER, as sacreBLEU does.
///
/// With `--system`, other translations are scored too, and their differences are tested for significance.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Translations, one per line; `-` for standard input.
    #[arg(value_name = "HYP")]
    hypotheses: PathBuf,
    /// References, one per line; each further file is another set of references.
    #[arg(value_name = "REF", required = true)]
    references: Vec<PathBuf>,
    /// Metrics, separated by commas.
    #[arg(long, value_name = "METRIC", value_delimiter = ',', default_value = "bleu,chrf,ter")]
    metric: Vec<MetricName>,
    /// Translations of the same lines by other systems; each file is compared with HYP, the baseline.
    #[arg(
        long = "system",
        value_name = "FILE",
        num_args = 1..,
        conflicts_with = "sentence_level"
    )]
    systems: Vec<PathBuf>,
    /// Significance test for `--system` [default: bootstrap].
    #[arg(long, value_name = "TEST")]
    paired: Option<TestName>,
    /// Print a 95 % interval with each score, from bootstrap resampling.
    #[arg(long, conflicts_with = "sentence_level")]
    confidence: bool,
    /// Score each line separately: one output line each, with tabs between its number, the values in the
    /// order of `--metric`, the translation and the references.
    #[arg(long)]
    sentence_level: bool,
    /// Print JSON: a list of scores; with `--sentence-level`, one object per line; with `--system`, one
    /// object per metric.
    #[arg(long)]
    json: bool,
    /// Tokenizer for BLEU [default: 13a].
    #[arg(long, value_name = "TOKENIZER")]
    tokenize: Option<BleuTokenizer>,
    /// Smoothing for n-gram orders without a match in BLEU [default: exp].
    #[arg(long, value_name = "METHOD")]
    smooth: Option<SmoothingMethod>,
    /// The value of `--smooth floor` [default: 0.1] or `--smooth add-k` [default: 1].
    #[arg(long, value_name = "X")]
    smooth_value: Option<f64>,
    /// Ignore case in BLEU and chrF; TER always does.
    #[arg(long)]
    lowercase: bool,
    /// Number of bootstrap resamples [default: 1,000].
    #[arg(long, value_name = "N")]
    resamples: Option<NonZeroUsize>,
    /// Number of trials of `--paired randomization` [default: 10,000].
    #[arg(long, value_name = "N")]
    trials: Option<NonZeroUsize>,
    /// Seed of the resampling [default: 12345, as in sacreBLEU].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// The name of a paired test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TestName {
    /// Bootstrap resampling (Koehn 2004).
    Bootstrap,
    /// Approximate randomization (Riezler and Maxwell 2005).
    Randomization,
}

impl Args {
    fn measure(&self, metric: MetricName) -> Measure {
        let case = if self.lowercase { Case::Lower } else { Case::Mixed };
        let smoothing = Smoothing { method: self.smooth.unwrap_or_default(), value: self.smooth_value };
        match metric {
            MetricName::Bleu => Measure::Bleu(Bleu {
                tokenizer: self.tokenize.unwrap_or_default(),
                smoothing,
                case,
                ..Bleu::default()
            }),
            MetricName::Chrf => Measure::Chrf(Chrf { case, ..Chrf::default() }),
            MetricName::ChrfPlusPlus => Measure::Chrf(Chrf { case, word_order: 2, ..Chrf::default() }),
            MetricName::Ter => Measure::Ter(Ter::default()),
        }
    }

    fn check(&self) -> Result<()> {
        self.check_files()?;
        self.check_metrics()?;
        self.check_smoothing()?;
        self.check_resampling()
    }

    /// Refuses names of metrics among the files, which follow `--metric` if blanks separate them.
    fn check_files(&self) -> Result<()> {
        let files = [&self.hypotheses].into_iter().chain(&self.references);
        let strays = files.filter(|path| !path.exists());
        let strays = strays.filter_map(|path| MetricName::from_str(path.to_str()?, false).ok());
        let strays: Vec<MetricName> = strays.collect();
        let Some(first) = strays.first() else {
            return Ok(());
        };
        let all: Vec<String> = self.metric.iter().chain(&strays).map(MetricName::name).collect();
        Err(Error::usage(
            format!("`{}` is a metric, and there is no such file", first.name()),
            format!("separate metrics with commas: `--metric {}`", all.join(",")),
        ))
    }

    /// Refuses options of metrics that are not computed.
    fn check_metrics(&self) -> Result<()> {
        let has = |metrics: &[MetricName]| self.metric.iter().any(|one| metrics.contains(one));
        let (bleu, cased) =
            ([MetricName::Bleu], [MetricName::Bleu, MetricName::Chrf, MetricName::ChrfPlusPlus]);
        for (option, is_given, metrics, names) in [
            ("--tokenize", self.tokenize.is_some(), &bleu[..], "BLEU"),
            ("--smooth", self.smooth.is_some(), &bleu, "BLEU"),
            ("--smooth-value", self.smooth_value.is_some(), &bleu, "BLEU"),
            ("--lowercase", self.lowercase, &cased, "BLEU and chrF"),
        ] {
            if is_given && !has(metrics) {
                return Err(Error::usage(
                    format!("`{option}` is an option of {names}, which `--metric` does not name"),
                    "omit the option, or name the metric",
                ));
            }
        }
        Ok(())
    }

    fn check_smoothing(&self) -> Result<()> {
        let Some(value) = self.smooth_value else {
            return Ok(());
        };
        if self.smooth.unwrap_or_default().default_value().is_none() {
            let hint = "omit `--smooth-value`, or use `--smooth floor` or `--smooth add-k`";
            return Err(Error::usage("`--smooth-value` requires a smoothing method that has a value", hint));
        }
        if !(value.is_finite() && value >= 0.0) {
            return Err(Error::usage(
                format!("invalid `--smooth-value {value}`"),
                "use a finite number of at least 0",
            ));
        }
        Ok(())
    }

    fn check_resampling(&self) -> Result<()> {
        if self.paired.is_some() && self.systems.is_empty() {
            return Err(Error::usage(
                "a paired test requires two systems, but only one was given",
                "name the other systems' translations with `--system`",
            ));
        }
        if self.trials.is_some() && self.paired != Some(TestName::Randomization) {
            return Err(Error::usage(
                "`--trials` is an option of `--paired randomization`",
                "add that, or use `--resamples` for the bootstrap",
            ));
        }
        let resampling = [("--resamples", self.resamples.is_some()), ("--seed", self.seed.is_some())];
        let given = resampling.iter().find(|(_, is_given)| *is_given);
        match given {
            Some((option, _)) if !self.confidence && self.systems.is_empty() => Err(Error::usage(
                format!("`{option}` has no effect on plain scores"),
                "add `--confidence` or `--system`",
            )),
            _ => Ok(()),
        }
    }

    fn bootstrap(&self) -> Bootstrap {
        let default = Bootstrap::default();
        Bootstrap {
            resamples: self.resamples.unwrap_or(default.resamples),
            seed: self.seed.unwrap_or(default.seed),
        }
    }

    fn paired_test(&self) -> PairedTest {
        let bootstrap = self.bootstrap();
        match self.paired {
            None | Some(TestName::Bootstrap) => PairedTest::Bootstrap(bootstrap),
            Some(TestName::Randomization) => {
                let default = Randomization::default();
                let randomization =
                    Randomization { trials: self.trials.unwrap_or(default.trials), seed: bootstrap.seed };
                PairedTest::Randomization(bootstrap, randomization)
            }
        }
    }
}

/// The scores of a line, for `--sentence-level --json`.
#[derive(Serialize)]
struct Sentence<'a> {
    line: usize,
    scores: &'a [Score],
    hypothesis: &'a str,
    references: &'a [&'a str],
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.check()?;
    let paths = args.references.iter().chain(&args.systems);
    let paths: Vec<PathBuf> = paths.cloned().collect();
    let (hypotheses, mut references) = input::read_aligned(&args.hypotheses, &paths)?;
    let systems = references.split_off(args.references.len());
    let measures: Vec<Measure> = args.metric.iter().map(|&metric| args.measure(metric)).collect();
    let mut out = OutputWriter::stdout();
    if args.sentence_level {
        sentences(args.json, &measures, &hypotheses, &references, &mut out)?;
    } else if systems.is_empty() {
        let bootstrap = args.confidence.then(|| args.bootstrap());
        let measures = measures.iter();
        let scores: Vec<Score> =
            measures.map(|&measure| corpus(measure, &hypotheses, &references, bootstrap)).collect();
        if args.json {
            out.json(&scores)?;
        } else {
            scores.iter().try_for_each(|score| out.line(score))?;
        }
    } else {
        let paths = [&args.hypotheses].into_iter().chain(&args.systems);
        let paths: Vec<PathBuf> = paths.cloned().collect();
        let systems = [hypotheses].into_iter().chain(systems);
        let systems: Vec<_> = names(&paths).into_iter().zip(systems).collect();
        let comparison = SystemComparison::new(&measures, &systems, &references, args.paired_test());
        if args.json {
            out.json(&comparison)?;
        } else {
            let lines = comparison.lines();
            lines.iter().try_for_each(|line| out.line(line))?;
        }
    }
    out.flush()
}

fn corpus(
    measure: Measure,
    hypotheses: &[String],
    references: &[Vec<String>],
    bootstrap: Option<Bootstrap>,
) -> Score {
    let segments = Segments::new(measure, hypotheses, references);
    let score = segments.score();
    match bootstrap {
        Some(bootstrap) => score.with_interval(bootstrap.estimate(&segments).interval, &bootstrap),
        None => score,
    }
}

fn sentences(
    json: bool,
    measures: &[Measure],
    hypotheses: &[String],
    references: &[Vec<String>],
    out: &mut OutputWriter,
) -> Result<()> {
    for (line, hypothesis) in hypotheses.iter().enumerate() {
        let references: Vec<&str> = references.iter().map(|stream| stream[line].as_str()).collect();
        let scores: Vec<Score> =
            measures.iter().map(|measure| measure.sentence(hypothesis, &references)).collect();
        if json {
            out.json_line(&Sentence {
                line: line + 1,
                scores: &scores,
                hypothesis,
                references: &references,
            })?;
            continue;
        }
        if line == 0 {
            scores.iter().for_each(|score| message::note(format!("{}|{}", score.name, score.signature)));
        }
        let values = scores.iter().map(|score| format!("{:.2}", score.value));
        let number = std::iter::once((line + 1).to_string());
        let texts = [hypothesis.as_str()].into_iter().chain(references).map(printable);
        out.line(number.chain(values).chain(texts).collect::<Vec<_>>().join("\t"))?;
    }
    Ok(())
}
