//! `attentive plot curves`: learning curves of runs.

use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{History, Metric};
use attentive_plot::{Axis, Figure, LineChart, Series, thin};

use super::OutputArgs;
use crate::message;
use crate::names::names;

const EXAMPLES: &str = "\
Examples:
  attentive plot curves runs/multi30k --output curves.svg
  attentive plot curves runs/rnn runs/lstm runs/transformer --metric nll,bleu --output curves.svg
  attentive plot curves runs/multi30k --metric learning_rate > rate.svg

Pale lines show training, strong lines with dots show validation, and a ring shows the best checkpoint. The run may still be in progress. If a run has more \
than 300 logged updates, neighboring ones are averaged.";

/// Maximum number of points per line, for legibility.
const MAX_POINTS: usize = 300;

/// Plot learning curves of one or more runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Run directories that `attentive train` wrote.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Metrics to plot, separated by commas [default: loss, and bleu if any run has it].
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<Metric>,
    #[command(flatten)]
    output: OutputArgs,
}

/// A run and its name in the chart.
struct Run {
    name: String,
    history: History,
    /// The update of its best checkpoint.
    best: Option<u64>,
}

impl Run {
    fn has(&self, metric: Metric) -> bool {
        let is_logged =
            !(self.history.updates(metric).is_empty() && self.history.validations(metric).is_empty());
        is_logged || !self.history.parts(metric).is_empty()
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.output.check()?;
    let runs: Vec<Run> = names(&args.runs)
        .into_iter()
        .zip(&args.runs)
        .map(|(name, path)| {
            let checkpoints = attentive_checkpoint::Run::new(path).checkpoints();
            let best = checkpoints.map(|found| found.best).unwrap_or_else(|error| {
                message::warning(format_args!("the best checkpoint is not shown: {error}"));
                None
            });
            Ok(Run { name, history: History::read(path)?, best })
        })
        .collect::<Result<_>>()?;
    let metrics = if args.metric.is_empty() && runs.iter().any(|run| run.has(Metric::Bleu)) {
        vec![Metric::Loss, Metric::Bleu]
    } else if args.metric.is_empty() {
        vec![Metric::Loss]
    } else {
        args.metric.clone()
    };
    check(&metrics, &runs, &args.metric)?;
    args.output.write(figure(&runs, &metrics), &args.runs)
}

/// Refuses metrics that no run has; warns if a metric that was `asked` for is missing from some run.
fn check(metrics: &[Metric], runs: &[Run], asked: &[Metric]) -> Result<()> {
    for &metric in metrics {
        let key = metric.key();
        if !runs.iter().any(|run| run.has(metric)) {
            let hint = match metric {
                Metric::Bleu | Metric::ExactMatch => {
                    "it is logged at each validation if `train.validate_sentences` is above 0"
                }
                Metric::Chrf => "it is logged if `train.best_by` or `train.keep_best_by` names it",
                Metric::Script => "it is logged if there is a `train.validation_script`",
                _ => "`attentive plot curves --help` lists what runs log",
            };
            let problem = match runs {
                [run] => format!("`{}` has no `{key}`", run.history.path().display()),
                _ => format!("none of the runs has `{key}`"),
            };
            return Err(Error::data(problem, hint));
        }
        let lacking = runs.iter().filter(|run| !run.has(metric));
        for run in lacking.filter(|_| asked.contains(&metric)) {
            let path = run.history.path().display();
            message::warning(format!("`{path}` has no `{key}`"));
        }
    }
    Ok(())
}

fn figure(runs: &[Run], metrics: &[Metric]) -> Figure {
    let steps = runs.iter().map(|run| run.history.last_step());
    let updates = Axis::whole("update").limits(0.0, steps.max().unwrap_or(1) as f64);
    let charts: Vec<LineChart> = metrics.iter().map(|metric| chart(runs, *metric, updates.clone())).collect();
    match charts.len() {
        1 => Figure::new("").row("", 420.0, charts),
        _ => charts.chunks(2).fold(Figure::new(""), |figure, pair| figure.row("", 340.0, pair.to_vec())),
    }
}

fn chart(runs: &[Run], metric: Metric, updates: Axis) -> LineChart {
    let mut chart = LineChart::new(title(metric), updates, axis(metric));
    let parts =
        runs.iter().flat_map(|run| run.history.parts(metric).into_iter().map(move |part| (run, part)));
    for (number, (run, (part, points))) in parts.enumerate() {
        let label = if runs.len() == 1 { part } else { format!("{}, {part}", run.name) };
        chart = chart.series(Series::new(label, number, thin(&points, MAX_POINTS)));
    }
    // Validation curves are drawn last, on top of the training curves.
    for (number, Run { name, history, .. }) in runs.iter().enumerate() {
        let points = thin(&history.updates(metric), MAX_POINTS);
        if !points.is_empty() {
            chart = chart.series(Series::new(format!("{name}, training"), number, points).faint());
        }
    }
    for (number, Run { name, history, best }) in runs.iter().enumerate() {
        let points = history.validations(metric);
        if points.is_empty() {
            continue;
        }
        let at_best = points.iter().copied().find(|(step, _)| best.is_some_and(|best| best as f64 == *step));
        chart = chart.series(Series::new(format!("{name}, validation"), number, points).marked());
        if let Some(point) = at_best {
            chart = chart.series(Series::new("", number, vec![point]).ringed());
        }
    }
    chart
}

fn axis(metric: Metric) -> Axis {
    match metric {
        Metric::Loss | Metric::Nll => Axis::linear("nats per token"),
        Metric::Perplexity => Axis::logarithmic("perplexity"),
        Metric::Accuracy => Axis::linear("share of tokens"),
        Metric::Bleu => Axis::linear("BLEU"),
        Metric::Chrf => Axis::linear("chrF"),
        Metric::Script => Axis::linear("score"),
        Metric::ExactMatch => Axis::linear("share of sentences"),
        Metric::LearningRate => Axis::linear("learning rate"),
        Metric::GradientNorm | Metric::GradientNorms => Axis::logarithmic("norm"),
        Metric::ReferenceProbability => Axis::linear("probability"),
        Metric::TokensPerSecond => Axis::linear("tokens/s"),
    }
}

fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Loss => "Loss",
        Metric::Nll => "Negative log-likelihood",
        Metric::Perplexity => "Perplexity",
        Metric::Accuracy => "Token accuracy",
        Metric::Bleu => "BLEU of the validation sentences",
        Metric::Chrf => "chrF of the validation sentences",
        Metric::Script => "Score of the validation script",
        Metric::ExactMatch => "Sentences translated exactly",
        Metric::LearningRate => "Learning rate",
        Metric::GradientNorm => "Gradient norm before clipping",
        Metric::GradientNorms => "Gradient norms by layer, before clipping",
        Metric::ReferenceProbability => "Probability of reading the reference",
        Metric::TokensPerSecond => "Target tokens per second",
    }
}
