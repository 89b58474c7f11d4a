//! Evaluation of a translation model.

use std::path::PathBuf;

use attentive::config::Task;
use attentive::count::count;
use attentive::error::Result;
use attentive::evaluate::{self, Evaluation, Orders};
use attentive::metrics::Bleu;
use attentive::pipeline::Pipeline;
use attentive::processes::Processes;

use super::{Args, percentage};
use crate::cli::fingerprint::fingerprint;
use crate::cli::input;
use crate::cli::message;
use crate::cli::output::Output;
use crate::cli::working::Working;

pub(super) fn run(
    args: &Args,
    dir: &PathBuf,
    pipeline: &Pipeline,
    processes: &Processes,
) -> Result<()> {
    let doing = "the test set was read";
    let (src, references) = processes.agree(doing, test_set(args, pipeline))?;
    let options = || {
        Ok(evaluate::EvaluateOptions {
            translate: args.search.options(pipeline.config(), 1)?,
            bleu: Bleu {
                tokenizer: args.tokenize.unwrap_or_default(),
                ..Bleu::default()
            },
        })
    };
    let options = processes.agree(doing, options())?;
    let inputs = args.references.iter().chain(&args.src);
    let inputs = inputs.chain([args.model.given(), dir]);
    let open = || Output::beside_stdout("--output", args.output.as_deref(), inputs);
    let translations = processes.is_first().then(open).transpose();
    let translations = processes.agree(doing, translations)?.flatten();

    processes.require_same("the model", &fingerprint(dir))?;
    processes.require_same("the test set", &src.join("\n"))?;
    processes.limit_waits();
    let share = processes.share(src.len()).len();
    let working = processes
        .is_first()
        .then(|| Working::shown(pipeline, Some(share)));
    let evaluation = evaluate::evaluate(pipeline, &src, &references, &options, processes)?;
    drop(working);
    if !processes.is_first() {
        return Ok(());
    }
    warn_of_other_order(pipeline, &src, &references[0], &evaluation)?;
    if let Some(mut file) = translations {
        evaluation
            .translations
            .iter()
            .try_for_each(|translation| file.line(translation))?;
        file.finish()?;
    }
    args.print(&evaluation, &lines(&evaluation))
}

/// Says that source and target seem to be swapped, if the translations are bad and the model expects the other order.
fn warn_of_other_order(
    pipeline: &Pipeline,
    src: &[String],
    references: &[String],
    evaluation: &Evaluation,
) -> Result<()> {
    /// A BLEU that a model of these languages does not have.
    const BAD: f64 = 5.0;
    /// How much better the other order must be.
    const FACTOR: f64 = 4.0;
    if evaluation.bleu.value >= BAD {
        return Ok(());
    }
    if let Some(Orders { given, other }) = evaluate::orders(pipeline, src, references)?
        && given > FACTOR * other
    {
        message::warning(format_args!(
            "source and target seem to be swapped: the model finds the sources far more likely as translations of the references \
             (perplexity {other:.1}) than the references as translations of the sources ({given:.1}); try `--src` and `--ref` \
             the other way round"
        ));
    }
    Ok(())
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
        chrf,
        chrf_plus_plus,
        ter,
        exact_match,
        perplexity,
        token_accuracy,
        sentences,
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
