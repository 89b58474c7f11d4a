//! `attentive translate`: a line in, a line out.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use attentive::error::Result;
use attentive::pipeline::{Pipeline, TranslateOptions, Translation};

use super::input::{self, Lines};
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
  One line for each line of the input, empty for an empty one. With `--scores` or an `--n-best` above 1, lines of three \
columns with tabs between them: the number of the input line, counted from 1; the score, which is the sum of the tokens' \
log-probabilities (natural logarithm) after the length penalty; and the translation. The best comes first.";

/// Batches that are gathered before translating, so that sentences of like length can share one.
const BATCHES_PER_CHUNK: usize = 32;

/// Translate text, line by line, from a file or standard input.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The text to translate, a sentence a line [default: standard input].
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Write the translations here instead of to standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How many translations of each line to write; at most the beam width.
    #[arg(long, value_name = "N", default_value = "1")]
    n_best: NonZeroUsize,
    /// Write each translation with its line number and score.
    #[arg(long)]
    scores: bool,
    #[command(flatten)]
    search: SearchArgs,
}

/// What a line of the output holds.
#[derive(Clone, Copy)]
enum Columns {
    Text,
    LineScoreText,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::load(&args.model)?;
    let options = args.search.options(pipeline.config(), args.n_best.get())?;
    let columns = match args.scores || args.n_best.get() > 1 {
        true => Columns::LineScoreText,
        false => Columns::Text,
    };
    let input = input::open(args.input.as_deref())?;
    let inputs = args.input.iter().chain([&args.model]);
    let out = Output::open(args.output.as_deref(), inputs)?;
    translate(&pipeline, &options, input, columns, out)
}

fn translate(
    pipeline: &Pipeline,
    options: &TranslateOptions,
    mut input: Lines,
    columns: Columns,
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
            write(translation, first_line + index, columns, &mut out)?;
        }
        out.flush()?;
    }
}

fn write(translation: &Translation, line: usize, columns: Columns, out: &mut Output) -> Result<()> {
    message::warnings(&translation.warnings);
    for candidate in &translation.hypotheses {
        match columns {
            Columns::Text => out.line(&candidate.text)?,
            Columns::LineScoreText => out.line(format_args!(
                "{line}\t{:.4}\t{}",
                candidate.score, candidate.text
            ))?,
        }
    }
    Ok(())
}
