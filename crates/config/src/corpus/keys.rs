//! The keys of one corpus, as written in the file.

use std::borrow::Cow;
use std::path::PathBuf;

use attentive_base::error::Result;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::{BuiltinTask, CorpusSource, Mistake, ONE_OF};

/// One corpus.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = exactly_one)]
pub(crate) struct CorpusKeys {
    /// The file of source sentences, one per line. Its lines are aligned with those of `tgt`. Taggers read
    /// tokens separated by blanks from it, classifiers texts. It may be a pattern such as `part-*.en`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.en"]))]
    src: Option<PathBuf>,
    /// The file of translations, aligned line by line with `src`. For taggers it has tags separated by
    /// blanks, for classifiers labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.de"]))]
    tgt: Option<PathBuf>,
    /// A file of lines `source<TAB>target`. For classifiers the lines are `label<TAB>text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.tsv"]))]
    tsv: Option<PathBuf>,
    /// A file of JSON objects, one per line. They have the strings `src` and `tgt`; for taggers the lists
    /// `tokens` and `tags`, or `vectors` and `tags`; for classifiers the strings `text` and `label`.
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
    /// The number of lines of a corpus in the RAM of the program that trains, such as lists of Python. The
    /// program sets it; a corpus in a file has another key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("examples" = [29_000]))]
    in_memory: Option<usize>,
    /// How many times an epoch contains each line of this corpus, on average. Only the corpora of a list have
    /// weights; the default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1000), extend("examples" = [2.5]))]
    pub(super) weight: Option<f64>,
}

/// More generated pairs than fit into the RAM of any machine.
const MAX_PAIRS: usize = 100_000_000;

/// The keys that name a corpus; exactly one group of them does.
const WAYS: [&[&str]; 6] = [&["src", "tgt"], &["tsv"], &["jsonl"], &["text"], &["builtin"], &["in_memory"]];

/// The schema of a corpus that is no part of a list.
pub(crate) struct OneCorpus;

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
    let together = [["src", "tgt"], ["tgt", "src"], ["builtin", "pairs"], ["pairs", "builtin"]];
    let together: Map<_, _> = together.map(|[key, other]| (key.into(), json!([other]))).into_iter().collect();
    schema.insert("dependentRequired".into(), together.into());
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
            self.in_memory.is_some(),
        ];
        let ways = WAYS.iter().zip(given).filter(|(_, given)| *given);
        ways.map(|(keys, _)| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" + "))
            .collect()
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
                found: if given.is_empty() { "none".into() } else { given.join(" and ") },
            });
        }
        if let (None, Some(pairs)) = (keys.builtin, keys.pairs) {
            return Err(Mistake {
                name: Some("pairs"),
                expected: "nothing, since `pairs` only applies to `builtin`",
                found: pairs.to_string(),
            });
        }
        let single = [
            keys.tsv.map(Self::Tsv),
            keys.jsonl.map(Self::Jsonl),
            keys.text.map(Self::Text),
            keys.in_memory.map(|lines| Self::InMemory { lines }),
        ];
        if let Some(single) = single.into_iter().flatten().next() {
            return Ok(single);
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
            CorpusSource::Aligned { src, tgt } => Self { src: Some(src), tgt: Some(tgt), ..none },
            CorpusSource::Tsv(tsv) => Self { tsv: Some(tsv), ..none },
            CorpusSource::Jsonl(jsonl) => Self { jsonl: Some(jsonl), ..none },
            CorpusSource::Text(text) => Self { text: Some(text), ..none },
            CorpusSource::Builtin { task, pairs } => Self { builtin: Some(task), pairs: Some(pairs), ..none },
            CorpusSource::InMemory { lines } => Self { in_memory: Some(lines), ..none },
            // Corpora are not nested.
            CorpusSource::Mixed(_) => none,
        }
    }
}
