//! `attentive evaluate`: a model on a test set.

use std::path::{Path, PathBuf};

use attentive::error::Result;
use attentive::evaluate::{self, Evaluation};
use attentive::metrics::{Bleu, BleuTokenizer};
use attentive::pipeline::Pipeline;

use super::input;
use super::output::Output;
use super::search::SearchArgs;

const EXAMPLES: &str = "\
Examples:
  attentive evaluate runs/multi30k --src test.en --ref test.de
  attentive evaluate runs/multi30k --src test.en --ref test.de --output out.de --beam-width 1
  attentive evaluate runs/multi30k --src test.en --ref a.de --ref b.de --json";

/// Translate a test set and score it: BLEU, chrF, TER, exact match, perplexity.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The source sentences, one a line.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// Their references, one a line; give it again for further references. The first is also the one for exact match,
    /// perplexity and token accuracy.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
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
    let src = input::read_lines(&args.src)?;
    let references = input::read_references(&args.references, &args.src, src.len())?;
    let pipeline = Pipeline::load(&args.model)?;
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
        .chain([&args.src])
        .map(PathBuf::as_path)
        .collect();
    let translations = args
        .output
        .as_deref()
        .map(|path| Output::open(Some(path), &inputs))
        .transpose()?;

    let evaluation = evaluate::evaluate(&pipeline, &src, &references, &options)?;
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
