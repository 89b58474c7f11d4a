//! `attentive score`: scores files with BLEU, chrF and TER.

use std::path::PathBuf;

use attentive::error::{Error, Result};
use attentive::metrics::{Bleu, BleuTokenizer, Case, Chrf, Score, SmoothingMethod, Ter};
use clap::ValueEnum;
use serde::Serialize;

use super::input;
use super::message;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive score out.de ref.de
  attentive score out.de ref1.de ref2.de --metric bleu --tokenize intl
  attentive score out.de ref.de --sentence-level --metric chrf
  attentive score out.de ref.de --json

The scores match those of sacreBLEU and are printed with its signatures. Higher is better for BLEU and chrF, lower for TER.";

/// Score translations against references with BLEU, chrF and TER, as computed by sacreBLEU.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The translations, one per line; `-` for standard input.
    #[arg(value_name = "HYP")]
    hypotheses: PathBuf,
    /// The references, one per line; each further file is another set of references.
    #[arg(value_name = "REF", required = true)]
    references: Vec<PathBuf>,
    /// Metrics, separated by commas.
    #[arg(
        long,
        value_name = "METRIC",
        value_delimiter = ',',
        default_value = "bleu,chrf,ter"
    )]
    metric: Vec<Metric>,
    /// Tokenizer for BLEU.
    #[arg(long, value_name = "TOKENIZER", default_value = "13a")]
    tokenize: BleuTokenizer,
    /// Smoothing for n-gram orders without a match in BLEU.
    #[arg(long, value_name = "METHOD", default_value = "exp")]
    smooth: SmoothingMethod,
    /// The value of `--smooth floor` [default: 0.1] or `--smooth add-k` [default: 1].
    #[arg(long, value_name = "X")]
    smooth_value: Option<f64>,
    /// Ignore case in BLEU and chrF; TER always does.
    #[arg(long)]
    lowercase: bool,
    /// Score each line separately: one line of tab-separated values each, in the order of `--metric`.
    #[arg(long)]
    sentence_level: bool,
    /// Print JSON: a list of scores, or with `--sentence-level` one object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Metric {
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

/// A metric with all its options.
enum Measure {
    Bleu(Bleu),
    Chrf(Chrf),
    Ter(Ter),
}

impl Measure {
    fn corpus(&self, hypotheses: &[String], references: &[Vec<String>]) -> Score {
        match self {
            Self::Bleu(bleu) => bleu.corpus(hypotheses, references),
            Self::Chrf(chrf) => chrf.corpus(hypotheses, references),
            Self::Ter(ter) => ter.corpus(hypotheses, references),
        }
    }

    fn sentence(&self, hypothesis: &str, references: &[&str]) -> Score {
        match self {
            Self::Bleu(bleu) => bleu.sentence(hypothesis, references),
            Self::Chrf(chrf) => chrf.sentence(hypothesis, references),
            Self::Ter(ter) => ter.sentence(hypothesis, references),
        }
    }
}

impl Args {
    fn measure(&self, metric: Metric) -> Measure {
        let case = if self.lowercase {
            Case::Lower
        } else {
            Case::Mixed
        };
        let smoothing = self.smooth.with_value(self.smooth_value);
        match metric {
            Metric::Bleu => Measure::Bleu(Bleu {
                tokenizer: self.tokenize,
                smoothing,
                case,
                ..Bleu::default()
            }),
            Metric::Chrf => Measure::Chrf(Chrf {
                case,
                ..Chrf::default()
            }),
            Metric::ChrfPlusPlus => Measure::Chrf(Chrf {
                case,
                word_order: 2,
                ..Chrf::default()
            }),
            Metric::Ter => Measure::Ter(Ter::default()),
        }
    }

    fn check(&self) -> Result<()> {
        let Some(value) = self.smooth_value else {
            return Ok(());
        };
        if !matches!(self.smooth, SmoothingMethod::Floor | SmoothingMethod::AddK) {
            let hint = "omit `--smooth-value`, or use `--smooth floor` or `--smooth add-k`";
            return Err(Error::usage(
                "`--smooth-value` requires a smoothing method that has a value",
                hint,
            ));
        }
        if !(value.is_finite() && value >= 0.0) {
            return Err(Error::usage(
                format!("invalid `--smooth-value {value}`"),
                "use a finite number of at least 0",
            ));
        }
        Ok(())
    }
}

/// The scores of a line, for `--sentence-level --json`.
#[derive(Serialize)]
struct Sentence<'a> {
    line: usize,
    scores: &'a [Score],
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.check()?;
    let (hypotheses, references) = input::read_aligned(&args.hypotheses, &args.references)?;
    let measures: Vec<Measure> = args
        .metric
        .iter()
        .map(|&metric| args.measure(metric))
        .collect();
    let mut out = Output::stdout();
    if args.sentence_level {
        sentences(args.json, &measures, &hypotheses, &references, &mut out)?;
    } else {
        let scores: Vec<Score> = measures
            .iter()
            .map(|measure| measure.corpus(&hypotheses, &references))
            .collect();
        if args.json {
            out.json(&scores)?;
        } else {
            scores.iter().try_for_each(|score| out.line(score))?;
        }
    }
    out.flush()
}

fn sentences(
    json: bool,
    measures: &[Measure],
    hypotheses: &[String],
    references: &[Vec<String>],
    out: &mut Output,
) -> Result<()> {
    for (line, hypothesis) in hypotheses.iter().enumerate() {
        let references: Vec<&str> = references
            .iter()
            .map(|stream| stream[line].as_str())
            .collect();
        let scores: Vec<Score> = measures
            .iter()
            .map(|measure| measure.sentence(hypothesis, &references))
            .collect();
        if json {
            out.json_line(&Sentence {
                line: line + 1,
                scores: &scores,
            })?;
            continue;
        }
        if line == 0 {
            scores
                .iter()
                .for_each(|score| message::note(format!("{}|{}", score.name, score.signature)));
        }
        let values: Vec<String> = scores
            .iter()
            .map(|score| format!("{:.2}", score.value))
            .collect();
        out.line(values.join("\t"))?;
    }
    Ok(())
}
