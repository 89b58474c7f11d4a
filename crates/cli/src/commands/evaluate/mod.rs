//! `attentive evaluate`: evaluates a model on a test set, with one file per task.

mod classification;
mod language_model;
mod masked;
mod tagging;
mod translation;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_config::{Config, CorpusFormat, CorpusSource, Task};
use attentive_data::{self as data, Corpus, DataKind};
use attentive_metrics::{Accuracy, BleuTokenizer};
use attentive_pipeline::Pipeline;
use attentive_processes::Processes;
use attentive_train as train;
use serde::Serialize;

use crate::device::{DecodingDeviceArgs, warn_of_software};
use crate::languages::LanguageArgs;
use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::precision::{CacheArgs, PrecisionArgs};
use crate::search::SearchArgs;

const EXAMPLES: &str = "\
Examples:
  attentive evaluate runs/multi30k --src test.en --ref test.de
  attentive evaluate runs/multi30k --src test.en --ref test.de --output out.de --beam-width 1
  attentive evaluate runs/multi30k --src test.en --ref a.de --ref b.de --json
  attentive evaluate runs/multi30k --src test.en --ref test.de --worst 10
  attentive evaluate runs/multi30k --checkpoint last --src test.en --ref test.de
  attentive evaluate runs/tagger-grammar --valid
  attentive evaluate runs/tagger --src test.tokens --ref test.tags
  attentive evaluate runs/classifier --tsv test.tsv
  attentive evaluate runs/multi30k-mlm --text test.de
  attentive evaluate runs/shakespeare --text test.txt

Metrics:
  Translation: BLEU, chrF, TER, exact match and perplexity.
  Tagger: tag accuracy, overall and for each tag, and the share of sequences tagged entirely correctly.
  Classifier: accuracy; precision, recall and F1 of each label; macro F1; and the confusion table.
  Masked language model: accuracy and perplexity on tokens that are chosen and hidden as in training (15 % are chosen, most \
of these are hidden), beside a unigram baseline, which is estimated on the evaluation text itself and therefore optimistic.
  Causal language model: perplexity per token, which depends on the tokenizer, and bits per character, which does not: the \
negative log2-likelihood of all tokens, divided by the number of characters that they stand for. A model trained on lines \
predicts each line from its beginning, and its end, which counts as a character; blank lines are skipped. A model trained on \
a stream predicts all but the first token, in independent windows as long as its context.";

/// Evaluate a model on a test set.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("data").required(true).args(["src", "tsv", "jsonl", "text", "valid"]))]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Source sentences, one per line; for a tagger, tokens separated by spaces; for a classifier, texts.
    #[arg(long, value_name = "FILE", requires = "references")]
    src: Option<PathBuf>,
    /// References, one per line; for a tagger, tags; for a classifier, labels. Repeat for additional
    /// references of a translation; exact match, perplexity and token accuracy use the first.
    #[arg(long = "ref", value_name = "FILE", requires = "src")]
    references: Vec<PathBuf>,
    /// Test set of a classifier (label, tab, text) or of a tagger (tokens, tab, tags) in one file.
    #[arg(long, value_name = "FILE")]
    tsv: Option<PathBuf>,
    /// Test set with one JSON object per line: for a tagger with the lists `tokens` (or `vectors`) and
    /// `tags`; for a classifier with the strings `text` and `label`.
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Test set of a language model: texts, one per line.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Use the validation data that the model's configuration names; relative paths start at the current
    /// directory.
    #[arg(long)]
    valid: bool,
    /// Write the translations to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show the N lines whose translations have the lowest chrF2.
    #[arg(long, value_name = "N")]
    worst: Option<NonZeroUsize>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    /// Tokenizer for BLEU [default: 13a].
    #[arg(long, value_name = "TOKENIZER")]
    tokenize: Option<BleuTokenizer>,
    #[command(flatten)]
    precision: PrecisionArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    device: DecodingDeviceArgs,
    #[command(flatten)]
    languages: LanguageArgs,
    #[command(flatten)]
    search: SearchArgs,
}

pub(super) fn run(args: &Args, processes: &Processes) -> Result<()> {
    let doing = "the model was loaded";
    let dir = processes.agree(doing, args.model.dir())?;
    let pipeline = processes.agree(doing, args.load(&dir, processes))?;
    let task = pipeline.config().model.family.task();
    if task != Task::Translate {
        processes.require_alone("evaluation of a model that does not translate")?;
    }
    match task {
        Task::Translate => translation::run(args, &dir, &pipeline, processes),
        Task::Generate => language_model::run(args, &pipeline),
        Task::Tag => tagging::run(args, &pipeline),
        Task::Fill => masked::run(args, &pipeline),
        Task::Classify => classification::run(args, &pipeline),
        Task::Embed => Err(Error::usage(
            "this model predicts nothing that could be evaluated",
            "use it with `attentive embed`",
        )),
    }
}

impl Args {
    /// Loads the model directory `dir`.
    fn load(&self, dir: &Path, processes: &Processes) -> Result<Pipeline> {
        let device = train::device::of_process(self.device.device, processes)?;
        let pipeline = self.precision.load(dir, device)?;
        warn_of_software(pipeline.device());
        let translates = pipeline.config().model.family.task() == Task::Translate;
        if self.cache.is_given() && !translates {
            return Err(Error::usage(
                "only models that translate keep keys and values while they are evaluated",
                "leave `--cache-precision` out",
            ));
        }
        self.cache.applied(pipeline)?.with_languages(&self.languages.languages())
    }

    /// The test set in the form that the model was trained on.
    fn corpus(&self, config: &Config) -> Result<Corpus> {
        if self.valid {
            return train::validation_corpus(config)?.ok_or_else(|| {
                let problem = "the model's configuration has no validation corpus";
                Error::usage(problem, "give a test set instead of `--valid`")
            });
        }
        let kind = DataKind::of(config);
        let (fits, wanted) = match kind {
            DataKind::Translations => (self.src.is_some(), "`--src` and `--ref`"),
            DataKind::TaggedTokens | DataKind::Labeled => (
                self.references.len() == 1 || self.tsv.is_some() || self.jsonl.is_some(),
                "`--src` and one `--ref`, `--tsv`, or `--jsonl`",
            ),
            DataKind::TaggedVectors(_) => (self.jsonl.is_some(), "`--jsonl`"),
            DataKind::Lines | DataKind::Stream => (self.text.is_some(), "`--text`"),
        };
        let unusable = || {
            Error::usage(
                "this model cannot be evaluated on data of this form",
                format!("use {wanted}, or `--valid`"),
            )
        };
        if !fits {
            return Err(unusable());
        }
        let named = self.source().ok_or_else(unusable)?;
        let corpus = data::read(&named, kind, None, config.seed, &mut data::unwatched)?;
        message::note(format!("test set: {}", corpus.stats()));
        corpus.warnings().iter().for_each(message::warning);
        Ok(corpus)
    }

    /// The test set given on the command line; clap allows at most one.
    fn source(&self) -> Option<CorpusSource> {
        let aligned = self.src.clone().zip(self.references.first().cloned());
        let aligned = aligned.map(|(src, tgt)| CorpusSource::aligned(src, tgt));
        let jsonl = self.jsonl.clone().map(|path| CorpusSource::file(CorpusFormat::Jsonl, path));
        let text = self.text.clone().map(|path| CorpusSource::file(CorpusFormat::Text, path));
        let tsv = self.tsv.clone().map(|path| CorpusSource::file(CorpusFormat::Tsv, path));
        aligned.or(tsv).or(jsonl).or(text)
    }

    /// Refuses options that only apply to translation.
    fn refuse_translation(&self, instead: &str) -> Result<()> {
        let (option, hint) = if self.worst.is_some() {
            ("`--worst` is", "omit `--worst`".to_owned())
        } else if self.output.is_some() {
            ("`--output` is", format!("use `attentive {instead}`"))
        } else if self.tokenize.is_some() {
            ("`--tokenize` is", "omit it".to_owned())
        } else if self.search != SearchArgs::default() {
            ("search options are", "omit them".to_owned())
        } else {
            return Ok(());
        };
        let problem = format!("{option} supported only for models that translate, which this one does not");
        Err(Error::usage(problem, hint))
    }

    /// Prints an evaluation as JSON or as text.
    fn print(&self, evaluation: &impl Serialize, lines: &[String]) -> Result<()> {
        let mut out = OutputWriter::stdout();
        if self.json {
            out.json(evaluation)?;
        } else {
            lines.iter().try_for_each(|line| out.line(line))?;
        }
        out.flush()
    }
}

fn percentage(accuracy: &Accuracy) -> String {
    let Accuracy { correct, total } = accuracy;
    format!("{:.2} % ({correct} of {total})", 100.0 * accuracy.fraction())
}
