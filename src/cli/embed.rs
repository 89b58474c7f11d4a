//! `attentive embed`: computes a vector for each text.

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
  One JSON object for each line of the input: {\"text\": \"...\", \"vector\": [...]}. The vector is the mean of the \
encoder's outputs at the text's tokens, excluding `</s>`; it is `null` for a blank line.";

/// Lines to collect before embedding, so that texts of similar length share a batch.
const LINES_PER_CHUNK: usize = 2048;

/// Compute text vectors with the encoder of a masked language model, classifier or translation model.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model directory.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The texts, one per line [default: standard input].
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Write the vectors to this file instead of standard output.
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
