//! `attentive evaluate`: a model on a test set.

use std::path::{Path, PathBuf};

use attentive::config::Task;
use attentive::error::{Error, Result};
use attentive::evaluate::{self, Evaluation, TextEvaluation};
use attentive::metrics::{Bleu, BleuTokenizer};
use attentive::pipeline::Pipeline;

use super::output::Output;
use super::search::SearchArgs;
use super::{input, message};

const EXAMPLES: &str = "\
Examples:
  attentive evaluate runs/multi30k --src test.en --ref test.de
  attentive evaluate runs/multi30k --src test.en --ref test.de --output out.de --beam-width 1
  attentive evaluate runs/multi30k --src test.en --ref a.de --ref b.de --json
  attentive evaluate runs/shakespeare --text test.txt

Language models:
  Perplexity is per token, and so depends on what a token is. Bits per character are the negative log-likelihood of all \
tokens, to base 2, over the characters that they stand for, and compare models of any tokens. A model of lines predicts \
each line from its beginning, and its end, which counts as a character; blank lines are left out. A model of one stream \
predicts all but the first token, in windows as long as its context that do not see each other.";

/// Measure a model on a test set: translations by BLEU, chrF, TER, exact match and perplexity; a language model by
/// perplexity and bits per character.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The source sentences, one a line.
    #[arg(long, value_name = "FILE", requires = "references")]
    src: Option<PathBuf>,
    /// Their references, one a line; give it again for further references. The first is also the one for exact match,
    /// perplexity and token accuracy.
    #[arg(long = "ref", value_name = "FILE", requires = "src")]
    references: Vec<PathBuf>,
    /// The text, for a language model.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["src", "references", "output", "tokenize", "SearchArgs"]
    )]
    text: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write the translations here.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What BLEU counts as a word.
    #[arg(long, value_name = "TOKENIZER", default_value = "13a")]
    tokenize: BleuTokenizer,
    #[command(flatten)]
    search: SearchArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::load(&args.model)?;
    match (&args.src, &args.text) {
        (Some(src), _) => translations(args, src, &pipeline),
        (_, Some(text)) => language_model(args, text, &pipeline),
        (None, None) => Err(Error::usage(
            "there is nothing to evaluate the model on",
            match pipeline.config().model.family.task() {
                Task::Generate => "name a text with `--text`",
                _ => "name the source sentences with `--src` and their references with `--ref`",
            },
        )),
    }
}

fn language_model(args: &Args, text: &Path, pipeline: &Pipeline) -> Result<()> {
    pipeline.require(Task::Generate)?;
    let lines = input::read_lines(text)?;
    let evaluation = evaluate::language_model(pipeline, &lines)?;
    let TextEvaluation {
        perplexity,
        bits_per_character,
        token_accuracy,
        tokens,
        characters,
        unknown_tokens,
        skipped_lines,
        seconds,
    } = evaluation;
    if unknown_tokens > 0 {
        message::warning(format_args!(
            "{unknown_tokens} of {tokens} tokens are not in the model's vocabulary; `<unk>` was predicted in their place"
        ));
    }
    if skipped_lines > 0 {
        message::warning(format_args!(
            "{skipped_lines} lines are too long for the model and were left out"
        ));
    }
    let mut out = Output::stdout();
    if args.json {
        out.json(&evaluation)?;
        return out.flush();
    }
    out.line(format_args!("perplexity = {perplexity:.3}"))?;
    out.line(format_args!("bits per character = {bits_per_character:.3}"))?;
    out.line(format_args!(
        "token accuracy = {:.2} %",
        100.0 * token_accuracy
    ))?;
    out.line(format_args!(
        "{tokens} tokens, {characters} characters in {seconds:.1} s"
    ))?;
    out.flush()
}

fn translations(args: &Args, src_file: &Path, pipeline: &Pipeline) -> Result<()> {
    pipeline.require(Task::Translate)?;
    let src = input::read_lines(src_file)?;
    let references = input::read_references(&args.references, src_file, src.len())?;
    let options = evaluate::EvaluateOptions {
        translate: args.search.options(pipeline.config(), 1)?,
        bleu: Bleu {
            tokenizer: args.tokenize,
            ..Bleu::default()
        },
    };
    let inputs: Vec<&Path> = args
        .references
        .iter()
        .map(PathBuf::as_path)
        .chain([src_file])
        .collect();
    let translations = args
        .output
        .as_deref()
        .map(|path| Output::open(Some(path), &inputs))
        .transpose()?;

    let evaluation = evaluate::evaluate(pipeline, &src, &references, &options)?;
    if let Some(mut file) = translations {
        evaluation
            .translations
            .iter()
            .try_for_each(|translation| file.line(translation))?;
        file.flush()?;
    }
    let mut out = Output::stdout();
    if args.json {
        out.json(&evaluation)?;
    } else {
        lines(&evaluation)
            .iter()
            .try_for_each(|line| out.line(line))?;
    }
    out.flush()
}

/// The evaluation as people read it.
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
    lines.push(format!(
        "exact match = {:.2} % ({} of {})",
        100.0 * exact_match.fraction(),
        exact_match.correct,
        exact_match.total
    ));
    lines.extend(perplexity.map(|value| format!("perplexity = {value:.3}")));
    lines.extend(token_accuracy.map(|value| format!("token accuracy = {:.2} %", 100.0 * value)));
    lines.push(format!(
        "{sentences} sentences in {seconds:.1} s, {:.0} a second",
        *sentences as f64 / seconds
    ));
    lines
}
