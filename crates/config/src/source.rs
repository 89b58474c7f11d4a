//! `model.from`: what a configuration takes over from that of the model from which training starts.

use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use serde::Deserialize;
use toml::Table;

use super::{
    Config, DataConfig, Family, FamilyConfig, KeyDifference, LabelLayer, Pooling, TokenizerConfig,
    TokenizerKind, Vocabulary, dependent, table,
};

/// The configuration in a model directory.
const FILE: &str = "config.toml";

/// The folder of a run's checkpoints, which share the run's configuration.
const CHECKPOINTS: &str = "checkpoints";

/// Sections that come from the source, except for the keys that are set.
const INHERITED: [&str; 3] = ["model.", "tokenizer.", "decode."];

/// Keys of `[model]` that may differ from those of the source: how the model is trained, and which tokens
/// surround its sequences.
const OWN: [&str; 13] = [
    "model.from",
    "model.freeze",
    "model.dropout",
    "model.attention_dropout",
    "model.activation_dropout",
    "model.source_first",
    "model.decoder_start_token",
    "model.zero_start_embedding",
    "model.alignment_layer",
    "model.alignment_head",
    "model.forced_bos_token",
    "model.forced_eos_token",
    "model.suppress_tokens",
];

/// Further keys that may differ if the model gets a new head.
const OF_NEW_HEAD: [&str; 3] = ["model.init", "model.pooling", "model.label_layer"];

impl Config {
    /// The configuration of the model in the directory `from`, the value of `model.from`.
    ///
    /// # Errors
    /// [`Error::Config`] if it is not a model directory, and those of [`Config::load_stored`].
    pub fn load_source(from: &Path) -> Result<Self> {
        let path = Self::home(from).join(FILE);
        if !path.is_file() {
            return Err(Error::Config {
                key: "model.from".into(),
                expected: "a model directory".into(),
                found: if from.exists() {
                    format!("`{}`, which has no `{FILE}`", from.display())
                } else {
                    format!("`{}`, which does not exist", from.display())
                },
                hint: Some(
                    "give a directory that `attentive train` or `attentive import` wrote; a relative path \
                     starts at the working directory"
                        .into(),
                ),
            });
        }
        Self::load_stored(&path)
    }

    /// The directory that holds the configuration, the tokenizers and the log of the model in the directory
    /// `dir`: for a checkpoint `RUN/checkpoints/step-N` it is `RUN`, otherwise `dir` itself.
    pub fn home(dir: &Path) -> PathBuf {
        let of_run = |dir: &Path| -> Option<PathBuf> {
            let folder = dir.parent()?;
            let run = match folder.parent()? {
                run if run.as_os_str().is_empty() => Path::new("."),
                run => run,
            };
            (folder.file_name()? == CHECKPOINTS && Self::is_in(run)).then(|| run.to_path_buf())
        };
        if Self::is_in(dir) {
            return dir.to_path_buf();
        }
        // The path may be relative to the checkpoint, or go through a link.
        let run = of_run(dir).or_else(|| of_run(&fs::canonicalize(dir).ok()?));
        run.unwrap_or_else(|| dir.to_path_buf())
    }

    /// Whether a model's configuration is in the directory `dir`.
    pub(super) fn is_in(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Refuses this configuration if its network or tokenizer is not that of `source`, the configuration of
    /// the model in `model.from`.
    ///
    /// # Errors
    /// [`Error::Config`] for the first key that differs.
    pub fn check_source(&self, source: &Self) -> Result<()> {
        let new_head = self.has_new_head(source);
        let is_bound = |key: &str| {
            let is_own = OWN.contains(&key) || new_head && OF_NEW_HEAD.contains(&key);
            (key.starts_with("model.") || key.starts_with("tokenizer.")) && !is_own
        };
        let Some(KeyDifference { key, ours, theirs }) =
            heir(source, self.model.family.family()).with_from(self).difference_among(self, is_bound)
        else {
            return Ok(());
        };
        let from = self.model.from.as_deref().unwrap_or(Path::new(""));
        Err(Error::Config {
            key,
            expected: format!("{ours}, as in the model `{}`, from which training starts", from.display()),
            found: theirs,
            hint: Some(
                "leave it out: the network and the tokenizer are those of that model; only dropout and \
                 special tokens may differ"
                    .into(),
            ),
        })
    }

    /// Whether this configuration is that of a model with another head than the model of `source`.
    pub fn has_new_head(&self, source: &Self) -> bool {
        is_new_head(source.model.family.family(), self.model.family.family())
    }

    /// As a model that starts from the same one as `other`.
    fn with_from(mut self, other: &Self) -> Self {
        self.model.from.clone_from(&other.model.from);
        self.without_unused()
    }

    /// With the default value of every key that has no effect.
    fn without_unused(self) -> Self {
        let Ok(mut table) = Table::try_from(&self) else {
            return self;
        };
        for key in self.unused_keys() {
            table::remove(&mut table, key);
        }
        table.try_into().unwrap_or(self)
    }
}

/// Whether a model of the family `new` gets a head of its own on top of the encoder of a model of the family
/// `source`.
fn is_new_head(source: Family, new: Family) -> bool {
    matches!(source, Family::EncoderOnly | Family::Encoder)
        && matches!(new, Family::Classifier | Family::Tagger)
}

/// The configuration of a model of `family` that starts from that of `source`.
fn heir(source: &Config, family: Family) -> Config {
    let mut heir = source.clone();
    heir.model.freeze.clear();
    let encoder = source.model.family.encoder().cloned();
    let is_new_head = is_new_head(source.model.family.family(), family);
    if let Some(encoder) = encoder.filter(|_| is_new_head) {
        if heir.tokenizer.from.take().is_some() {
            // The tokenizer is stored with the model that was trained with it.
            heir.tokenizer =
                TokenizerConfig { special: heir.tokenizer.special, ..TokenizerConfig::foreign() };
        }
        heir.tokenizer.vocabulary = Vocabulary::Separate;
        heir.model.family = match family {
            Family::Tagger => FamilyConfig::Tagger {
                encoder,
                word_pieces: heir.tokenizer.kind != TokenizerKind::Word,
                d_input: None,
            },
            _ => FamilyConfig::Classifier {
                encoder,
                pooling: match source.model.family {
                    FamilyConfig::Encoder { pooling, .. } => pooling,
                    _ => Pooling::default(),
                },
                label_layer: LabelLayer::default(),
            },
        };
    }
    heir
}

/// Adds to `config` what it takes over from `source`. [`Config::check_source`] finds what contradicts it.
pub(super) fn fill_in(config: &mut Table, source: &Config) {
    let family = table::get(config, "model.family").cloned();
    let family = family.and_then(|family| Family::deserialize(family).ok());
    let mut heir = heir(source, family.unwrap_or(source.model.family.family()));
    let from = table::get(config, "model.from").cloned();
    heir.model.from = from.and_then(|from| from.try_into().ok());
    let heir = heir.without_unused();
    let inherited = Table::try_from(&heir).unwrap_or_default();
    let has_other_formula = dependent::has_other_formula(config, &source.decode);
    for (key, value) in table::leaves(&inherited) {
        let is_kept = INHERITED.iter().any(|section| key.starts_with(section));
        if is_kept && !(has_other_formula && key == "decode.length_penalty") {
            table::add(config, &key, value.clone());
        }
    }
    let max_len = heir.model.max_len.min(DataConfig::default().max_len);
    table::add(config, "data.max_len", max_len as i64);
}
