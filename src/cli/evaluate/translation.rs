//! Evaluation of a translation model.

use attentive::config::{LengthPenalty, Task};
use attentive::count::count;
use attentive::decode::SearchOptions;
use attentive::error::Result;
use attentive::evaluate::{self, Evaluation};
use attentive::metrics::Bleu;
use attentive::pipeline::Pipeline;
use attentive::processes::Processes;

use super::{Args, percentage};
use crate::cli::fingerprint::fingerprint;
use crate::cli::output::Output;
use crate::cli::{input, message};

/// Translations with a lower brevity penalty are said to be short.
const LEAST_BREVITY_PENALTY: f64 = 0.97;

pub(super) fn run(args: &Args, pipeline: &Pipeline, processes: &Processes) -> Result<()> {
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
    let inputs = args.references.iter().chain(&args.src).chain([&args.model]);
    let open = || Output::beside_stdout("--output", args.output.as_deref(), inputs);
    let translations = processes.is_first().then(open).transpose();
    let translations = processes.agree(doing, translations)?.flatten();

    processes.require_same("the model", &fingerprint(&args.model))?;
    processes.require_same("the test set", &src.join("\n"))?;
    processes.limit_waits();
    let evaluation = evaluate::evaluate(pipeline, &src, &references, &options, processes)?;
    if !processes.is_first() {
        return Ok(());
    }
    if let Some(mut file) = translations {
        evaluation
            .translations
            .iter()
            .try_for_each(|translation| file.line(translation))?;
        file.finish()?;
    }
    if evaluation.brevity_penalty < LEAST_BREVITY_PENALTY {
        message::warning(too_short(&evaluation, &options.translate.search));
    }
    args.print(&evaluation, &lines(&evaluation))
}

/// What to say of translations that are too short for their references.
fn too_short(evaluation: &Evaluation, search: &SearchOptions) -> String {
    let penalty = evaluation.brevity_penalty;
    let by_length = search.length_penalty == LengthPenalty::Length;
    let advice = match (search.beam_width, by_length) {
        (1, _) => {
            "a beam compares translations of different lengths: try `--beam-width 5 --length-penalty length --alpha 1`"
        }
        (_, false) => {
            "the length penalty prefers short ones: try `--length-penalty length --alpha 1`"
        }
        (_, true) if search.alpha < 1.0 => "the length penalty is weak: try `--alpha 1`",
        (_, true) => {
            "try a larger `--alpha`, such as 1.2, or `--min-length`; a model that was trained for too short a time \
             writes short translations, and so does one whose training data leave things out"
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
