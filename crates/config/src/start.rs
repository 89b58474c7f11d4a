//! Short configurations to start from.

use std::path::Path;

use attentive_base::error::Result;
use serde_json::{Value, json};

use super::schema::{self, description};
use super::show::{split, toml, value, wrapped};
use super::{Config, Family, Task};

/// The keys that are changed first, in the order in which they are written. Those without effect are left
/// out.
const KEYS: [&str; 19] = [
    "data.units",
    "tokenizer.vocab_size",
    "model.family",
    "model.d_model",
    "model.n_encoder_layers",
    "model.n_decoder_layers",
    "model.dropout",
    "model.pooling",
    "model.recurrent.cell",
    "model.recurrent.d_hidden",
    "train.max_steps",
    "train.batch_tokens",
    "train.precision",
    "train.validate_every",
    "train.patience",
    "train.best_by",
    "train.optimizer.learning_rate",
    "train.schedule.warmup_steps",
    "decode.beam_width",
];

/// Those of translation alone.
const OF_TRANSLATION: [&str; 2] = ["train.best_by", "decode.beam_width"];

/// What is better than a default for a first run.
const BETTER: [&str; 2] = ["train.patience=5", "train.precision=auto"];

/// The most columns of a line.
const WIDTH: usize = 100;

/// The format of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Start {
    /// Two files aligned line by line: `src` and `tgt`.
    Aligned,
    /// A file of lines with a tab.
    Tsv,
    /// A file of JSON objects.
    Jsonl,
    /// A plain text, for language models.
    Text,
    /// A generated corpus.
    Builtin,
}

impl Start {
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
            Self::Jsonl => json!({ "jsonl": file("jsonl") }),
            Self::Text => json!({ "text": file("txt") }),
            Self::Builtin => {
                let pairs = if name == "train" { 20_000 } else { 1_000 };
                json!({ "builtin": "grammar", "pairs": pairs })
            }
        }
    }

    /// A short configuration of a model of `family`, with comments, to be changed by hand.
    ///
    /// # Errors
    /// [`attentive_base::Error::Config`] if the family cannot be trained, or not from such a corpus.
    pub fn configuration(self, family: Family) -> Result<String> {
        let task = family.task();
        let corpora = ["train", "valid"].map(|name| (name, toml(&self.corpus(task, name))));
        let mut settings = vec![format!("model.family={family}")];
        settings.extend(BETTER.map(String::from));
        if task == Task::Translate {
            settings.push("train.best_by=bleu".into());
        }
        settings.extend(corpora.iter().map(|(name, corpus)| format!("data.{name}={corpus}")));
        let config = Config::parse("", Path::new("attentive.toml"), &settings)?;
        let unused = config.unused_keys();
        let values = serde_json::to_value(&config).unwrap_or_default();
        let choice = schema::choices(schema::of("model.family"));
        let about = choice.into_iter().find(|(name, _)| *name == family.to_string());
        let about = about.map_or("", |(_, choice)| first_sentence(description(choice)));
        let mut text = format!(
            "# {family}: {about}\n\
             # Set the paths below, then run: attentive train FILE\n\
             # Keys that are left out have their defaults.\n\
             # docs/configuration.md and `attentive config reference` describe all keys.\n\n\
             seed = {}\n\n[data]\n",
            config.seed
        );
        for (name, corpus) in corpora {
            text += &commented(&format!("data.{name}"), &corpus);
        }
        let mut section = "data";
        for key in KEYS {
            let is_foreign = OF_TRANSLATION.contains(&key) && task != Task::Translate
                || key == "data.units" && task != Task::Generate;
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
}

/// The line that sets a key, with what it means; above it if there is no room beside it.
fn commented(key: &str, value: &str) -> String {
    let (_, name) = split(key);
    let meaning = first_sentence(description(schema::of(key)));
    let line = format!("{name} = {value} # {meaning}");
    if line.chars().count() <= WIDTH {
        return line + "\n";
    }
    let comments = wrapped(meaning, WIDTH - 2);
    let comments = comments.iter().map(|line| format!("# {line}\n"));
    format!("{}{name} = {value}\n", comments.collect::<String>())
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    let mut ends = text.match_indices(". ").map(|(end, _)| end);
    let end = ends.find(|&end| !text[..end].ends_with(" al"));
    end.map_or(text, |end| &text[..=end])
}
