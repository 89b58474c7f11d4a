//! `attentive config new`: a short configuration to start from.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_config::{Config, ConfigDraft, CorpusSource, Family, Preset, StarterCorpus, fitted};
use attentive_data::{CorpusReader, DataKind};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value;

use crate::corpus_files::corpus;
use crate::message;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive config new --family transformer -o my.toml
  attentive config new --family transformer --train train.en train.de --valid val.en val.de -o my.toml
  attentive config new --family transformer --train memory.tmx --languages en de -o my.toml
  attentive config new --family classifier --source jsonl -o my.toml
  attentive config new --preset transformer-big --train train.en train.de --valid val.en val.de -o teacher.toml
  attentive config new --family tagger --source builtin > my.toml";

/// Write a short configuration file to start from, with comments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The kind of model: transformer, seq2seq, decoder_only, encoder_only, tagger or classifier.
    #[arg(long, value_name = "FAMILY", value_parser = family, required_unless_present = "preset")]
    family: Option<Family>,
    /// A published model in place of a family: Marian's tasks, and the students of Mozilla's pipeline, which
    /// can be exported to Firefox.
    #[arg(long, value_enum, conflicts_with = "family")]
    preset: Option<Preset>,
    /// The format of the corpora [default: aligned; tsv for classifiers; text for language models].
    #[arg(long, value_enum)]
    source: Option<StarterCorpus>,
    /// The training corpus, for whose size the configuration is fitted: two aligned files, or one whose
    /// extension tells its format (tsv, csv, jsonl, tmx, xliff, xlf, txt) [default: names to be replaced].
    #[arg(long, value_name = "FILE", num_args = 1..=2, conflicts_with = "source")]
    train: Vec<PathBuf>,
    /// The validation corpus, in the same way [default: with `--train`, some of its lines are held out].
    #[arg(long, value_name = "FILE", num_args = 1..=2, requires = "train")]
    valid: Vec<PathBuf>,
    /// The languages of source and target in a translation memory (tmx), such as `en de`.
    #[arg(long, value_name = "CODE", num_args = 2, requires = "train")]
    languages: Vec<String>,
    /// Columns of source and target in tsv or csv, by number from 1 or by the name in the first line, or
    /// fields of jsonl.
    #[arg(long, num_args = 2, value_names = ["SRC", "TGT"], requires = "train")]
    columns: Vec<String>,
    /// Write to FILE instead of standard output. It must not exist.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The family called `name`, or why there is none, in the words about the key `model.family`.
fn family(name: &str) -> std::result::Result<Family, String> {
    let found: std::result::Result<_, value::Error> = Family::deserialize(name.into_deserializer());
    found.map_err(|_| {
        let key = format!("model.family={name:?}");
        match ConfigDraft::parse("", Path::new(""), &[key]) {
            Err(Error::Config { expected, hint, .. }) => {
                let hint = hint.map(|hint| format!("; {hint}"));
                format!("expected {expected}{}", hint.unwrap_or_default())
            }
            _ => "no family has this name".into(),
        }
    })
}

/// The error about a configuration of `family` with corpora from `source`, in terms of the options.
fn unfit(error: Error, family: Family, source: StarterCorpus) -> Error {
    let name =
        |value: Option<PossibleValue>| value.map_or_else(String::new, |value| value.get_name().to_owned());
    match error {
        Error::Config { key, expected, .. } if key.starts_with("data.") => Error::Usage {
            problem: format!("`--source`: expected {expected}, found `{}`", name(source.to_possible_value())),
            hint: Some(format!(
                "leave out `--source`: it is then `{}`, the usual one of this family",
                name(StarterCorpus::usual(family).to_possible_value())
            )),
        },
        Error::Config { ref key, .. } if key == "model.family" => message::as_option(error),
        other => other,
    }
}

impl Args {
    /// The family; all presets translate.
    fn family(&self) -> Family {
        self.family.unwrap_or(Family::Transformer)
    }
}

/// The configuration for the corpora in files, of which that for training is read.
fn fit(args: &Args) -> Result<String> {
    let is_table = |files: &[PathBuf]| files.len() == 1;
    let of = |files: &[PathBuf]| if is_table(files) { &args.columns[..] } else { &[] };
    if !args.columns.is_empty() && !is_table(&args.train) && !is_table(&args.valid) {
        return Err(Error::usage(
            "`--columns` is for tables",
            "give it with a file of type tsv, csv or jsonl",
        ));
    }
    let train = corpus("`--train`", &args.train, &args.languages, of(&args.train))?;
    let valid = match &args.valid[..] {
        [] => None,
        files => Some(corpus("`--valid`", files, &args.languages, of(files))?),
    };
    let has_languages =
        |source: &CorpusSource| matches!(source, CorpusSource::File(file) if file.languages.is_some());
    if !args.languages.is_empty() && !valid.iter().chain([&train]).any(has_languages) {
        return Err(Error::usage(
            "`--languages` is for translation memories, and none of these files is one",
            "leave it out",
        ));
    }
    // Refuses corpora from which the family cannot learn.
    let text = fitted(args.family(), args.preset, &train, valid.as_ref(), 0)?;
    let kind = DataKind::of(&Config::parse(&text, Path::new("attentive.toml"), &[])?);
    if kind == DataKind::Stream {
        return Ok(text);
    }
    let examples = read(&train, kind, "training data")?;
    if let Some(valid) = &valid {
        read(valid, kind, "validation data")?;
    }
    fitted(args.family(), args.preset, &train, valid.as_ref(), examples)
}

/// Reads a corpus, and returns the number of its usable lines.
fn read(source: &CorpusSource, kind: DataKind, what: &str) -> Result<usize> {
    let mut reader = CorpusReader::open(source, kind, None, 0)?;
    while reader.next_entry()?.is_some() {}
    message::note(format!("{what}: {}", reader.stats()));
    reader.check_not_empty()?;
    Ok(reader.stats().kept())
}

pub(super) fn run(args: &Args) -> Result<()> {
    let text = if args.train.is_empty() {
        let family = args.family();
        let source = args.source.unwrap_or(StarterCorpus::usual(family));
        source.configuration(family, args.preset).map_err(|error| unfit(error, family, source))?
    } else {
        fit(args)?
    };
    if let Some(path) = args.output.as_ref().filter(|path| path.exists()) {
        return Err(Error::usage(
            format!("`{}` exists", path.display()),
            "choose another name, or delete it",
        ));
    }
    let mut out = OutputWriter::open(args.output.as_deref(), [])?;
    out.line(text.trim_end())?;
    out.finish().map(drop)
}
