//! The manifest of a corpus on disk.

use attentive_base::hexadecimal;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use attentive_base::error::{Error, Result};
use attentive_config::{
    CleaningRule, Config, CorpusFile, CorpusSource, FORMAT, SpecialNames, TokenizerConfig,
};
use attentive_text::Tokenizers;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::layout::ExampleLayout;
use super::store_writer::MAX_SHARDS;
use crate::encoding::examples::SHARD;
use crate::encoding::line_encoder::EncodeStats;
use crate::reading::patterns;
use crate::reading::source_file::SourceFile;

/// Identifies the data and settings from which a corpus on disk was made. Another key means another corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreKey {
    /// The number of the format.
    format: u32,
    /// The format of each part, and the number of its files or pairs of files.
    parts: Vec<(String, usize)>,
    /// The files at the time when they were read.
    sources: Vec<Identity>,
    /// The task of the examples, which determines their special tokens.
    task: String,
    /// The token that begins every encoder input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_first: Option<String>,
    /// The token that begins every translation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forced_first: Option<String>,
    /// The settings by which tokenizers are learned.
    tokenizer: TokenizerConfig,
    /// SHA-256 of the tokenizers, unless they were learned from the corpus.
    given: Option<String>,
    /// The maximum length of an example, in tokens; longer ones are dropped, or cropped.
    max_len: usize,
    #[serde(default, skip_serializing_if = "is_false")]
    crop: bool,
    /// Pairs are dropped if one side has more than this many times as many tokens as the other.
    max_ratio: f64,
    drop_repeated: bool,
    drop_copies: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    filters: Vec<CleaningRule>,
}

/// A file that was read, identified by its metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    path: String,
    bytes: u64,
    /// Time of modification, in nanoseconds since 1970.
    modified: u128,
}

// The signature is the one that serde requires.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl StoreKey {
    /// The names of the special tokens.
    pub(super) fn special(&self) -> &SpecialNames {
        &self.tokenizer.special
    }

    /// Returns the key of the training corpus of `config`.
    ///
    /// # Errors
    /// [`Error::Io`] if a file of the corpus cannot be accessed, and [`Error::Config`] without a corpus.
    pub fn of(config: &Config) -> Result<Self> {
        let (mut parts, mut sources) = (Vec::new(), Vec::new());
        let family = &config.model.family;
        for (source, _) in config.data.training()?.parts() {
            let expanded = patterns::expand(source, config.data.dir.as_deref())?;
            parts.push((kind(source), expanded.len()));
            for file in expanded.iter().flat_map(CorpusSource::files) {
                sources.push(Identity::of(file)?);
            }
        }
        Ok(Self {
            format: FORMAT,
            parts,
            sources,
            task: format!("{:?}", family.task()),
            source_first: family.encoder().and_then(|keys| keys.source_first.clone()),
            forced_first: (family.translator()).and_then(|keys| keys.forced_bos_token.clone()),
            tokenizer: config.tokenizer.clone(),
            given: None,
            max_len: config.data.max_len.min(config.model.max_len),
            crop: config.data.crop,
            max_ratio: config.data.max_ratio,
            drop_repeated: config.data.drop_repeated,
            drop_copies: config.data.drop_copies,
            filters: config.data.filters.clone(),
        })
    }

    /// Returns the key of the same corpus, encoded with these tokenizers instead of tokenizers learned from
    /// it.
    pub fn encoded_with(self, tokenizers: &Tokenizers) -> Self {
        let mut hash = Sha256::new();
        for (name, content) in tokenizers.files() {
            hash.update(name);
            hash.update(content);
        }
        Self { given: Some(hexadecimal(hash.finalize())), ..self }
    }

    /// Returns the maximum number of tokens on a side of an example.
    pub fn max_len(&self) -> usize {
        self.max_len
    }

    /// Returns the size of the corpus's files as they are stored, in bytes.
    pub fn source_bytes(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes).sum()
    }

    /// The name of the folder of a corpus with this key.
    pub(super) fn folder(&self) -> String {
        let text = serde_json::to_vec(self).expect("a key has only text and numbers");
        let hash = Sha256::digest(&text);
        let hash = hexadecimal(&hash[..8]);
        let first = self.sources.first().and_then(|source| Path::new(&source.path).file_stem());
        let stem = first.map_or_else(|| "corpus".into(), |stem| stem.to_string_lossy());
        let stem: String = stem.chars().take(40).map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        format!("{stem}-{hash}")
    }
}

/// The format of a corpus, and what of its files is read.
fn kind(source: &CorpusSource) -> String {
    let columns = match source {
        CorpusSource::File(CorpusFile { columns, languages, .. }) => {
            let columns = columns.iter().flatten().map(|column| format!(" {column}"));
            let languages = languages.iter().map(|pair| format!(" {} to {}", pair.source, pair.target));
            columns.chain(languages).collect()
        }
        _ => String::new(),
    };
    let tag = source.tag().map_or_else(String::new, |tag| format!(" after {tag}"));
    let weights = source.line_weights().map_or("", |_| " with weights");
    source.format().to_owned() + &columns + &tag + weights
}

impl Identity {
    fn of(path: &Path) -> Result<Self> {
        let unreadable = || Error::io("read", path);
        let path = path.canonicalize().map_err(unreadable())?;
        let metadata = fs::metadata(&path).map_err(unreadable())?;
        let modified = metadata.modified().map_err(unreadable())?;
        Ok(Self {
            bytes: metadata.len(),
            modified: modified.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos()),
            path: path.to_string_lossy().into_owned(),
        })
    }
}

/// The manifest of a corpus on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) key: StoreKey,
    pub(super) layout: ExampleLayout,
    pub(super) encoded: EncodeStats,
    pub(super) files: Vec<SourceFile>,
    /// The number of examples up to the end of each part.
    pub(super) ends: Vec<usize>,
    /// The smallest `batch_tokens` into which each example fits.
    pub(super) least_batch_tokens: usize,
    pub(super) shards: Vec<ShardFacts>,
    /// The number of lines of the corpus, dropped ones included; 0 if it is not known.
    #[serde(default)]
    pub(super) lines: usize,
}

/// The facts about a shard.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ShardFacts {
    pub(super) examples: usize,
    pub(super) bytes: u64,
    pub(super) crc32: u32,
}

impl Manifest {
    /// Describes another format or a contradiction, if there is one.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.key.format != FORMAT {
            return Err(format!("it has format {}, and this program reads format {FORMAT}", self.key.format));
        }
        let (n, shards) = (self.encoded.kept, &self.shards);
        let is_full = |shard: &ShardFacts| shard.examples == SHARD;
        let (last, others) = match shards.split_last() {
            Some((last, others)) => (last.examples, others),
            None => (0, &[][..]),
        };
        let fits = shards.len() <= MAX_SHARDS
            && others.iter().all(is_full)
            && last <= SHARD
            && others.len() * SHARD + last == n
            && self.ends.is_sorted()
            && self.ends.last() == Some(&n);
        if fits { Ok(()) } else { Err(format!("{n} examples in {} shards", shards.len())) }
    }
}
