//! Checks beyond types: ranges, and values that contradict each other.

mod family;
mod network;
mod ranges;
mod training;
pub(super) mod unused;

use std::fmt::Display;
use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use toml::Table;

use super::{CleaningRule, Config, CorpusSource, DataConfig, DecodeConfig, ModelConfig, Task, Units};

impl Config {
    /// Refuses values out of range, values that contradict each other, and values without effect.
    ///
    /// # Errors
    /// [`Error::Config`] for the first mistake.
    pub fn validate(&self) -> Result<()> {
        self.validate_read(&Table::new())
    }

    /// [`Config::validate`] for a configuration read from `table`, which may have keys of other families.
    pub(super) fn validate_read(&self, table: &Table) -> Result<()> {
        require(
            self.model.family.task() != Task::Embed,
            "model.family",
            "a family that learns to predict something",
            "`encoder`, which only computes text vectors",
        )?;
        self.data.training()?;
        self.validate_stored()?;
        family::windows(self)?;
        unused::check(self, table)
    }

    /// As [`Config::validate`], but accepts what an imported model may have: no corpus, values without
    /// effect, and windows that are longer than a batch.
    pub fn validate_stored(&self) -> Result<()> {
        require(
            i64::try_from(self.seed).is_ok(),
            "seed",
            format!("a whole number up to {}", i64::MAX),
            self.seed,
        )?;
        data(&self.data)?;
        symbols(self)?;
        path("tokenizer.from", self.tokenizer.from.as_ref())?;
        path("model.from", self.model.from.as_ref())?;
        ranges::check(self, "")?;
        network::check(&self.model)?;
        family::check(self)?;
        training::check(&self.train)?;
        lengths(self)?;
        training::twins(self)?;
        training::alignments(self)?;
        training::guided_alignment(self)?;
        filters(&self.data)?;
        training::validation(self)
    }
}

fn data(data: &DataConfig) -> Result<()> {
    if data.hold_out > 0.0 && data.valid.is_some() {
        return refuse("data.hold_out", "0, since `data.valid` is set", data.hold_out);
    }
    path("data.dir", data.dir.as_ref())?;
    path("data.store_dir", data.store_dir.as_ref())?;
    if let Some(train) = &data.train {
        corpus("data.train", train)?;
    }
    match &data.valid {
        Some(CorpusSource::Mixed(_)) => refuse("data.valid", "one corpus", "a list"),
        Some(valid) => corpus("data.valid", valid),
        None => Ok(()),
    }
}

/// Refuses symbols that cannot be tokens of their own, and tags of corpora that are no symbols.
fn symbols(config: &Config) -> Result<()> {
    const KEY: &str = "tokenizer.symbols";
    let symbols = &config.tokenizer.symbols;
    for (index, symbol) in symbols.iter().enumerate() {
        let is_word = !symbol.is_empty() && !symbol.contains(char::is_whitespace);
        require(is_word, KEY, "tokens without blanks", format!("{symbol:?}"))?;
        let is_new = !symbols[..index].contains(symbol);
        require(is_new, KEY, "each token once", format!("`{symbol}` twice"))?;
        let is_free = !["<pad>", "<unk>", "<s>", "</s>", "<mask>"].contains(&symbol.as_str());
        require(is_free, KEY, "tokens that every vocabulary does not have anyway", format!("`{symbol}`"))?;
    }
    // A vocabulary that is given has symbols of its own.
    if config.tokenizer.from.is_some() || config.model.from.is_some() {
        return Ok(());
    }
    for (name, source) in [("data.train", &config.data.train), ("data.valid", &config.data.valid)] {
        let parts = source.iter().flat_map(CorpusSource::parts);
        for tag in parts.filter_map(|(part, _)| part.tag()) {
            if !symbols.iter().any(|symbol| symbol == tag) {
                return refuse_with(
                    &format!("{name}.tag"),
                    "one of `tokenizer.symbols`",
                    format!("`{tag}`"),
                    Some(format!("add it: `symbols = [\"{tag}\"]` in `[tokenizer]`")),
                );
            }
        }
    }
    Ok(())
}

fn corpus(section: &str, source: &CorpusSource) -> Result<()> {
    let file = |name: &str, file: &PathBuf| path(&format!("{section}.{name}"), Some(file));
    match source {
        CorpusSource::Aligned { src, tgt, weights, .. } => {
            file("src", src)?;
            file("tgt", tgt)?;
            weights.iter().try_for_each(|weights| file("weights", weights))
        }
        CorpusSource::File(one) => {
            file(one.format.key(), &one.path)?;
            one.weights.iter().try_for_each(|weights| file("weights", weights))
        }
        CorpusSource::Builtin { pairs, .. } => ranges::whole(&format!("{section}.pairs"), *pairs as u64),
        CorpusSource::InMemory { lines } => ranges::whole(&format!("{section}.in_memory"), *lines as u64),
        CorpusSource::Mixed(parts) => parts.iter().try_for_each(|part| {
            ranges::number(&format!("{section}.weight"), part.weight)?;
            if matches!(part.source, CorpusSource::InMemory { .. }) {
                return refuse(section, "one corpus, since it is in RAM", "a list");
            }
            corpus(section, &part.source)
        }),
    }
}

pub(super) fn model(model: &ModelConfig) -> Result<()> {
    let config = Config { model: model.clone(), ..Config::default() };
    ranges::check(&config, "model.")?;
    network::check(model)
}

pub(super) fn decode(decode: &DecodeConfig) -> Result<()> {
    let config = Config { decode: decode.clone(), ..Config::default() };
    ranges::check(&config, "decode.")?;
    let has_limit = decode.max_new_factor > 0.0 || decode.max_new_extra > 0;
    require(has_limit, "decode.max_new_extra", "at least 1 if `decode.max_new_factor` is 0", 0)
}

/// Checks `data.max_len`, which a stream does not use.
fn lengths(config: &Config) -> Result<()> {
    if config.data.units == Units::Stream {
        return Ok(());
    }
    let (data, model) = (config.data.max_len, config.model.max_len);
    let expected = format!("at most `model.max_len` = {model}, the longest that the model accepts");
    require(data <= model, "data.max_len", expected, data)
}

fn path(key: &str, path: Option<&PathBuf>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    require(!path.as_os_str().is_empty(), key, "a path", "an empty string")?;
    require(path.to_str().is_some(), key, "a path in UTF-8", path.display())
}

fn require(holds: bool, key: &str, expected: impl Display, found: impl Display) -> Result<()> {
    if holds { Ok(()) } else { refuse(key, expected, found) }
}

fn refuse(key: &str, expected: impl Display, found: impl Display) -> Result<()> {
    refuse_with(key, expected, found, None)
}

fn refuse_with(key: &str, expected: impl Display, found: impl Display, hint: Option<String>) -> Result<()> {
    Err(Error::Config { key: key.to_owned(), expected: expected.to_string(), found: found.to_string(), hint })
}

/// Refuses rules that need more than a pair.
fn filters(data: &DataConfig) -> Result<()> {
    match data.filters.iter().find(|rule| !rule.is_of_single_pairs()) {
        None => Ok(()),
        Some(rule) => refuse_with(
            "data.filters",
            "rules that need no more than a pair",
            format!("`{}`", rule.name()),
            Some(match rule {
                CleaningRule::Duplicate => {
                    "`attentive clean` has it; `data.drop_repeated` leaves out equal pairs".into()
                }
                _ => "`attentive clean` has it".into(),
            }),
        ),
    }
}
