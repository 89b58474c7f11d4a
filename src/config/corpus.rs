//! `[data.train]` and `[data.valid]`: the source of a corpus.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use toml::{Table, Value};

use crate::error::{Error, Result};

/// The ways to name a corpus, for messages.
pub(super) const ONE_OF: &str =
    "exactly one of `src` + `tgt`, `tsv`, `jsonl`, `text` and `builtin`";

/// The source of a corpus. Files may be compressed with gzip or zstd, whatever their names.
///
/// Families that translate learn from pairs of sentences, taggers from tokens and their tags, classifiers from texts and
/// their labels, and language models from `text`. The built-in grammar works for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum CorpusSource {
    /// Two files aligned line by line: sentences and translations, tokens and tags separated by blanks, or texts and labels.
    Aligned {
        /// Source sentences, tokens or texts.
        src: PathBuf,
        /// Translations, tags or labels.
        tgt: PathBuf,
    },
    /// One file of lines `source TAB target`, or `label TAB text` for classifiers.
    Tsv(PathBuf),
    /// One file of JSON objects, one per line: with strings `src` and `tgt`; for taggers with lists `tokens` and `tags`, or
    /// `vectors` and `tags`; for classifiers with strings `text` and `label`.
    Jsonl(PathBuf),
    /// A text for language models.
    Text(PathBuf),
    /// A generated corpus.
    Builtin {
        /// Which one.
        task: BuiltinTask,
        /// Number of pairs to generate.
        pairs: usize,
    },
    /// Several corpora, one after another, each with a weight. Only for training.
    Mixed(Vec<WeightedSource>),
}

/// A corpus among others.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedSource {
    /// The corpus, which is not [`CorpusSource::Mixed`].
    pub source: CorpusSource,
    /// How many times an epoch contains each of its lines, on average over the epochs.
    pub weight: f64,
}

impl CorpusSource {
    /// The corpora that it consists of, with their weights.
    pub fn parts(&self) -> Vec<(&Self, f64)> {
        match self {
            Self::Mixed(parts) => parts
                .iter()
                .map(|part| (&part.source, part.weight))
                .collect(),
            one => vec![(one, 1.0)],
        }
    }

    /// The name of the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Aligned { .. } => "aligned",
            Self::Tsv(_) => "tsv",
            Self::Jsonl(_) => "jsonl",
            Self::Text(_) => "text",
            Self::Builtin { .. } => "builtin",
            Self::Mixed(_) => "mixed",
        }
    }

    /// The files or patterns, as configured.
    pub fn files(&self) -> Vec<&Path> {
        match self {
            Self::Aligned { src, tgt } => vec![src, tgt],
            Self::Tsv(file) | Self::Jsonl(file) | Self::Text(file) => vec![file],
            Self::Builtin { .. } => Vec::new(),
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
    /// English and German sentences of a small grammar. It has tags and classes, too, so that every family can learn from it.
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

/// One corpus.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = exactly_one)]
pub(super) struct CorpusKeys {
    /// The file of source sentences, one per line. Its lines are aligned with those of `tgt`. Taggers read tokens separated by
    /// blanks from it, classifiers texts. It may be a pattern such as `part-*.en`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.en"]))]
    src: Option<PathBuf>,
    /// The file of translations, aligned line by line with `src`. For taggers it has tags separated by blanks, for classifiers
    /// labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.de"]))]
    tgt: Option<PathBuf>,
    /// A file of lines `source<TAB>target`. For classifiers the lines are `label<TAB>text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.tsv"]))]
    tsv: Option<PathBuf>,
    /// A file of JSON objects, one per line. They have the strings `src` and `tgt`; for taggers the lists `tokens` and `tags`, or
    /// `vectors` and `tags`; for classifiers the strings `text` and `label`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.jsonl"]))]
    jsonl: Option<PathBuf>,
    /// A plain text file, from which language models learn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["corpus.txt"]))]
    text: Option<PathBuf>,
    /// A generated corpus, for trying things out. It needs `pairs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["grammar"]))]
    builtin: Option<BuiltinTask>,
    /// The number of pairs of a generated corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_PAIRS), extend("examples" = [20_000]))]
    pairs: Option<usize>,
    /// How many times an epoch contains each line of this corpus, on average. Only the corpora of a list have weights; the default
    /// is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1000), extend("examples" = [2.5]))]
    weight: Option<f64>,
}

/// More generated pairs than fit into the RAM of any machine.
const MAX_PAIRS: usize = 100_000_000;

/// The keys that name a corpus; exactly one group of them does.
const WAYS: [&[&str]; 5] = [
    &["src", "tgt"],
    &["tsv"],
    &["jsonl"],
    &["text"],
    &["builtin"],
];

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

/// The schema of a corpus that is no part of a list.
pub(super) struct OneCorpus;

impl JsonSchema for OneCorpus {
    fn schema_name() -> Cow<'static, str> {
        "OneCorpus".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = CorpusKeys::json_schema(generator);
        schema.insert("not".into(), json!({ "required": ["weight"] }));
        schema
    }
}

/// Requires the keys of exactly one corpus.
fn exactly_one(schema: &mut Schema) {
    let ways = WAYS.map(|keys| json!({ "required": keys }));
    schema.insert("oneOf".into(), json!(ways));
    let together = [
        ["src", "tgt"],
        ["tgt", "src"],
        ["builtin", "pairs"],
        ["pairs", "builtin"],
    ];
    let together: Map<_, _> = together
        .map(|[key, other]| (key.into(), json!([other])))
        .into_iter()
        .collect();
    schema.insert("dependentRequired".into(), together.into());
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
        Self {
            name: Some(name),
            expected,
            found: "nothing".into(),
        }
    }

    fn in_section(self, section: &str) -> Error {
        Error::Config {
            key: match self.name {
                Some(name) => format!("{section}.{name}"),
                None => section.to_owned(),
            },
            expected: self.expected.into(),
            found: self.found,
            hint: None,
        }
    }
}

impl CorpusKeys {
    /// The ways in which a corpus is named here, for messages.
    fn given(&self) -> Vec<String> {
        let given = [
            self.src.is_some() || self.tgt.is_some(),
            self.tsv.is_some(),
            self.jsonl.is_some(),
            self.text.is_some(),
            self.builtin.is_some(),
        ];
        let ways = WAYS.iter().zip(given).filter(|(_, given)| *given);
        ways.map(|(keys, _)| {
            keys.iter()
                .map(|key| format!("`{key}`"))
                .collect::<Vec<_>>()
                .join(" + ")
        })
        .collect()
    }
}

impl TryFrom<Written> for CorpusSource {
    type Error = Mistake;

    fn try_from(written: Written) -> Result<Self, Mistake> {
        let weighted = |keys: CorpusKeys| {
            Ok(WeightedSource {
                weight: keys.weight.unwrap_or(1.0),
                source: keys.try_into()?,
            })
        };
        match written {
            Written::One(CorpusKeys {
                weight: Some(weight),
                ..
            }) => Err(Mistake {
                name: Some("weight"),
                expected: "nothing, since `weight` only applies to one of several corpora, as in `train = [{ … }, { … }]`",
                found: weight.to_string(),
            }),
            Written::One(keys) => keys.try_into(),
            Written::Several(all) if all.is_empty() => Err(Mistake {
                name: None,
                expected: ONE_OF,
                found: "an empty list".into(),
            }),
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
                let keys = parts.into_iter().map(|part| CorpusKeys {
                    weight: Some(part.weight),
                    ..part.source.into()
                });
                Self::Several(keys.collect())
            }
            one => Self::One(one.into()),
        }
    }
}

impl TryFrom<CorpusKeys> for CorpusSource {
    type Error = Mistake;

    fn try_from(keys: CorpusKeys) -> Result<Self, Mistake> {
        let given = keys.given();
        if given.len() != 1 {
            return Err(Mistake {
                name: None,
                expected: ONE_OF,
                found: match given.is_empty() {
                    true => "none".into(),
                    false => given.join(" and "),
                },
            });
        }
        if let (None, Some(pairs)) = (keys.builtin, keys.pairs) {
            return Err(Mistake {
                name: Some("pairs"),
                expected: "nothing, since `pairs` only applies to `builtin`",
                found: pairs.to_string(),
            });
        }
        let files = [
            keys.tsv.map(Self::Tsv),
            keys.jsonl.map(Self::Jsonl),
            keys.text.map(Self::Text),
        ];
        if let Some(file) = files.into_iter().flatten().next() {
            return Ok(file);
        }
        match (keys.builtin, keys.src, keys.tgt) {
            (Some(task), ..) => match keys.pairs {
                Some(pairs) => Ok(Self::Builtin { task, pairs }),
                None => Err(Mistake::missing("pairs", "the number of pairs to generate")),
            },
            (None, Some(src), Some(tgt)) => Ok(Self::Aligned { src, tgt }),
            (None, Some(_), None) => Err(Mistake::missing("tgt", "a file aligned with `src`")),
            (None, None, _) => Err(Mistake::missing("src", "a file aligned with `tgt`")),
        }
    }
}

impl From<CorpusSource> for CorpusKeys {
    fn from(source: CorpusSource) -> Self {
        let none = Self::default();
        match source {
            CorpusSource::Aligned { src, tgt } => Self {
                src: Some(src),
                tgt: Some(tgt),
                ..none
            },
            CorpusSource::Tsv(tsv) => Self {
                tsv: Some(tsv),
                ..none
            },
            CorpusSource::Jsonl(jsonl) => Self {
                jsonl: Some(jsonl),
                ..none
            },
            CorpusSource::Text(text) => Self {
                text: Some(text),
                ..none
            },
            CorpusSource::Builtin { task, pairs } => Self {
                builtin: Some(task),
                pairs: Some(pairs),
                ..none
            },
            // Corpora are not nested.
            CorpusSource::Mixed(_) => none,
        }
    }
}

/// Refuses sections of `config` that name no corpus or more than one; keys and types have been checked before.
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
            CorpusSource::try_from(written)
                .map_err(|mistake| mistake.in_section(&format!("data.{name}")))?;
        }
    }
    Ok(())
}
