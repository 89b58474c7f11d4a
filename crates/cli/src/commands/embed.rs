//! `attentive embed`: computes a vector for each text.

use attentive_base::error::Result;
use attentive_config::TrainDevice;
use attentive_pipeline::TextAnswer;

use crate::lines::{LINES_PER_CHUNK, LinesArgs};
use crate::message;
use crate::precision::PrecisionArgs;

const EXAMPLES: &str = "\
Examples:
  attentive embed runs/multi30k-mlm texts.de > vectors.jsonl
  echo 'Ein Mann fährt Rad.' | attentive embed runs/multi30k-mlm

Output:
  One JSON object for each line of the input: {\"text\": \"...\", \"vector\": [...], \"warnings\": [...]}. The vector is the average of \
the encoder's outputs at the text's tokens, excluding `</s>`; it is `null` for a blank line.
  The encoder may be part of a masked language model, a classifier or a translation model, or it may be imported \
alone, as from Sentence Transformers (`family = \"encoder\"`). Then the model's own settings (`model.pooling`, \
`model.normalize_embeddings`) tell how its outputs become a vector, and special tokens count.";

/// Compute a vector for each text with the encoder of a model.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    lines: LinesArgs,
    #[command(flatten)]
    precision: PrecisionArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.lines.model.dir()?;
    let pipeline = args.precision.load(&dir, TrainDevice::Cpu)?;
    pipeline.require_encoder()?;
    let (mut input, mut out) = args.lines.open(&dir)?;
    loop {
        let first_line = input.count() + 1;
        let Some(lines) = input.next_chunk(LINES_PER_CHUNK)? else {
            return out.finish().map(drop);
        };
        let embedded = pipeline.embed(first_line, &lines)?;
        for (text, embedded) in lines.iter().zip(embedded) {
            message::warnings(&embedded.warnings);
            out.json_line(&TextAnswer::Embed(text, embedded))?;
        }
        out.flush()?;
    }
}
