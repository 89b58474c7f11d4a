//! `attentive tag`: predicts a tag for each token.

use attentive_base::error::{Error, Result};
use attentive_config::{Task, TrainDevice};
use attentive_data as data;
use attentive_pipeline::{TextAnswer, Warning};

use crate::input::InputLines;
use crate::lines::{LINES_PER_CHUNK, LinesArgs};
use crate::message;
use crate::precision::PrecisionArgs;

const EXAMPLES: &str = "\
Examples:
  attentive tag runs/tagger-grammar in.tokens --output out.tags
  echo 'the dog sees a cat .' | attentive tag runs/tagger-grammar
  attentive tag runs/tagger-grammar in.tokens --json
  attentive tag runs/sensors in.jsonl

Input and output:
  Each input line is a sequence of tokens separated by spaces; the output line has a tag for each token, separated by spaces. \
A blank line gives an empty line. A tagger of vectors reads one JSON object per line, such as {\"vectors\": [[0.1, 2], [0.3, \
4]]}. A sequence longer than the model's `max_len` is read in pieces of that length. A model that splits words into subwords, \
as most imported ones do, gives a word the tag of its first subword.";

/// Predict a tag for each token of a text, or for each vector of a sequence.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    lines: LinesArgs,
    #[command(flatten)]
    precision: PrecisionArgs,
    /// Write one JSON object per line with the lists `tokens` and `tags`, as in training data (for vectors
    /// only `tags`), the number of tokens that are `unknown`, and `warnings`.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.lines.model.dir()?;
    let pipeline = args.precision.load(&dir, TrainDevice::Cpu)?;
    pipeline.require(Task::Tag)?;
    let (mut input, mut out) = args.lines.open(&dir)?;
    let d_input = pipeline.config().model.family.d_input();
    let (mut unknown, mut tokens) = (0, 0);
    loop {
        let first_line = input.count() + 1;
        let Some(lines) = input.next_chunk(LINES_PER_CHUNK)? else {
            break;
        };
        let tagged = match d_input {
            None => pipeline.tag(first_line, &lines)?,
            Some(width) => {
                let vectors = vectors(&lines, width, &input, first_line)?;
                pipeline.tag_vectors(first_line, &vectors)?
            }
        };
        for line in tagged {
            message::warnings(&line.warnings);
            unknown += line.unknown;
            tokens += line.tokens.as_ref().map_or(0, Vec::len);
            if args.json {
                out.json_line(&TextAnswer::Tag(line))?;
            } else {
                out.line(line.tags.join(" "))?;
            }
        }
        out.flush()?;
    }
    message::warnings(Warning::of_unknown(unknown, tokens).as_slice());
    out.finish().map(drop)
}

/// The vectors on each line, the first of which is line number `first_line`; a blank line has none.
fn vectors(lines: &[String], width: usize, input: &InputLines, first_line: usize) -> Result<Vec<Vec<f32>>> {
    let parse = |(number, line): (usize, &String)| match line.trim() {
        "" => Ok(Vec::new()),
        line => {
            data::parse_vectors(line, width).map_err(|problem| Error::line(input.path(), number, problem))
        }
    };
    (first_line..).zip(lines).map(parse).collect()
}
