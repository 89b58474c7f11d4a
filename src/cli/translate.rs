//! `attentive translate`: translates text line by line.

use std::num::NonZeroUsize;

use attentive::engine::Precision;
use attentive::error::Result;
use attentive::pipeline::{Candidate, Pipeline, TranslateOptions, Translation, Warning};
use serde::Serialize;

use super::input::Lines;
use super::lines::LinesArgs;
use super::message;
use super::output::Output;
use super::search::SearchArgs;

const EXAMPLES: &str = "\
Examples:
  attentive translate runs/multi30k < in.en > out.de
  echo 'A dog runs.' | attentive translate runs/multi30k
  attentive translate runs/multi30k in.en --output out.de --beam-width 1
  attentive translate runs/multi30k in.en --beam-width 8 --n-best 3

Output:
  One line for each line of the input; a blank line gives an empty line. With `--scores` or an `--n-best` above 1, each \
translation has a line of three tab-separated columns: the number of the input line, counted from 1; the score, which is the \
sum of the tokens' natural log-probabilities after the length penalty; and the translation. The best comes first. \
Translations cut off at the length limit come after all finished ones, whatever their score, and a warning on standard error \
names the line.
  With `--json`, each line of the input gives one object: its number `line`, and a list `translations` of objects with \
`text`, `score`, `log_prob` (the sum before the length penalty), and `finished`, which is false for a translation that was \
cut off.";

/// Batches to collect before translating, so that sentences of similar length share a batch.
const BATCHES_PER_CHUNK: usize = 32;

/// Translate text line by line, from a file or standard input.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    lines: LinesArgs,
    /// Number of translations to write for each line; at most the beam width.
    #[arg(long, value_name = "N", default_value = "1")]
    n_best: NonZeroUsize,
    /// Write each translation with its line number and score.
    #[arg(long)]
    scores: bool,
    /// Write one JSON object per line of the input.
    #[arg(long)]
    json: bool,
    /// Number type of the weights and of products with them.
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    precision: Precision,
    #[command(flatten)]
    search: SearchArgs,
}

/// The contents of an output line.
#[derive(Clone, Copy)]
enum Format {
    Text,
    LineScoreText,
    Json,
}

/// The translations of a line as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    line: usize,
    translations: Vec<Found<'a>>,
}

/// A translation as JSON.
#[derive(Serialize)]
struct Found<'a> {
    text: &'a str,
    score: f64,
    log_prob: f64,
    finished: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::load(&args.lines.model)?.with_precision(args.precision);
    let options = args.search.options(pipeline.config(), args.n_best.get())?;
    let format = match args.scores || args.n_best.get() > 1 {
        _ if args.json => Format::Json,
        true => Format::LineScoreText,
        false => Format::Text,
    };
    let (input, out) = args.lines.open()?;
    translate(&pipeline, &options, input, format, out)
}

fn translate(
    pipeline: &Pipeline,
    options: &TranslateOptions,
    mut input: Lines,
    format: Format,
    mut out: Output,
) -> Result<()> {
    let limit = options.batch_size.saturating_mul(BATCHES_PER_CHUNK);
    loop {
        let first_line = input.count() + 1;
        let Some(lines) = input.next_chunk(limit)? else {
            return out.finish().map(drop);
        };
        let translations = pipeline.translate_from(first_line, &lines, options)?;
        for (index, translation) in translations.iter().enumerate() {
            write(translation, first_line + index, format, &mut out)?;
        }
        out.flush()?;
    }
}

fn write(translation: &Translation, line: usize, format: Format, out: &mut Output) -> Result<()> {
    message::warnings(&translation.warnings);
    let found = &translation.hypotheses;
    match format {
        Format::Text => found.iter().try_for_each(|found| out.line(&found.text)),
        Format::LineScoreText => {
            message::warnings(cut_off(line, found).as_slice());
            found.iter().try_for_each(|found| {
                out.line(format_args!("{line}\t{:.4}\t{}", found.score, found.text))
            })
        }
        Format::Json => out.json_line(&Answer {
            line,
            translations: found.iter().map(Found::from).collect(),
        }),
    }
}

/// A warning if any translations of line number `line` were cut off. A blank line has none.
fn cut_off(line: usize, found: &[Candidate]) -> Option<Warning> {
    let is_cut_off = |found: &&Candidate| !found.finished && !found.tokens.is_empty();
    let problem = match (found.iter().filter(is_cut_off).count(), found.len()) {
        (0, _) => return None,
        (1, 1) => "the translation was cut off at the length limit".to_owned(),
        (n, all) if n == all => format!("all {all} translations were cut off at the length limit"),
        (n, all) => format!(
            "the last {n} of {all} translations were cut off at the length limit, and come after the others whatever \
             their score"
        ),
    };
    Some(Warning {
        line: Some(line),
        problem,
    })
}

impl<'a> From<&'a Candidate> for Found<'a> {
    fn from(found: &'a Candidate) -> Self {
        Self {
            text: &found.text,
            score: found.score,
            log_prob: found.log_prob,
            // A blank line cannot be cut off.
            finished: found.finished || found.tokens.is_empty(),
        }
    }
}
