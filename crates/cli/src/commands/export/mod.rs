//! `attentive export`: writes a model for another tool.

mod web;

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::refuse_existing;
use attentive_distill::FirefoxExport;
use attentive_evaluate::static_int8::Int8Cost;
use attentive_interop::{ExportFormat, ExportOptions, Exported, export};
use attentive_model::engine::Precision;
use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::input;
use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::precision;
use indicatif::DecimalBytes;
use web::WebExport;

const EXAMPLES: &str = "\
Examples:
  attentive export runs/multi30k --to hf --output multi30k-hf
  python -c 'from transformers import AutoTokenizer, AutoModelForSeq2SeqLM as M; t = \
AutoTokenizer.from_pretrained(\"multi30k-hf\"); m = M.from_pretrained(\"multi30k-hf\"); print(t.decode(m.generate(**t(\"A dog \
runs.\", return_tensors=\"pt\"))[0], skip_special_tokens=True))'
  attentive export runs/student --to firefox --languages en-de --calibrate dev.en --ref dev.de --shortlist train.en train.de \
--output student-ende
  attentive export runs/student --to web --languages en-de --output site && cd site && python3 -m http.server

With `--to hf`, an encoder-decoder becomes MarianMT, BART, mBART, M2M-100 (also for NLLB) or T5; a causal language \
model becomes GPT-2 or Llama; a masked language model, tagger, classifier or encoder becomes BERT, RoBERTa, MPNet or \
DistilBERT, whichever has the same architecture. What was imported in bf16 or f16 is exported like that, also after training. With `--to \
marian`, a translation model becomes Marian's `model.npz` with a SentencePiece model for each vocabulary of subwords, and \
`decoder.yml`. With `--to firefox`, it becomes the files that Firefox, translateLocally and other programs with the same engine \
read: the scales of 8-bit products are measured on the sentences of `--calibrate`, and what these products cost is reported. With `--to web`, a model of text becomes \
a page for any web server, on which it works in the browser. A \
model with any difference from these architectures is refused, and the message lists the differences. `attentive info` shows \
what a model can be exported to; `configs/student-firefox.toml` trains a model that can be exported to Marian and Firefox.";

/// Convert a model to the format of another tool.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Format to write.
    #[arg(long, value_name = "FORMAT")]
    to: Target,
    /// Directory to write; it must not exist yet.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// For Firefox and the web: codes of the source and the target language, such as `en-de`.
    #[arg(long, value_name = "SRC-TGT")]
    languages: Option<String>,
    /// Source sentences, one per line: those on which the scales of 8-bit products are measured (Firefox),
    /// and the vocabularies are tried (Marian, Firefox). A few hundred are enough.
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
    /// For Firefox: references of these sentences, one per line, for BLEU before and after; may be repeated.
    #[arg(long = "ref", value_name = "FILE", requires = "calibrate")]
    references: Vec<PathBuf>,
    /// For Firefox: learn the shortlist from parallel text, such as the training data: sentences and their
    /// translations, one per line each [default: the shortlist of the model].
    #[arg(long, num_args = 2, value_names = ["SRC", "TGT"])]
    shortlist: Option<Vec<PathBuf>>,
    /// For the web: number type of the weights [default: int8, or that of a quantized model].
    #[arg(long, value_name = "TYPE", value_parser = precision::one_of(&[Precision::Int8, Precision::F32]))]
    precision: Option<Precision>,
    /// For the web: the license of the model, which the page shows.
    #[arg(long, value_name = "TEXT")]
    license: Option<String>,
    /// For the web: folder of the engine [default: that of this program].
    #[arg(long, value_name = "DIR")]
    engine: Option<PathBuf>,
}

/// What a model is exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Tool(ExportFormat),
    Web,
}

impl ValueEnum for Target {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self::Tool(ExportFormat::Hf),
                Self::Tool(ExportFormat::Marian),
                Self::Tool(ExportFormat::Firefox),
                Self::Web,
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Tool(format) => format.to_possible_value(),
            Self::Web => Some(PossibleValue::new("web").help(
                "A page for any web server, with an engine for WebAssembly: the model works in the browser, also \
                 without a network",
            )),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    refuse_existing(&args.output)?;
    let dir = args.model.dir()?;
    let (text, references) = match &args.calibrate {
        Some(src) => input::read_aligned(src, &args.references)?,
        None => (Vec::new(), Vec::new()),
    };
    let mut out = OutputWriter::stdout();
    refuse_useless_options(args)?;
    let exported = match args.to {
        Target::Web => {
            let web = WebExport {
                languages: args
                    .languages
                    .as_deref()
                    .map(|codes| languages(Some(codes), args.to))
                    .transpose()?,
                precision: args.precision,
                license: args.license.as_deref(),
                engine: args.engine.as_deref(),
            };
            let bytes = web.write(&dir, &args.output)?;
            out.line(format!(
                "{}: written to {} as a page, of which browsers load {}",
                dir.display(),
                args.output.display(),
                DecimalBytes(bytes)
            ))?;
            return out.flush();
        }
        Target::Tool(ExportFormat::Firefox) => {
            let (exported, cost) = to_firefox(args, &dir, &text, &references)?;
            out.line(in_words(&cost))?;
            exported
        }
        Target::Tool(format) => {
            export(&dir, format, ExportOptions { text: &text, firefox: None }, &args.output)?
        }
    };
    for note in exported.notes {
        message::note(note);
    }
    out.line(format!("{}: written to {} as {}", dir.display(), args.output.display(), exported.kind))?;
    out.flush()
}

/// Refuses options that have no effect on the target.
fn refuse_useless_options(args: &Args) -> Result<()> {
    use ExportFormat::{Firefox, Marian};
    let (firefox, marian) = (Target::Tool(Firefox), Target::Tool(Marian));
    let options: [(&str, bool, &[Target]); 7] = [
        ("--languages", args.languages.is_some(), &[firefox, Target::Web]),
        ("--ref", !args.references.is_empty(), &[firefox]),
        ("--shortlist", args.shortlist.is_some(), &[firefox]),
        ("--calibrate", args.calibrate.is_some(), &[firefox, marian]),
        ("--precision", args.precision.is_some(), &[Target::Web]),
        ("--license", args.license.is_some(), &[Target::Web]),
        ("--engine", args.engine.is_some(), &[Target::Web]),
    ];
    let useless = options.into_iter().find(|(_, is_given, of)| *is_given && !of.contains(&args.to));
    let Some((option, _, of)) = useless else {
        return Ok(());
    };
    let uses: Vec<String> = of.iter().map(|target| format!("`--to {}`", target.name())).collect();
    Err(Error::usage(
        format!("`{option}` has no effect on a model for {}", args.to.tool()),
        format!("leave it out, or use {}", uses.join(" or ")),
    ))
}

impl Target {
    fn tool(self) -> &'static str {
        match self {
            Self::Tool(format) => format.tool(),
            Self::Web => "the web",
        }
    }

    /// The value on the command line.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

fn to_firefox(
    args: &Args,
    dir: &Path,
    text: &[String],
    references: &[Vec<String>],
) -> Result<(Exported, Int8Cost)> {
    let languages = languages(args.languages.as_deref(), args.to)?;
    let parallel = match args.shortlist.as_deref() {
        Some([src, tgt]) => Some(input::read_aligned(src, std::slice::from_ref(tgt))?),
        _ => None,
    };
    let shortlist = parallel.as_ref().and_then(|(src, tgt)| Some([&**src, &**tgt.first()?]));
    FirefoxExport { languages, text, references, shortlist }.write(dir, &args.output)
}

/// Reads two codes such as `en-de`, for `target`.
fn languages(codes: Option<&str>, target: Target) -> Result<[&str; 2]> {
    // The page reads them as the server does.
    let is_code = |code: &str| match target {
        Target::Web => (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase()),
        Target::Tool(_) => !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
    };
    match codes.and_then(|codes| codes.split_once('-')) {
        Some((src, tgt)) if is_code(src) && is_code(tgt) => Ok([src, tgt]),
        _ => Err(Error::usage(
            match codes {
                Some(codes) => format!("`{codes}` is no pair of languages"),
                None => "the files of a model for Firefox are named by its languages, which are not given"
                    .to_owned(),
            },
            "give two codes, such as `--languages en-de`",
        )),
    }
}

fn in_words(cost: &Int8Cost) -> String {
    let Int8Cost { lines, changed_lines, bleu } = cost;
    let changed = format!("8-bit products change {changed_lines} of {lines} greedy translations");
    match bleu {
        Some([before, after]) => format!("{changed}; BLEU {before:.2} before, {after:.2} after"),
        None => format!("{changed}; references (`--ref`) would give BLEU"),
    }
}
