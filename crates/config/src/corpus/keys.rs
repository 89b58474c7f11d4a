//! The keys of one corpus, as written in the file.

use std::borrow::Cow;
use std::path::PathBuf;

use attentive_base::error::Result;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::{BuiltinTask, Column, CorpusFile, CorpusFormat, CorpusSource, LanguagePair, Mistake, ONE_OF};

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
    /// The beginning of the names of two aligned files, which end in the codes of `languages`: `train` for
    /// `train.en` and `train.de`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["europarl/train"], "x-task" = "translate"))]
    moses: Option<PathBuf>,
    /// A file of lines `source<TAB>target`. For classifiers the lines are `label<TAB>text`. `columns` names
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.tsv"]))]
    tsv: Option<PathBuf>,
    /// A file of comma-separated values (RFC 4180): `source,target`, or `label,text` for classifiers.
    /// `columns` names others. Line breaks within quotation marks are read as blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.csv"]))]
    csv: Option<PathBuf>,
    /// A file of JSON objects, one per line. They have the strings `src` and `tgt`; for taggers the lists
    /// `tokens` and `tags`, or `vectors` and `tags`; for classifiers the strings `text` and `label`.
    /// `columns` names other fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.jsonl"]))]
    jsonl: Option<PathBuf>,
    /// A translation memory (TMX 1.4), of which the segments in `languages` are read. Inline tags are left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["memory.tmx"], "x-task" = "translate"))]
    tmx: Option<PathBuf>,
    /// A file of translated units (XLIFF 1.2 or 2). Units without a translation are dropped, and inline tags
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["messages.xlf"], "x-task" = "translate"))]
    xliff: Option<PathBuf>,
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
    /// The columns of source and target (for classifiers of text and label) in `tsv`, `csv` or `jsonl`:
    /// numbers from 1, or names. Names are those on the first line of a table, or of fields of JSON objects,
    /// with dots for fields within fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(equal = 2),
        extend("examples" = [[3, 4], ["translation.en", "translation.de"]])
    )]
    columns: Option<Vec<Column>>,
    /// The codes of the languages of source and target, which `moses` and `tmx` need.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(equal = 2), extend("examples" = [["en", "de"]], "x-task" = "translate"))]
    languages: Option<Vec<String>>,
    /// A symbol before every source of this corpus, one of `tokenizer.symbols`: the language of its targets
    /// in a model of several, or where its pairs come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [">>de<<"], "x-task" = "translate"))]
    tag: Option<String>,
    /// A file with a number for each line of this corpus, without that of a header: the factor of the loss of
    /// the line in training, 1 for an ordinary line. Losses are divided by the number of tokens, whatever
    /// their weights. `tmx` and `xliff` have no lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = ["train.weights"]))]
    weights: Option<PathBuf>,
    /// How many times an epoch contains each line of this corpus, on average. Only the corpora of a list have
    /// weights; the default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1000), extend("examples" = [2.5]))]
    pub(super) weight: Option<f64>,
}

/// More generated pairs than fit into the RAM of any machine.
const MAX_PAIRS: usize = 100_000_000;

/// The keys that name a corpus; exactly one group of them does.
const WAYS: [&[&str]; 10] = [
    &["src", "tgt"],
    &["moses"],
    &["tsv"],
    &["csv"],
    &["jsonl"],
    &["tmx"],
    &["xliff"],
    &["text"],
    &["builtin"],
    &["in_memory"],
];

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
    let together = [
        ["src", "tgt"],
        ["tgt", "src"],
        ["builtin", "pairs"],
        ["pairs", "builtin"],
        ["moses", "languages"],
        ["tmx", "languages"],
    ];
    let together: Map<_, _> = together.map(|[key, other]| (key.into(), json!([other]))).into_iter().collect();
    schema.insert("dependentRequired".into(), together.into());
}

impl CorpusKeys {
    /// The ways in which a corpus is named here, for messages.
    fn given(&self) -> Vec<String> {
        let given = [
            self.src.is_some() || self.tgt.is_some(),
            self.moses.is_some(),
            self.tsv.is_some(),
            self.csv.is_some(),
            self.jsonl.is_some(),
            self.tmx.is_some(),
            self.xliff.is_some(),
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
        let languages = keys.languages.as_deref().map(pair_of_languages).transpose()?;
        let columns = keys.columns.as_deref().map(pair_of_columns).transpose()?;
        let is_plain = keys.text.is_some() || keys.builtin.is_some() || keys.in_memory.is_some();
        if let Some(tag) = keys.tag.as_ref().filter(|_| is_plain) {
            return Err(Mistake {
                name: Some("tag"),
                expected: "nothing, since only files of pairs have a tag",
                found: format!("{tag:?}"),
            });
        }
        if languages.is_some() && keys.moses.is_none() && keys.tmx.is_none() {
            return Err(Mistake {
                name: Some("languages"),
                expected: "nothing, since only `moses` and `tmx` have languages to choose from",
                found: format!("{:?}", keys.languages.unwrap_or_default()),
            });
        }
        if keys.jsonl.is_some() && columns.iter().flatten().any(|one| matches!(one, Column::Number(_))) {
            return Err(Mistake {
                name: Some("columns"),
                expected: "names of fields, such as `[\"en\", \"de\"]`",
                found: "a number".into(),
            });
        }
        let has_no_lines =
            keys.tmx.is_some() || keys.xliff.is_some() || keys.builtin.is_some() || keys.in_memory.is_some();
        if let Some(weights) = keys.weights.as_ref().filter(|_| has_no_lines) {
            return Err(Mistake {
                name: Some("weights"),
                expected: "nothing, since only files of lines have weights",
                found: format!("{weights:?}"),
            });
        }
        let (tag, weights) = (keys.tag, keys.weights);
        let is_table = keys.tsv.is_some() || keys.csv.is_some() || keys.jsonl.is_some();
        if columns.is_some() && !is_table {
            return Err(Mistake {
                name: Some("columns"),
                expected: "nothing, since only `tsv`, `csv` and `jsonl` have columns",
                found: "columns".into(),
            });
        }
        if languages.is_none() && (keys.moses.is_some() || keys.tmx.is_some()) {
            return Err(Mistake::missing(
                "languages",
                "the languages of source and target, such as `[\"en\", \"de\"]`",
            ));
        }
        let files = [
            (CorpusFormat::Tsv, keys.tsv),
            (CorpusFormat::Csv, keys.csv),
            (CorpusFormat::Jsonl, keys.jsonl),
            (CorpusFormat::Tmx, keys.tmx),
            (CorpusFormat::Xliff, keys.xliff),
            (CorpusFormat::Text, keys.text),
        ];
        for (format, path) in files {
            if let Some(path) = path {
                return Ok(Self::File(CorpusFile { path, format, columns, languages, tag, weights }));
            }
        }
        if let Some(lines) = keys.in_memory {
            return Ok(Self::InMemory { lines });
        }
        if let (Some(prefix), Some(pair)) = (keys.moses, &languages) {
            let [src, tgt] = [&pair.source, &pair.target].map(|code| {
                let mut name = prefix.clone().into_os_string();
                name.push(format!(".{code}"));
                PathBuf::from(name)
            });
            return Ok(Self::Aligned { src, tgt, tag, weights });
        }
        match (keys.builtin, keys.src, keys.tgt) {
            (Some(task), ..) => match keys.pairs {
                Some(pairs) => Ok(Self::Builtin { task, pairs }),
                None => Err(Mistake::missing("pairs", "the number of pairs to generate")),
            },
            (None, Some(src), Some(tgt)) => Ok(Self::Aligned { src, tgt, tag, weights }),
            (None, Some(_), None) => Err(Mistake::missing("tgt", "a file aligned with `src`")),
            (None, None, _) => Err(Mistake::missing("src", "a file aligned with `tgt`")),
        }
    }
}

fn pair_of_languages(languages: &[String]) -> Result<LanguagePair, Mistake> {
    match languages {
        [source, target] if source == target => Err(Mistake {
            name: Some("languages"),
            expected: "two languages",
            found: format!("`{source}` twice"),
        }),
        [source, target] if ![source, target].iter().any(|code| code.trim().is_empty()) => {
            Ok(LanguagePair { source: source.clone(), target: target.clone() })
        }
        _ => Err(Mistake {
            name: Some("languages"),
            expected: "two codes, of source and target, such as `[\"en\", \"de\"]`",
            found: format!("{languages:?}"),
        }),
    }
}

fn pair_of_columns(columns: &[Column]) -> Result<[Column; 2], Mistake> {
    if let [one, other] = columns
        && one == other
    {
        return Err(Mistake {
            name: Some("columns"),
            expected: "two different columns",
            found: format!("{one} twice"),
        });
    }
    columns.to_vec().try_into().map_err(|columns: Vec<Column>| Mistake {
        name: Some("columns"),
        expected: "two columns, of source and target, such as `[3, 4]`",
        found: attentive_base::count::count(columns.len(), "column"),
    })
}

impl From<CorpusSource> for CorpusKeys {
    fn from(source: CorpusSource) -> Self {
        let none = Self::default();
        match source {
            CorpusSource::Aligned { src, tgt, tag, weights } => {
                Self { src: Some(src), tgt: Some(tgt), tag, weights, ..none }
            }
            CorpusSource::File(CorpusFile { path, format, columns, languages, tag, weights }) => {
                let languages = languages.map(|pair| vec![pair.source, pair.target]);
                let mut keys = Self { columns: columns.map(Vec::from), languages, tag, weights, ..none };
                let place = match format {
                    CorpusFormat::Tsv => &mut keys.tsv,
                    CorpusFormat::Csv => &mut keys.csv,
                    CorpusFormat::Jsonl => &mut keys.jsonl,
                    CorpusFormat::Tmx => &mut keys.tmx,
                    CorpusFormat::Xliff => &mut keys.xliff,
                    CorpusFormat::Text => &mut keys.text,
                };
                *place = Some(path);
                keys
            }
            CorpusSource::Builtin { task, pairs } => Self { builtin: Some(task), pairs: Some(pairs), ..none },
            CorpusSource::InMemory { lines } => Self { in_memory: Some(lines), ..none },
            // Corpora are not nested.
            CorpusSource::Mixed(_) => none,
        }
    }
}
