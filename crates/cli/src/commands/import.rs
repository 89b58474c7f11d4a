//! `attentive import`: converts a model of another tool into a model directory.

use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_interop::{self as interop, ForeignFormat, ForeignModel};

use crate::languages::LanguageArgs;
use crate::message;
use crate::output::OutputWriter;
use crate::tips;

const EXAMPLES: &str = "\
Examples:
  attentive import opus-mt-en-de --output models/en-de
  attentive import marian/model.npz --output models/en-de
  attentive import nllb-200 --source-lang eng_Latn --target-lang deu_Latn --output models/nllb
  attentive translate models/en-de in.en > out.de

The new directory works with all commands like any other model directory. It keeps the generation settings of the original \
(`generation_config.json`, `decoder.yml`), which `attentive info` shows and options of `attentive translate` override.

Models:
  `transformers`: MarianMT and OPUS-MT (`marian`), BART (`bart`), mBART (`mbart`), M2M-100 and NLLB (`m2m_100`), T5 (`t5`, \
`mt5`), BERT (`bert`), DistilBERT (`distilbert`), RoBERTa, XLM-R and CamemBERT (`roberta`, `xlm-roberta`, `camembert`), MPNet \
(`mpnet`), GPT-2 (`gpt2`) and Llama (`llama`); also Sentence Transformers with such an encoder. Marian and Firefox: \
Transformers, with attention or an SSRU in the decoder.
  The weights keep their number type: f32, f16 or bf16. Pickled files (`pytorch_model.bin`) are not read, since reading one \
can run any program; the error message shows how to convert it.
  Models that label texts or words (`...ForSequenceClassification`, `...ForTokenClassification`) are used with `attentive \
classify` and `attentive tag`, and keep the names of their labels. Multilingual models (mBART, M2M-100, NLLB) translate from \
`--source-lang` to `--target-lang`; the same options of `attentive translate` change both.

Tokenizers:
  `tokenizer.json`; `vocab.txt` (BERT, MPNet); `vocab.json` and `merges.txt` (GPT-2, BART, RoBERTa); SentencePiece models \
(`source.spm` and `target.spm`, `spiece.model`, `tokenizer.model`, `sentencepiece.bpe.model`); Marian's vocabularies (`.yml`, \
`.spm`).";

/// Convert a model of another tool into a model directory.
///
/// It reads directories of Hugging Face's `transformers` (`config.json`, `model.safetensors` and the files of
/// a tokenizer), models of Marian (`.npz`) and Firefox (`.bin`) with their vocabularies beside them, and the
/// weights of the Python package `g2p-en` (`checkpoint20.npz`). Anything unknown is an error, so that an
/// imported model computes what the original does.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory of the model, or the file of its weights.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Model directory to write; it must not exist yet [default: `imported-` and the name of MODEL, in the
    /// current directory].
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Format of the model [default: recognized from its files].
    #[arg(long = "as", value_name = "FORMAT")]
    form: Option<ForeignFormat>,
    #[command(flatten)]
    languages: LanguageArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let out = match &args.output {
        Some(out) => out.clone(),
        None => default_out(args)?,
    };
    let mut foreign = ForeignModel::open(&args.model, args.form, &args.languages.languages())
        .map_err(|error| tips::repository_as_path(error, &args.model))?;
    for note in &foreign.notes {
        message::note(note);
    }
    let mut line = OutputWriter::stdout();
    let mut write = |model: ForeignModel, out: &Path| -> Result<()> {
        let (kind, n_weights) = (model.kind.clone(), model.n_weights());
        model.write(out)?;
        let size = count(n_weights, "parameter");
        line.line(format!("{}: {kind}, {size}, written to {}", args.model.display(), out.display()))
    };
    let partners = std::mem::take(&mut foreign.partners);
    if partners.is_empty() {
        write(foreign, &out)?;
    } else {
        let weights: Vec<String> = foreign.log_weights.iter().map(f64::to_string).collect();
        let members: Vec<PathBuf> =
            (1..=1 + partners.len()).map(|number| out.join(number.to_string())).collect();
        for (model, out) in [foreign].into_iter().chain(partners).zip(&members) {
            write(model, out)?;
        }
        let with: String =
            members[1..].iter().map(|member| format!(" --with {}", member.display())).collect();
        message::note(format!(
            "the models are an ensemble: `attentive translate {}{with} --log-weights {}` uses all of them",
            members[0].display(),
            weights.join(",")
        ));
    }
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
