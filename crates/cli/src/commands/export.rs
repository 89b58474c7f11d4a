//! `attentive export`: writes a model for another tool.

use std::path::PathBuf;

use attentive_base::error::Result;
use attentive_interop::{ExportFormat, export};

use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive export runs/multi30k --to hf --output multi30k-hf
  python -c 'from transformers import AutoTokenizer, AutoModelForSeq2SeqLM as M; t = \
AutoTokenizer.from_pretrained(\"multi30k-hf\"); m = M.from_pretrained(\"multi30k-hf\"); print(t.decode(m.generate(**t(\"A dog \
runs.\", return_tensors=\"pt\"))[0], skip_special_tokens=True))'

With `--to hf`, an encoder-decoder becomes a MarianMT model; a causal language model becomes GPT-2; a masked language model, \
tagger, classifier or encoder becomes BERT, RoBERTa, MPNet or DistilBERT, whichever has the same architecture. With `--to \
marian`, a translation model becomes Marian's `model.npz`; in general only models imported from Marian or Firefox can. A \
model with any difference from these architectures is refused, and the message lists the differences. `attentive info` shows \
what a model can be exported to.";

/// Convert a model to the format of another tool.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Format to write.
    #[arg(long, value_name = "FORMAT")]
    to: ExportFormat,
    /// Directory to write; it must not exist yet.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let exported = export(&dir, args.to, &args.output)?;
    for note in exported.notes {
        message::note(note);
    }
    let mut line = OutputWriter::stdout();
    line.line(format!("{}: written to {} as {}", dir.display(), args.output.display(), exported.kind))?;
    line.flush()
}
