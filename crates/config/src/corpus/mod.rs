//! `[data.train]` and `[data.valid]`: the source of a corpus.

mod keys;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

pub(super) use keys::{CorpusKeys, OneCorpus};

use attentive_base::error::{Error, Result};

/// The ways to name a corpus, for messages.
pub(super) const ONE_OF: &str =
    "exactly one of `src` + `tgt`, `moses`, `tsv`, `csv`, `jsonl`, `tmx`, `xliff`, `text` and `builtin`";

/// The source of a corpus. Files may be compressed with gzip or zstd, whatever their names.
///
/// Families that translate learn from pairs of sentences, taggers from tokens and their tags, classifiers
/// from texts and their labels, and language models from `text`. The built-in grammar works for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum CorpusSource {
    /// Two files aligned line by line: sentences and translations, tokens and tags separated by blanks, or
    /// texts and labels.
    Aligned {
        /// Source sentences, tokens or texts.
        src: PathBuf,
        /// Translations, tags or labels.
        tgt: PathBuf,
        /// A symbol before every source.
        tag: Option<String>,
        /// The file of the weights of its lines.
        weights: Option<PathBuf>,
    },
    /// One file.
    File(CorpusFile),
    /// A generated corpus.
    Builtin {
        /// Which one.
        task: BuiltinTask,
        /// Number of pairs to generate.
        pairs: usize,
    },
    /// Lines in RAM, which the program gives that trains, such as lists of Python.
    InMemory {
        /// Number of lines.
        lines: usize,
    },
    /// Several corpora, one after another, each with a weight. Only for training.
    Mixed(Vec<WeightedSource>),
}

/// A file with both sides of a corpus, or with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusFile {
    /// The file, or a pattern of files.
    pub path: PathBuf,
    /// Its format.
    pub format: CorpusFormat,
    /// The columns or fields of the two sides, if they are not the usual ones.
    pub columns: Option<[Column; 2]>,
    /// The languages of the two sides, for a format whose files have several.
    pub languages: Option<LanguagePair>,
    /// A symbol before every source.
    pub tag: Option<String>,
    /// The file of the weights of its lines.
    pub weights: Option<PathBuf>,
}

/// A format of files with both sides of a corpus, or with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusFormat {
    /// Lines `source TAB target`, or `label TAB text` for classifiers.
    Tsv,
    /// Comma-separated values (RFC 4180), with the same columns.
    Csv,
    /// JSON objects, one per line: with strings `src` and `tgt`; for taggers with lists `tokens` and `tags`,
    /// or `vectors` and `tags`; for classifiers with strings `text` and `label`.
    Jsonl,
    /// A translation memory (TMX 1.4).
    Tmx,
    /// Translated units (XLIFF 1.2 and 2).
    Xliff,
    /// A text for language models.
    Text,
}

impl CorpusFormat {
    /// The key with the file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tsv => "tsv",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Tmx => "tmx",
            Self::Xliff => "xliff",
            Self::Text => "text",
        }
    }
}

/// A column of a table, or a field of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Column {
    /// The number of a column, counted from 1.
    Number(#[schemars(range(min = 1))] NonZeroUsize),
    /// The name of a column in the first line, or of a field; a dot leads into a field, as in
    /// `translation.de`.
    Name(String),
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// The codes of the languages of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguagePair {
    /// The code of the source language, such as `en`.
    pub source: String,
    /// The code of the target language, such as `de`.
    pub target: String,
}

/// A corpus among others.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedSource {
    /// The corpus, which is not [`CorpusSource::Mixed`].
    pub source: CorpusSource,
    /// The number of times that an epoch contains each of its lines, on average over the epochs.
    pub weight: f64,
}

impl CorpusSource {
    /// A file of this format, with the usual columns.
    pub fn file(format: CorpusFormat, path: impl Into<PathBuf>) -> Self {
        Self::File(CorpusFile {
            path: path.into(),
            format,
            columns: None,
            languages: None,
            tag: None,
            weights: None,
        })
    }

    /// Two files aligned line by line.
    pub fn aligned(src: impl Into<PathBuf>, tgt: impl Into<PathBuf>) -> Self {
        Self::Aligned { src: src.into(), tgt: tgt.into(), tag: None, weights: None }
    }

    /// The format, if it is one file.
    pub fn file_format(&self) -> Option<CorpusFormat> {
        match self {
            Self::File(file) => Some(file.format),
            _ => None,
        }
    }

    /// The symbol before every source, if there is one.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Aligned { tag, .. } | Self::File(CorpusFile { tag, .. }) => tag.as_deref(),
            _ => None,
        }
    }

    /// The file of the weights of its lines, if there is one.
    pub fn line_weights(&self) -> Option<&Path> {
        match self {
            Self::Aligned { weights, .. } | Self::File(CorpusFile { weights, .. }) => weights.as_deref(),
            _ => None,
        }
    }

    /// The corpora that it consists of, with their weights.
    pub fn parts(&self) -> Vec<(&Self, f64)> {
        match self {
            Self::Mixed(parts) => parts.iter().map(|part| (&part.source, part.weight)).collect(),
            one => vec![(one, 1.0)],
        }
    }

    /// The name of the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Aligned { .. } => "aligned",
            Self::File(file) => file.format.key(),
            Self::Builtin { .. } => "builtin",
            Self::InMemory { .. } => "in_memory",
            Self::Mixed(_) => "mixed",
        }
    }

    /// The files or patterns, as configured.
    pub fn files(&self) -> Vec<&Path> {
        match self {
            Self::Aligned { src, tgt, .. } => [&**src, tgt].into_iter().chain(self.line_weights()).collect(),
            Self::File(file) => [&*file.path].into_iter().chain(self.line_weights()).collect(),
            Self::Builtin { .. } | Self::InMemory { .. } => Vec::new(),
            Self::Mixed(parts) => {
                let files = parts.iter().map(|part| part.source.files());
                files.collect::<Vec<_>>().concat()
            }
        }
    }
}

/// The generated corpora.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum BuiltinTask {
    /// English and German sentences of a small grammar. It has tags and classes, too, so that every family
    /// can learn from it.
    Grammar,
    /// Sequences of digits, and the same digits in reverse order.
    Reverse,
}

/// A [`CorpusSource`] as written in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    // First, as a struct can be read from a list, too.
    Several(Vec<CorpusKeys>),
    One(CorpusKeys),
}

/// One corpus, or a list of corpora with weights.
impl JsonSchema for CorpusSource {
    fn schema_name() -> Cow<'static, str> {
        "CorpusSource".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<OneCorpus>();
        let weighted = generator.subschema_for::<CorpusKeys>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": weighted, "minItems": 1 }] })
    }
}

/// Keys that name no corpus, or more than one.
#[derive(Debug)]
pub(super) struct Mistake {
    /// The missing or superfluous key; `None` for the section as a whole.
    name: Option<&'static str>,
    expected: &'static str,
    found: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl Mistake {
    fn missing(name: &'static str, expected: &'static str) -> Self {
        Self { name: Some(name), expected, found: "nothing".into() }
    }

    fn in_section(self, section: &str) -> Error {
        Error::config(
            match self.name {
                Some(name) => format!("{section}.{name}"),
                None => section.to_owned(),
            },
            self.expected,
            self.found,
        )
    }
}

impl TryFrom<Written> for CorpusSource {
    type Error = Mistake;

    fn try_from(written: Written) -> Result<Self, Mistake> {
        let weighted = |keys: CorpusKeys| {
            Ok(WeightedSource { weight: keys.weight.unwrap_or(1.0), source: keys.try_into()? })
        };
        match written {
            Written::One(CorpusKeys { weight: Some(weight), .. }) => Err(Mistake {
                name: Some("weight"),
                expected: "nothing, since `weight` only applies to one of several corpora, as in `train = [{ \
                           … }, { … }]`",
                found: weight.to_string(),
            }),
            Written::One(keys) => keys.try_into(),
            Written::Several(all) if all.is_empty() => {
                Err(Mistake { name: None, expected: ONE_OF, found: "an empty list".into() })
            }
            Written::Several(all) => {
                let parts = all.into_iter().map(weighted);
                parts.collect::<Result<_, _>>().map(Self::Mixed)
            }
        }
    }
}

impl From<CorpusSource> for Written {
    fn from(source: CorpusSource) -> Self {
        match source {
            CorpusSource::Mixed(parts) => {
                let keys = parts.into_iter().map(|part| {
                    let mut keys = CorpusKeys::from(part.source);
                    keys.weight = Some(part.weight);
                    keys
                });
                Self::Several(keys.collect())
            }
            one => Self::One(one.into()),
        }
    }
}

/// Refuses sections of `config` that name no corpus or more than one; keys and types have been checked
/// before.
///
/// # Errors
/// [`Error::Config`] for the first mistake.
pub(super) fn check(config: &Table) -> Result<()> {
    let Some(Value::Table(data)) = config.get("data") else {
        return Ok(());
    };
    for name in ["train", "valid"] {
        let Some(section) = data.get(name) else {
            continue;
        };
        // Errors of serde are ignored here, since they occur again when the whole configuration is read.
        if let Ok(written) = section.clone().try_into::<Written>() {
            CorpusSource::try_from(written).map_err(|mistake| mistake.in_section(&format!("data.{name}")))?;
        }
    }
    Ok(())
}
