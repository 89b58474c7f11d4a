//! `attentive compare`: evaluates several models on one test set.

use std::path::PathBuf;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::TrainingCost;
use attentive_evaluate::EvaluateOptions;
use attentive_evaluate::compare::{Bucket, Comparison, Differences, System, TestSet, compare};
use attentive_metrics::{Bleu, BleuTokenizer, Difference, Interval, SIGNIFICANCE_LEVEL};
use attentive_plot::{Axis, Figure, LineChart, Series};
use clap::ValueEnum;
use indicatif::HumanCount;

use crate::examples;
use crate::input;
use crate::message;
use crate::names::names;
use crate::output::OutputWriter;
use crate::search::SearchArgs;
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive compare runs/rnn runs/lstm runs/transformer --src test.en --ref test.de
  attentive compare runs/a runs/b --src test.en --ref test.de --plot lengths.svg --bucket-width 10
  attentive compare runs/a runs/b --src test.en --ref test.de --json
  attentive compare runs/a runs/b --src test.en --ref test.de --examples 5

The first table shows the models, the second how they differ from the first one, the baseline: the interval that contains 95 \
% of the differences on resampled test sets; and p, roughly the probability of a difference at least this large if the models \
were equally good (paired bootstrap with 1,000 resamples, as in `attentive score`). `*` marks scores that differ from the \
baseline's with p < 0.05. The last tables show BLEU and exact match by the length of the source; the chart has no points of \
fewer than 10 sentences. Examples are marked as wdiff does: `{+words+}` that only a translation has, `[-words-]` of the \
reference that it lacks.";

/// Compare translation models on a test set: size, cost of training, speed and scores.
///
/// Updates, training time and tokens/s belong to the evaluated weights and are taken from the log of the run.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model directories, or folders of checkpoints; the first is the baseline.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Source sentences, one per line.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// References, one per line; repeat for additional references.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    /// Write charts of BLEU and exact match by source length to this SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Width of the source-length buckets, in words.
    #[arg(long, value_name = "N", default_value = "5")]
    bucket_width: usize,
    /// Tokenizer for BLEU.
    #[arg(long, value_name = "TOKENIZER", default_value = "13a")]
    tokenize: BleuTokenizer,
    /// Show the N lines on which the models differ most (by chrF2), with their translations.
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    examples: usize,
    #[command(flatten)]
    search: SearchArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    if args.examples > 0 && args.runs.len() < 2 {
        let hint = "name another model, or use `attentive evaluate --worst`";
        return Err(Error::usage("`--examples` compares the lines of several models", hint));
    }
    let (src, references) = input::read_aligned(&args.src, &args.references)?;
    let runs: Vec<(String, &PathBuf)> = names(&args.runs).into_iter().zip(&args.runs).collect();
    let test = TestSet {
        src: &src,
        references: &references,
        bucket_width: args.bucket_width,
        examples: args.examples,
    };
    let bleu = Bleu { tokenizer: args.tokenize, ..Bleu::default() };
    let inputs = args.references.iter().chain([&args.src]).chain(&args.runs);
    let picture = OutputWriter::beside_stdout("--plot", args.plot.as_deref(), inputs)?;
    let comparison = compare(&runs, test, |pipeline| {
        Ok(EvaluateOptions { translate: args.search.options(pipeline.config(), 1, None)?, bleu })
    })?;
    for System { name, cut_off, sentences, .. } in &comparison.systems {
        if let Some(warning) = message::cut_off(*cut_off, *sentences) {
            message::warning(format_args!("{name}: {warning}"));
        }
    }
    if let Some(mut file) = picture {
        if comparison.buckets.iter().all(|bucket| bucket.sentences < FEWEST_IN_CHART) {
            message::warning(format_args!(
                "the chart is empty: no range of lengths has {FEWEST_IN_CHART} sentences; widen `--bucket-width`"
            ));
        }
        file.line(by_length(&comparison).svg())?;
        if let Some(path) = file.finish()? {
            message::note(format_args!("wrote the chart to `{}`", path.display()));
        }
    }
    let mut out = OutputWriter::stdout();
    if args.json {
        out.json(&comparison)?;
    } else {
        tables(&comparison, args.examples > 0).iter().try_for_each(|line| out.line(line))?;
    }
    out.flush()
}

/// The comparison as human-readable tables; `asked` says whether examples are.
fn tables(comparison: &Comparison, asked: bool) -> Vec<String> {
    let mut rows = vec![
        [
            "system",
            "parameters",
            "updates",
            "training",
            "tokens/s",
            "BLEU",
            "chrF2",
            "exact",
            "perplexity",
            "sentences/s",
        ]
        .map(String::from)
        .to_vec(),
    ];
    rows.extend(comparison.systems.iter().map(row));
    let mut lines = aligned(&rows);
    lines.extend(differences(comparison));
    for (title, value) in
        [("BLEU by words in the source", true), ("exact match (%) by words in the source", false)]
    {
        lines.push(String::new());
        lines.push(title.to_owned());
        let mut rows = vec![vec!["system".to_owned()]];
        rows[0].extend(comparison.buckets.iter().map(|bucket| bucket.name()));
        for system in &comparison.systems {
            let cells = system.by_length.iter().map(|at| {
                if value { format!("{:.1}", at.bleu) } else { format!("{:.1}", 100.0 * at.exact_match) }
            });
            rows.push([system.name.clone()].into_iter().chain(cells).collect());
        }
        let counts = comparison.buckets.iter();
        let counts = counts.map(|bucket| bucket.sentences.to_string());
        rows.push(["sentences".to_owned()].into_iter().chain(counts).collect());
        lines.extend(aligned(&rows));
    }
    if asked && comparison.examples.is_empty() {
        lines.extend([String::new(), "all lines are translated alike".to_owned()]);
    }
    if !comparison.examples.is_empty() {
        let names: Vec<&str> = comparison.systems.iter().map(|system| &*system.name).collect();
        lines.extend([String::new(), "the lines on which they differ most".to_owned()]);
        lines.extend(examples::lines(&comparison.examples, &names));
    }
    lines.push(String::new());
    lines.extend(footnotes(comparison));
    lines
}

/// The differences between the first system and the others, if there are others.
fn differences(comparison: &Comparison) -> Vec<String> {
    let [first, others @ ..] = comparison.systems.as_slice() else {
        return Vec::new();
    };
    if others.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![vec!["system".to_owned()]];
    for score in ["BLEU", "chrF2", "exact (%)"] {
        rows[0].extend([score, "95 % interval", "p"].map(String::from));
    }
    for system in others {
        let mut row = vec![system.name.clone()];
        if let Some(Differences { bleu, chrf, exact_match }) = &system.difference {
            for (difference, scale) in [(bleu, 1.0), (chrf, 1.0), (exact_match, 100.0)] {
                let Interval { lower, upper, .. } = difference.interval;
                row.extend([
                    format!("{:+.2}", scale * difference.value),
                    format!("[{:+.2}, {:+.2}]", scale * lower, scale * upper),
                    format!("{:.4}{}", difference.p_value, mark(Some(difference))),
                ]);
            }
        }
        rows.push(row);
    }
    let title = format!("difference from {}", first.name);
    [String::new(), title].into_iter().chain(aligned(&rows)).collect()
}

/// The mark of a significant difference, or a blank of the same width.
fn mark(difference: Option<&Difference>) -> &'static str {
    match difference {
        Some(difference) if difference.is_significant() => "*",
        _ => " ",
    }
}

/// Notes below the tables: search options and metric signatures.
fn footnotes(comparison: &Comparison) -> Vec<String> {
    let Some(first) = comparison.systems.first() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let all_alike = comparison
        .systems
        .iter()
        .all(|system| (system.search, system.batch_size) == (first.search, first.batch_size));
    if all_alike {
        lines.push(format!("search: {}", search(first)));
    } else {
        let systems = comparison.systems.iter();
        lines.extend(systems.map(|system| format!("search of {}: {}", system.name, search(system))));
    }
    if !comparison.same_tokens {
        lines.push("perplexities are per token, and the tokenizers differ: do not compare them".to_owned());
    }
    if comparison.systems.len() > 1 {
        lines.push(format!("* differs from {} with p < {SIGNIFICANCE_LEVEL} (paired bootstrap)", first.name));
    }
    for score in [&first.bleu, &first.chrf] {
        lines.push(format!("{}|{}", score.name, score.signature));
    }
    lines
}

fn search(system: &System) -> String {
    let options = &system.search;
    let penalty = options.length_penalty_formula.to_possible_value();
    let penalty = penalty.as_ref().map_or("", |value| value.get_name());
    format!(
        "beam width {}, length penalty {} ({penalty}), {} at once",
        options.strategy.rows(),
        options.length_penalty,
        count(system.batch_size, "sentence")
    )
}

fn row(system: &System) -> Vec<String> {
    let none = || "–".to_owned();
    let marked =
        |text: String, of: fn(&Differences) -> &Difference| text + mark(system.difference.as_ref().map(of));
    let training = system.training.as_ref();
    vec![
        system.name.clone(),
        HumanCount(system.n_parameters as u64).to_string(),
        training.map_or_else(none, updates),
        training.map_or_else(none, |training| minutes(training.seconds)),
        training
            .map_or_else(none, |training| HumanCount(training.tokens_per_second.round() as u64).to_string()),
        marked(format!("{:.2}", system.bleu.value), |all| &all.bleu),
        marked(format!("{:.2}", system.chrf.value), |all| &all.chrf),
        marked(format!("{:.1} %", 100.0 * system.exact_match), |all| &all.exact_match),
        system.perplexity.map_or_else(none, |value| format!("{value:.2}")),
        format!("{:.1}", system.sentences_per_second),
    ]
}

/// The updates behind the weights, and the run's total if training continued after them.
fn updates(training: &TrainingCost) -> String {
    let (steps, all) = (HumanCount(training.steps), HumanCount(training.run_steps));
    if training.steps < training.run_steps { format!("{steps} of {all}") } else { steps.to_string() }
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

/// The fewest sentences of a point of the chart.
const FEWEST_IN_CHART: usize = 10;

/// Charts of BLEU and exact match by source length.
pub(super) fn by_length(comparison: &Comparison) -> Figure {
    let name = |bucket: &Bucket| format!("{} ({})", bucket.name(), bucket.sentences);
    let names: Vec<String> = comparison.buckets.iter().map(name).collect();
    let x = || Axis::names("source length in words (number of sentences)", names.clone());
    let chart = |title: &str, y: Axis, value: fn(&attentive_evaluate::compare::AtLength) -> f64| {
        let chart = LineChart::new(title, x(), y);
        let systems = comparison.systems.iter().enumerate();
        systems.fold(chart, |chart, (number, system)| {
            let points = system.by_length.iter().zip(&comparison.buckets).enumerate();
            // The scores of fewer are mostly chance; the line has a gap there.
            let shown = |at, bucket: &Bucket| {
                if bucket.sentences < FEWEST_IN_CHART { f64::NAN } else { value(at) }
            };
            let points = points.map(|(place, (at, bucket))| (place as f64, shown(at, bucket))).collect();
            chart.series(Series::new(&system.name, number, points).marked())
        })
    };
    let charts = [
        chart("BLEU by source length", Axis::linear("BLEU"), |at| at.bleu),
        chart("Exact match by source length", Axis::linear("%"), |at| 100.0 * at.exact_match),
    ];
    Figure::new("").row("", 360.0, charts)
}
