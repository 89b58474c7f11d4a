//! `attentive tag`: a tag for each token.

use std::path::PathBuf;

use attentive::config::Task;
use attentive::count::count;
use attentive::data;
use attentive::error::{Error, Result};
use attentive::pipeline::Pipeline;
use serde::Serialize;

use super::input::{self, Lines};
use super::message;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive tag runs/tagger-grammar in.tokens --output out.tags
  echo 'the dog sees a cat .' | attentive tag runs/tagger-grammar
  attentive tag runs/tagger-grammar in.tokens --json
  attentive tag runs/sensors in.jsonl

Input and output:
  Tokens between blanks, a sequence a line; as many tags between blanks, an empty line for an empty one. A tagger of \
vectors reads JSON objects such as {\"vectors\": [[0.1, 2], [0.3, 4]]}, one a line. A sequence longer than the model's \
`max_len` is read in pieces of that length.";

/// Lines that are gathered before tagging, so that those of like length can share a batch.
const LINES_PER_CHUNK: usize = 2048;

/// Label each token of a text, or each vector of a sequence.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// What to tag, a sequence a line [default: standard input].
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Write the tags here instead of to standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write JSON objects with lists `tokens` and `tags`, one a line, as training reads them; of vectors the tags alone.
    #[arg(long)]
    json: bool,
}

/// A line as JSON.
#[derive(Serialize)]
struct Tagged<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<&'a str>>,
    tags: &'a [String],
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::load(&args.model)?;
    pipeline.require(Task::Tag)?;
    let mut input = input::open(args.input.as_deref())?;
    let inputs = args.input.iter().chain([&args.model]);
    let mut out = Output::open(args.output.as_deref(), inputs)?;
    let config = &pipeline.config().model;
    let mut unknown = Unknown::default();
    loop {
        let first_line = input.count() + 1;
        let Some(lines) = input.next_chunk(LINES_PER_CHUNK)? else {
            break;
        };
        let all_tags = match config.recurrent.d_input {
            0 => {
                lines
                    .iter()
                    .try_for_each(|line| unknown.add(line, &pipeline))?;
                pipeline.tag(&lines)?
            }
            width => pipeline.tag_vectors(&vectors(&lines, width, &input, first_line)?)?,
        };
        for (number, (line, tags)) in (first_line..).zip(lines.iter().zip(&all_tags)) {
            if tags.len() > config.max_len {
                let (len, most) = (tags.len(), config.max_len);
                message::warning(format!(
                    "line {number}: {len} positions were read in pieces of {most}, the model's most"
                ));
            }
            if args.json {
                let tokens = line.split_whitespace().collect();
                out.json_line(&Tagged {
                    tokens: (config.recurrent.d_input == 0).then_some(tokens),
                    tags,
                })?;
            } else {
                out.line(tags.join(" "))?;
            }
        }
        out.flush()?;
    }
    unknown.warn();
    out.finish().map(drop)
}

/// How many of the tokens the model has never met.
#[derive(Default)]
struct Unknown {
    tokens: usize,
    of: usize,
}

impl Unknown {
    fn add(&mut self, line: &str, pipeline: &Pipeline) -> Result<()> {
        let tokenizer = pipeline.tokenizers().src();
        let ids = tokenizer.encode_words(line)?;
        let unk = tokenizer.special().unk;
        self.tokens += ids.iter().filter(|&&id| id == unk).count();
        self.of += ids.len();
        Ok(())
    }

    fn warn(&self) {
        let Self { tokens, of } = self;
        if *tokens > 0 {
            message::warning(format_args!(
                "{tokens} of {} not in the model's vocabulary, read as `<unk>`",
                count(*of, "token")
            ));
        }
    }
}

/// The vectors on each line, of which the first is number `first_line`; none on a blank one.
fn vectors(
    lines: &[String],
    width: usize,
    input: &Lines,
    first_line: usize,
) -> Result<Vec<Vec<f32>>> {
    let parse = |(number, line): (usize, &String)| match line.trim() {
        "" => Ok(Vec::new()),
        line => data::parse_vectors(line, width)
            .map_err(|problem| Error::line(input.path(), number, problem)),
    };
    (first_line..).zip(lines).map(parse).collect()
}
