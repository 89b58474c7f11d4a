//! Checks beyond types: ranges, and values that contradict each other.

mod family;
mod network;
mod training;
pub(super) mod unused;

use std::fmt::Display;
use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use toml::Table;

use super::range::Range;
use super::{
    Config, CorpusSource, DataConfig, DecodeConfig, ModelConfig, Task, TokenizerConfig, Units,
};

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
        // Earlier versions had no such limit.
        at_most(
            "train.micro_batches_per_update",
            self.train.micro_batches_per_update,
        )?;
        family::windows(self)?;
        unused::check(self, table)
    }

    /// As [`Config::validate`], but accepts unused values, which earlier versions wrote to model directories, and what an imported
    /// model may have: no corpus, and windows that are longer than a batch.
    pub fn validate_stored(&self) -> Result<()> {
        whole("seed", self.seed)?;
        data(&self.data)?;
        tokenizer(&self.tokenizer)?;
        model(&self.model)?;
        family::check(self)?;
        training::check(&self.train)?;
        decode(&self.decode)?;
        lengths(self)?;
        training::validation(self)
    }
}

fn data(data: &DataConfig) -> Result<()> {
    size("data.max_len", data.max_len)?;
    number("data.hold_out", data.hold_out)?;
    number("data.max_ratio", data.max_ratio)?;
    if data.hold_out > 0.0 && data.valid.is_some() {
        return refuse(
            "data.hold_out",
            "0, since `data.valid` is set",
            data.hold_out,
        );
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

fn corpus(section: &str, source: &CorpusSource) -> Result<()> {
    let file = |name: &str, file: &PathBuf| path(&format!("{section}.{name}"), Some(file));
    match source {
        CorpusSource::Aligned { src, tgt } => {
            file("src", src)?;
            file("tgt", tgt)
        }
        CorpusSource::Tsv(tsv) => file("tsv", tsv),
        CorpusSource::Jsonl(jsonl) => file("jsonl", jsonl),
        CorpusSource::Text(text) => file("text", text),
        CorpusSource::Builtin { pairs, .. } => {
            let key = format!("{section}.pairs");
            within(&key, *pairs)
        }
        CorpusSource::Mixed(parts) => parts.iter().try_for_each(|part| {
            number(&format!("{section}.weight"), part.weight)?;
            corpus(section, &part.source)
        }),
    }
}

fn tokenizer(tokenizer: &TokenizerConfig) -> Result<()> {
    path("tokenizer.from", tokenizer.from.as_ref())?;
    within("tokenizer.vocab_size", tokenizer.vocab_size)?;
    size("tokenizer.sample_lines", tokenizer.sample_lines)?;
    whole("tokenizer.min_frequency", tokenizer.min_frequency)
}

pub(super) fn model(model: &ModelConfig) -> Result<()> {
    within("model.d_model", model.d_model)?;
    within("model.d_ff", model.d_ff)?;
    size("model.n_heads", model.n_heads)?;
    within("model.max_len", model.max_len)?;
    path("model.from", model.from.as_ref())?;
    number("model.dropout", model.dropout)?;
    number("model.attention_dropout", model.attention_dropout)?;
    number("model.activation_dropout", model.activation_dropout)?;
    number("model.norm_epsilon", model.norm_epsilon)?;
    network::check(model)
}

pub(super) fn decode(decode: &DecodeConfig) -> Result<()> {
    within("decode.beam_width", decode.beam_width)?;
    number("decode.length_penalty", decode.length_penalty)?;
    number("decode.max_new_factor", decode.max_new_factor)?;
    size("decode.max_new_extra", decode.max_new_extra)?;
    size("decode.batch_size", decode.batch_size)
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

/// Checks the lower limit of a count; TOML holds no more than 63 bits.
fn whole(key: &str, value: u64) -> Result<()> {
    let least = Range::of(key).least.unwrap_or(0.0);
    whole_from(key, value, least as u64)
}

/// As [`whole`], with a lower limit that depends on other keys.
fn whole_from(key: &str, value: u64, least: u64) -> Result<()> {
    require(
        value >= least,
        key,
        format!("a whole number, {least} or more"),
        value,
    )?;
    require(
        i64::try_from(value).is_ok(),
        key,
        format!("a whole number up to {}", i64::MAX),
        value,
    )
}

fn size(key: &str, value: usize) -> Result<()> {
    whole(key, value as u64)
}

/// Checks both limits of a count.
fn within(key: &str, value: usize) -> Result<()> {
    size(key, value)?;
    at_most(key, value)
}

/// Checks an upper limit; larger sizes are typing errors, and their allocation would fail.
fn at_most(key: &str, value: usize) -> Result<()> {
    let most = Range::of(key).most.unwrap_or(f64::MAX);
    require(value as f64 <= most, key, format!("at most {most}"), value)
}

/// Checks the range of any number.
fn number(key: &str, value: f64) -> Result<()> {
    let range = Range::of(key);
    require(
        range.contains(value),
        key,
        format!("a number{range}"),
        value,
    )
}

fn path(key: &str, path: Option<&PathBuf>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    require(
        !path.as_os_str().is_empty(),
        key,
        "a path",
        "an empty string",
    )?;
    require(
        path.to_str().is_some(),
        key,
        "a path in UTF-8",
        path.display(),
    )
}

fn require(holds: bool, key: &str, expected: impl Display, found: impl Display) -> Result<()> {
    if holds {
        Ok(())
    } else {
        refuse(key, expected, found)
    }
}

fn refuse(key: &str, expected: impl Display, found: impl Display) -> Result<()> {
    refuse_with(key, expected, found, None)
}

fn refuse_with(
    key: &str,
    expected: impl Display,
    found: impl Display,
    hint: Option<String>,
) -> Result<()> {
    Err(Error::Config {
        key: key.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
        hint,
    })
}
