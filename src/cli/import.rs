//! `attentive import`: converts a model of another tool into a model directory.

use std::path::PathBuf;

use attentive::error::{Error, Result};
use attentive::interop::{self, Foreign, ForeignForm};

use super::languages::LanguageArgs;
use super::message;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive import opus-mt-en-de --output models/en-de
  attentive import marian/model.npz --output models/en-de
  attentive translate models/en-de in.en > out.de
  attentive import nllb-200 --source-lang eng_Latn --target-lang deu_Latn --output models/nllb

All commands take the new directory like any other model directory. It keeps the search settings of the model's owner \
(`generation_config.json`, `decoder.yml`), which `attentive info` shows and options change.
  The weights are converted to f32. f16 and bf16 files are also read; pickled files (`pytorch_model.bin`) are not. docs/interop.md \
lists the kinds of models.
  Models that label texts or words (`…ForSequenceClassification`, `…ForTokenClassification`) are for `attentive classify` and \
`attentive tag`, with the names of their labels.
  The tokenizer is read from `tokenizer.json`, or from `vocab.txt` (BERT, MPNet), `vocab.json` and `merges.txt` (GPT-2, BART, \
RoBERTa), or models of SentencePiece (`source.spm` and `target.spm`, `spiece.model`, `tokenizer.model`, `sentencepiece.bpe.model`). Multilingual \
models (mBART, M2M-100, NLLB) translate from `--source-lang` to `--target-lang`; `attentive translate` can change both.";

/// Convert a model of another tool into a model directory.
///
/// Reads directories of Hugging Face's `transformers` with `config.json`, `model.safetensors` and the files of a tokenizer, models of
/// Marian (`.npz`) and Firefox (`.bin`) with their vocabularies beside them, and the weights of the Python package `g2p-en`
/// (`checkpoint20.npz`). Anything that is not understood is an error, so that an imported model computes what it should.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The directory of the model, or the file of its weights.
    #[arg(value_name = "DIR")]
    model: PathBuf,
    /// The model directory to write; it must not exist yet [default: `imported-` and the name of DIR, in the working directory].
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The format of the model [default: recognized from its files].
    #[arg(long = "as", value_name = "FORM")]
    form: Option<ForeignForm>,
    #[command(flatten)]
    languages: LanguageArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let out = match &args.output {
        Some(out) => out.clone(),
        None => default_out(args)?,
    };
    let foreign = Foreign::open(&args.model, args.form, &args.languages.languages())?;
    let (kind, n_weights) = (foreign.kind.clone(), foreign.architecture.n_weights());
    for note in &foreign.notes {
        message::note(note);
    }
    foreign.write(&out)?;
    let mut line = Output::stdout();
    line.line(format!(
        "{}: {kind}, {n_weights} parameters, written to {}",
        args.model.display(),
        out.display()
    ))?;
    line.flush()
}

fn default_out(args: &Args) -> Result<PathBuf> {
    // `..` has no name.
    let whole = match args.model.file_name() {
        Some(_) => std::path::absolute(&args.model),
        None => std::fs::canonicalize(&args.model),
    };
    let whole = whole.map_err(Error::io("read", &args.model))?;
    let name = match (whole.is_dir(), whole.file_stem()) {
        (false, Some(stem)) => stem.to_string_lossy().into_owned(),
        _ => interop::name_of(&whole),
    };
    Ok(PathBuf::from(format!("imported-{name}")))
}
