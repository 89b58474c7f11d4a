//! Evaluation of a translation model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_config::{LengthPenaltyFormula, Task};
use attentive_decode::{SearchOptions, Strategy};
use attentive_evaluate::examples::{SystemOutputs, TranslationExample};
use attentive_evaluate::{self as evaluate, Evaluation, Orders};
use attentive_metrics::Bleu;
use attentive_pipeline::Pipeline;
use attentive_processes::Processes;
use serde::Serialize;

use super::{Args, percentage};
use crate::examples;
use crate::fingerprint::fingerprint;
use crate::input;
use crate::message;
use crate::output::OutputWriter;
use crate::working::Working;

/// The brevity penalty below which translations are reported as too short.
const LEAST_BREVITY_PENALTY: f64 = 0.97;

/// The length, divided by that of the references, above which translations are reported as too long, and the
/// fewest sentences of which it says anything.
const LARGEST_LENGTH_RATIO: f64 = 1.3;
const FEWEST_SENTENCES: usize = 10;

pub(super) fn run(args: &Args, dir: &PathBuf, pipeline: &Pipeline, processes: &Processes) -> Result<()> {
    let doing = "the test set was read";
    let (src, references) = processes.agree(doing, test_set(args, pipeline))?;
    let options = || {
        Ok(evaluate::EvaluateOptions {
            translate: args.search.options(pipeline.config(), 1, None)?,
            bleu: Bleu { tokenizer: args.tokenize.unwrap_or_default(), ..Bleu::default() },
        })
    };
    let options = processes.agree(doing, options())?;
    let inputs = args.references.iter().chain(&args.src);
    let inputs = inputs.chain([args.model.given(), dir]);
    let open = || OutputWriter::beside_stdout("--output", args.output.as_deref(), inputs);
    let translations = processes.is_first().then(open).transpose();
    let translations = processes.agree(doing, translations)?.flatten();

    processes.require_same("the model", &fingerprint(dir))?;
    processes.require_same("the test set", &src.join("\n"))?;
    processes.limit_waits();
    let share = processes.share(src.len()).len();
    let working = processes.is_first().then(|| Working::shown(pipeline, Some(share)));
    let evaluation = evaluate::evaluate(pipeline, &src, &references, &options, processes)?;
    drop(working);
    if !processes.is_first() {
        return Ok(());
    }
    warn_of_other_order(pipeline, &src, &references[0], &evaluation)?;
    if let Some(mut file) = translations {
        evaluation.translations.iter().try_for_each(|translation| file.line(translation))?;
        file.finish()?;
    }
    message::warnings(pipeline.warning_of_languages(&src)?.as_slice());
    if let Some(warning) = message::cut_off(evaluation.cut_off, evaluation.sentences) {
        message::warning(warning);
    }
    if evaluation.brevity_penalty < LEAST_BREVITY_PENALTY {
        message::warning(too_short(&evaluation, &options.translate.search));
    }
    if evaluation.length_ratio > LARGEST_LENGTH_RATIO && evaluation.sentences >= FEWEST_SENTENCES {
        message::warning(too_long(&evaluation));
    }
    let systems = [evaluation.translations.as_slice()];
    let outputs = SystemOutputs { src: &src, references: &references, systems: &systems };
    let worst = outputs.worst(args.worst.map_or(0, NonZeroUsize::get));
    let mut lines = lines(&evaluation);
    lines.extend(examples::lines(&worst, &["translation"]));
    args.print(&Report { evaluation: &evaluation, worst: &worst }, &lines)
}

/// The evaluation with the lines that were asked for.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    evaluation: &'a Evaluation,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    worst: &'a [TranslationExample],
}

/// The warning about translations that are too long for their references.
fn too_long(evaluation: &Evaluation) -> String {
    format!(
        "the translations are {:.1} times as long as the references: the model may be repeating itself, or the source \
         and reference files do not match (other languages, or lines out of step)",
        evaluation.length_ratio
    )
}

/// Warns that source and target seem to be swapped, if the translations are bad and the model expects the
/// other order.
fn warn_of_other_order(
    pipeline: &Pipeline,
    src: &[String],
    references: &[String],
    evaluation: &Evaluation,
) -> Result<()> {
    /// A BLEU that is lower than any model of these languages should have.
    const BAD: f64 = 5.0;
    /// The factor by which the other order must be better.
    const FACTOR: f64 = 4.0;
    if evaluation.bleu.value >= BAD {
        return Ok(());
    }
    if let Some(Orders { given, other }) = evaluate::orders(pipeline, src, references)?
        && given > FACTOR * other
    {
        message::warning(format_args!(
            "source and target seem to be swapped: the model finds the sources far more likely as \
             translations of the references (perplexity {other:.1}) than the references as translations of \
             the sources ({given:.1}); try `--src` and `--ref` the other way round"
        ));
    }
    Ok(())
}

/// The warning about translations that are too short for their references.
fn too_short(evaluation: &Evaluation, search: &SearchOptions) -> String {
    let penalty = evaluation.brevity_penalty;
    let by_length = search.length_penalty_formula == LengthPenaltyFormula::Length;
    let advice = match (search.strategy, by_length) {
        (Strategy::Greedy { .. }, _) => {
            "a beam compares translations of different lengths: try `--beam-width 5 --length-penalty-formula \
             length --length-penalty 1`"
        }
        (_, false) => {
            "the length penalty prefers short ones: try `--length-penalty-formula length --length-penalty 1`"
        }
        (_, true) if search.length_penalty < 1.0 => {
            "the length penalty is weak: try `--length-penalty 1`; a model that was trained for too short a \
             time also writes short translations"
        }
        (_, true) => {
            "try a larger `--length-penalty`, such as 1.2, or `--min-length`; a model that was trained for \
             too short a time writes short translations, and so does one whose training data leave things out"
        }
    };
    format!(
        "the translations are short: the brevity penalty of {penalty:.3} lowers BLEU by {:.1} %; {advice}",
        100.0 * (1.0 - penalty)
    )
}

/// The source sentences and the streams of their references.
fn test_set(args: &Args, pipeline: &Pipeline) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    pipeline.require(Task::Translate)?;
    let Some(path) = &args.src else {
        let corpus = args.corpus(pipeline.config())?;
        let pairs = corpus.translations();
        let (src, tgt) = pairs.map(|(src, tgt)| (src.into(), tgt.into())).unzip();
        return Ok((src, vec![tgt]));
    };
    input::read_aligned(path, &args.references)
}

/// The evaluation as human-readable lines.
fn lines(evaluation: &Evaluation) -> Vec<String> {
    let Evaluation {
        bleu,
        brevity_penalty: _,
        length_ratio: _,
        chrf,
        chrf_plus_plus,
        ter,
        exact_match,
        perplexity,
        token_accuracy,
        sentences,
        cut_off: _,
        seconds,
        translations: _,
    } = evaluation;
    let scores = [bleu, chrf, chrf_plus_plus, ter];
    let mut lines: Vec<String> = scores.map(ToString::to_string).into();
    lines.push(format!("exact match = {}", percentage(exact_match)));
    lines.extend(perplexity.map(|value| format!("perplexity = {value:.3}")));
    lines.extend(token_accuracy.map(|value| format!("token accuracy = {:.2} %", 100.0 * value)));
    lines.push(format!(
        "{} in {seconds:.1} s, {:.0} per second",
        count(*sentences, "sentence"),
        *sentences as f64 / seconds
    ));
    lines
}
