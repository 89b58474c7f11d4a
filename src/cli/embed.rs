//! `attentive embed`: texts as vectors.

use std::path::PathBuf;

use attentive::error::Result;
use attentive::pipeline::Pipeline;
use serde::Serialize;

use super::input;
use super::message;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive embed runs/multi30k-mlm texts.de > vectors.jsonl
  echo 'Ein Mann fährt Rad.' | attentive embed runs/multi30k-mlm

Output:
  A JSON object for each line of the input: {\"text\": \"...\", \"vector\": [...]}. The vector is the mean, over the \
text's tokens without `</s>`, of what the encoder's last layer puts out; `null` for a blank line.";

/// Lines that are gathered before embedding, so that those of like length can share a batch.
const LINES_PER_CHUNK: usize = 2048;

/// Turn texts into vectors, with the encoder of a masked language model, a classifier or a model that translates.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The texts, one a line [default: standard input].
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Write the vectors here instead of to standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    text: &'a str,
    vector: Option<&'a [f32]>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let pipeline = Pipeline::load(&args.model)?;
    pipeline.require_encoder()?;
    let mut input = input::open(args.input.as_deref())?;
    let inputs = args.input.iter().chain([&args.model]);
    let mut out = Output::open(args.output.as_deref(), inputs)?;
    loop {
        let first_line = input.count() + 1;
        let Some(lines) = input.next_chunk(LINES_PER_CHUNK)? else {
            return out.finish().map(drop);
        };
        let embedded = pipeline.embed(first_line, &lines)?;
        for (text, embedded) in lines.iter().zip(&embedded) {
            message::warnings(&embedded.warnings);
            let vector = embedded.vector.as_deref();
            out.json_line(&Line { text, vector })?;
        }
        out.flush()?;
    }
}
