//! Short configurations to start from.

use std::path::Path;

use attentive_base::error::Result;
use serde_json::{Value, json};

use super::preset::Preset;
use super::schema::{self, description};
use super::show::{split, toml, value, wrapped};
use super::{Config, CorpusSource, Family, Task};

/// The keys that are changed first, in the order in which they are written. Keys without effect are left out.
const KEYS: [&str; 26] = [
    "data.hold_out",
    "data.units",
    "tokenizer.vocab_size",
    "model.family",
    "model.d_model",
    "model.d_ff",
    "model.n_heads",
    "model.n_encoder_layers",
    "model.n_decoder_layers",
    "model.norm_position",
    "model.dropout",
    "model.pooling",
    "model.recurrent.cell",
    "model.recurrent.d_hidden",
    "train.max_steps",
    "train.batch_tokens",
    "train.micro_batches_per_update",
    "train.precision",
    "train.clip_norm",
    "train.validate_every",
    "train.validate_sentences",
    "train.patience",
    "train.best_by",
    "train.optimizer.learning_rate",
    "train.schedule.warmup_steps",
    "decode.beam_width",
];

/// Keys that only models that translate have.
const OF_TRANSLATION: [&str; 3] = ["train.best_by", "train.validate_sentences", "decode.beam_width"];

/// Keys that are left out unless they are fitted to a corpus.
const ONLY_IF_SET: [&str; 6] = [
    "data.hold_out",
    "model.d_ff",
    "model.n_heads",
    "model.norm_position",
    "train.micro_batches_per_update",
    "train.clip_norm",
];

/// Settings that are better than the defaults for a first run.
const BETTER: [&str; 1] = ["train.patience=5"];

/// Settings that are better for a first run of a model that translates. BLEU of fewer sentences says little.
const BETTER_FOR_TRANSLATION: [&str; 2] = ["train.best_by=bleu", "train.validate_sentences=500"];

/// Settings for translation by the number of pairs below which they are meant; docs/training.md says where
/// they come from.
const BY_PAIRS: [(usize, &[&str]); 4] = [
    (
        60_000,
        &[
            "tokenizer.vocab_size=8000",
            "model.d_model=128",
            "model.d_ff=512",
            "model.norm_position=pre",
            "model.dropout=0.2",
            "train.max_steps=6000",
            "train.clip_norm=1",
            "train.optimizer.learning_rate=0.003",
            "train.schedule.warmup_steps=500",
        ],
    ),
    (
        300_000,
        &[
            "tokenizer.vocab_size=8000",
            "model.n_encoder_layers=4",
            "model.n_decoder_layers=4",
            "model.norm_position=pre",
            "model.positions=rotary",
            "train.max_steps=5000",
            "train.validate_every=1000",
            "train.clip_norm=1",
            "train.optimizer.kind=muon",
            "train.optimizer.learning_rate=0.01",
            "train.schedule.kind=cosine",
            "train.schedule.warmup_steps=500",
        ],
    ),
    (
        3_000_000,
        &[
            "tokenizer.vocab_size=16000",
            "model.d_model=384",
            "model.d_ff=1536",
            "model.n_heads=8",
            "model.n_encoder_layers=6",
            "model.n_decoder_layers=4",
            "model.norm_position=pre",
            "train.max_steps=100000",
            "train.micro_batches_per_update=4",
            "train.validate_every=2500",
            "train.clip_norm=1",
            "train.optimizer.learning_rate=0.0007",
            "train.schedule.warmup_steps=4000",
        ],
    ),
    (
        usize::MAX,
        &[
            "tokenizer.vocab_size=32000",
            "model.d_model=512",
            "model.d_ff=2048",
            "model.n_heads=8",
            "model.n_encoder_layers=6",
            "model.n_decoder_layers=6",
            "train.max_steps=100000",
            "train.micro_batches_per_update=6",
            "train.validate_every=5000",
            "train.optimizer.learning_rate=0.0007",
            "train.schedule.warmup_steps=4000",
        ],
    ),
];

/// The maximum length of a line, in characters.
const MAX_LINE_WIDTH: usize = 100;

/// The format of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum StarterCorpus {
    /// Two files aligned line by line: `src` and `tgt`.
    Aligned,
    /// A file of lines with a tab.
    Tsv,
    /// A file of comma-separated values.
    Csv,
    /// A file of JSON objects.
    Jsonl,
    /// A translation memory.
    Tmx,
    /// A file of translated units.
    Xliff,
    /// Two files `NAME.SOURCE` and `NAME.TARGET`, such as `train.en` and `train.de`.
    Moses,
    /// A plain text, for language models.
    Text,
    /// A generated corpus.
    Builtin,
}

impl StarterCorpus {
    /// The usual format for `family`.
    pub fn usual(family: Family) -> Self {
        match family.task() {
            Task::Translate | Task::Tag => Self::Aligned,
            Task::Classify => Self::Tsv,
            Task::Generate | Task::Fill | Task::Embed => Self::Text,
        }
    }

    /// The corpus `name` ("train" or "valid").
    fn corpus(self, task: Task, name: &str) -> Value {
        let [src, tgt] = match task {
            Task::Tag => ["tokens", "tags"],
            Task::Classify => ["texts", "labels"],
            _ => ["src", "tgt"],
        };
        let file = |extension: &str| format!("{name}.{extension}");
        match self {
            Self::Aligned => json!({ "src": file(src), "tgt": file(tgt) }),
            Self::Tsv => json!({ "tsv": file("tsv") }),
            Self::Csv => json!({ "csv": file("csv") }),
            Self::Tmx => json!({ "tmx": file("tmx"), "languages": ["en", "de"] }),
            Self::Xliff => json!({ "xliff": file("xliff") }),
            Self::Moses => json!({ "moses": name, "languages": ["en", "de"] }),
            Self::Jsonl => json!({ "jsonl": file("jsonl") }),
            Self::Text => json!({ "text": file("txt") }),
            Self::Builtin => {
                let pairs = if name == "train" { 20_000 } else { 1_000 };
                json!({ "builtin": "grammar", "pairs": pairs })
            }
        }
    }

    /// A short configuration of a model of `family`, or of a preset, with comments, to be changed by hand.
    ///
    /// # Errors
    /// [`attentive_base::Error::Config`] if the family cannot be trained, or not from such a corpus.
    pub fn configuration(self, family: Family, preset: Option<Preset>) -> Result<String> {
        let corpus = |name| (name, self.corpus(family.task(), name));
        let fit = preset.map(Preset::settings).unwrap_or_default();
        written(family, &[corpus("train"), corpus("valid")], &fit, "Set the paths below, then ")
    }
}

/// A short configuration of a model of `family`, or of a preset, for these corpora, of which the first has
/// `examples` lines; without validation data, some lines are held out.
///
/// # Errors
/// [`attentive_base::Error::Config`] if the family cannot be trained, or not from such corpora.
pub fn fitted(
    family: Family,
    preset: Option<Preset>,
    train: &CorpusSource,
    valid: Option<&CorpusSource>,
    examples: usize,
) -> Result<String> {
    /// The number of lines that are enough to validate with.
    const ENOUGH: f64 = 1000.0;
    let value = |source| serde_json::to_value(source).unwrap_or_default();
    let mut corpora = vec![("train", value(train))];
    corpora.extend(valid.map(|valid| ("valid", value(valid))));
    let mut settings: Vec<String> = Vec::new();
    if valid.is_none() {
        let share = (ENOUGH / examples.max(1) as f64).clamp(0.001, 0.1);
        settings.push(format!("data.hold_out={share:.3}"));
    }
    if let Some(preset) = preset {
        settings.extend(preset.settings());
    } else if family == Family::Transformer {
        let (_, fit) = BY_PAIRS.iter().find(|(below, _)| examples < *below).expect("the last has no end");
        settings.extend(fit.iter().map(|&setting| setting.to_owned()));
    }
    written(family, &corpora, &settings, "Next, ")
}

/// The configuration of a model of `family` for these corpora, with the settings `fit`; `next` is to be done
/// before training.
fn written(family: Family, corpora: &[(&str, Value)], fit: &[String], next: &str) -> Result<String> {
    let task = family.task();
    let corpora: Vec<(&str, String)> = corpora.iter().map(|(name, corpus)| (*name, toml(corpus))).collect();
    let mut settings = vec![format!("model.family={family}")];
    settings.extend(BETTER.map(String::from));
    if task == Task::Translate {
        settings.extend(BETTER_FOR_TRANSLATION.map(String::from));
    }
    settings.extend(corpora.iter().map(|(name, corpus)| format!("data.{name}={corpus}")));
    settings.extend(fit.iter().cloned());
    let config = Config::parse("", Path::new("attentive.toml"), &settings)?;
    let unused = config.unused_keys();
    let values = serde_json::to_value(&config).unwrap_or_default();
    let choice = schema::choices(schema::of("model.family"));
    let about = choice.into_iter().find(|(name, _)| *name == family.to_string());
    let about = about.map_or("", |(_, choice)| first_sentence(description(choice)));
    let mut text = format!(
        "# {family}: {about}\n\
             # {next}run: attentive train FILE\n\
             # Keys that are left out have their defaults.\n\
             # docs/configuration.md and `attentive config reference` describe all keys.\n\n\
             seed = {}\n\n[data]\n",
        config.seed
    );
    for (name, corpus) in &corpora {
        text += &commented(&format!("data.{name}"), corpus);
    }
    let mut section = "data";
    for key in in_sections(fit) {
        let is_set = || fit.iter().any(|setting| setting.starts_with(&format!("{key}=")));
        let is_foreign = OF_TRANSLATION.contains(&key) && task != Task::Translate
            || key == "data.units" && task != Task::Generate
            || ONLY_IF_SET.contains(&key) && !is_set();
        let value = value(&values, key).filter(|_| !is_foreign && !unused.contains(&key));
        let Some(value) = value else { continue };
        let (of, _) = split(key);
        if of != section {
            text += &format!("\n[{of}]\n");
            section = of;
        }
        text += &commented(key, &toml(value));
    }
    Ok(text)
}

/// The keys to write, section by section: [`KEYS`], and others that `fit` sets.
fn in_sections(fit: &[String]) -> Vec<&str> {
    let set = fit.iter().filter_map(|setting| setting.split_once('=')).map(|(key, _)| key);
    let mut keys = KEYS.to_vec();
    for key in set {
        if !keys.contains(&key) {
            let is_of_section = |other: &&str| split(other).0 == split(key).0;
            let place = keys.iter().rposition(is_of_section).map_or(keys.len(), |last| last + 1);
            keys.insert(place, key);
        }
    }
    keys
}

/// The line that sets a key, with what it means; above it if there is no room beside it.
fn commented(key: &str, value: &str) -> String {
    let (_, name) = split(key);
    let meaning = first_sentence(description(schema::of(key)));
    let line = format!("{name} = {value} # {meaning}");
    if line.chars().count() <= MAX_LINE_WIDTH {
        return line + "\n";
    }
    let comments = wrapped(meaning, MAX_LINE_WIDTH - 2);
    let comments = comments.iter().map(|line| format!("# {line}\n"));
    format!("{}{name} = {value}\n", comments.collect::<String>())
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    let mut ends = text.match_indices(". ").map(|(end, _)| end);
    let end = ends.find(|&end| !text[..end].ends_with(" al"));
    end.map_or(text, |end| &text[..=end])
}
