//! `attentive export`: writes a model for another tool.

use std::path::PathBuf;

use attentive::error::Result;
use attentive::interop::{ExportFormat, export};

use super::message;
use super::model::ModelArgs;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive export runs/multi30k --to hf --output multi30k-hf
  python -c 'from transformers import AutoTokenizer, AutoModelForSeq2SeqLM as M; t = AutoTokenizer.from_pretrained(\"multi30k-hf\"); \
m = M.from_pretrained(\"multi30k-hf\"); print(t.decode(m.generate(**t(\"A dog runs.\", return_tensors=\"pt\"))[0], skip_special_tokens=True))'

Encoder-decoders become MarianMT, causal language models GPT-2, and encoders with any head or none BERT, RoBERTa, MPNet or DistilBERT, \
whichever they are like. A model that differs from these in any way is refused, and the message lists the differences. `--to marian` writes Marian's `model.npz`, which in \
general only models that were imported from Marian or Firefox can become. docs/interop.md lists what can be exported.";

/// Write a model in another tool's format.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// The format to write.
    #[arg(long, value_name = "FORM")]
    to: ExportFormat,
    /// The directory to write; it must not exist yet.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let exported = export(&dir, args.to, &args.output)?;
    for note in exported.notes {
        message::note(note);
    }
    let mut line = Output::stdout();
    line.line(format!(
        "{}: written to {} as {}",
        dir.display(),
        args.output.display(),
        exported.kind
    ))?;
    line.flush()
}
