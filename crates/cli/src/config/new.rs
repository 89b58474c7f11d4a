//! `attentive config new`: a short configuration to start from.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_config::{Draft, Family, Start};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value;

use super::super::message;
use super::super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive config new --family transformer -o my.toml
  attentive config new --family classifier --source jsonl -o my.toml
  attentive config new --family tagger --source builtin > my.toml";

/// Write a short configuration file to start from, with comments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The kind of model: transformer, seq2seq, decoder_only, encoder_only, tagger or classifier.
    #[arg(long, value_name = "FAMILY", value_parser = family)]
    family: Family,
    /// The format of the corpora [default: aligned; tsv for classifiers; text for language models].
    #[arg(long, value_enum)]
    source: Option<Start>,
    /// Write to FILE instead of standard output. It must not exist.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The family called `name`, or why there is none, in the words about the key `model.family`.
fn family(name: &str) -> std::result::Result<Family, String> {
    let found: std::result::Result<_, value::Error> = Family::deserialize(name.into_deserializer());
    found.map_err(|_| {
        let key = format!("model.family={name:?}");
        match Draft::parse("", Path::new(""), &[key]) {
            Err(Error::Config { expected, hint, .. }) => {
                let hint = hint.map(|hint| format!("; {hint}"));
                format!("expected {expected}{}", hint.unwrap_or_default())
            }
            _ => "no family has this name".into(),
        }
    })
}

/// The error about a configuration of `family` with corpora from `source`, in terms of the options.
fn unfit(error: Error, family: Family, source: Start) -> Error {
    let name =
        |value: Option<PossibleValue>| value.map_or_else(String::new, |value| value.get_name().to_owned());
    match error {
        Error::Config { key, expected, .. } if key.starts_with("data.") => Error::Usage {
            problem: format!("`--source`: expected {expected}, found `{}`", name(source.to_possible_value())),
            hint: Some(format!(
                "leave out `--source`: it is then `{}`, the usual one of this family",
                name(Start::usual(family).to_possible_value())
            )),
        },
        Error::Config { ref key, .. } if key == "model.family" => message::as_option(error),
        other => other,
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let source = args.source.unwrap_or(Start::usual(args.family));
    let text = source.configuration(args.family).map_err(|error| unfit(error, args.family, source))?;
    if let Some(path) = args.output.as_ref().filter(|path| path.exists()) {
        return Err(Error::usage(
            format!("`{}` exists", path.display()),
            "choose another name, or delete it",
        ));
    }
    let mut out = Output::open(args.output.as_deref(), [])?;
    out.line(text.trim_end())?;
    out.finish().map(drop)
}
