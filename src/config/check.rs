//! Checks beyond types: ranges, and values that contradict each other.

mod family;
mod network;
mod training;
mod unused;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::{
    Config, CorpusSource, DataConfig, DecodeConfig, Family, MAX_BEAM_WIDTH, ModelConfig,
    TokenizerConfig, Units,
};
use crate::error::{Error, Result};

/// Room for the special tokens and some learned ones.
const MIN_VOCAB_SIZE: usize = 8;

/// More generated pairs than fit into the RAM of any machine.
const MAX_PAIRS: usize = 100_000_000;

/// More micro-batches of an update than any run can wait for.
const MAX_ACCUMULATE: usize = 1 << 16;

/// Weights of corpora; others are typing errors.
const WEIGHTS: RangeInclusive<f64> = 0.001..=1000.0;

/// A token and `</s>`.
const MIN_LEN: usize = 2;

impl Config {
    /// Refuses values out of range, values that contradict each other, and values without effect.
    ///
    /// # Errors
    /// [`Error::Config`] for the first mistake.
    pub fn validate(&self) -> Result<()> {
        require(
            self.model.family != Family::Encoder,
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
            MAX_ACCUMULATE,
        )?;
        family::windows(self)?;
        unused::check(self)
    }

    /// As [`Config::validate`], but accepts unused values, which earlier versions wrote to model directories, and what an imported
    /// model may have: no corpus, and windows that are longer than a batch.
    pub(crate) fn validate_stored(&self) -> Result<()> {
        whole("seed", self.seed, 0)?;
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
    size("data.max_len", data.max_len, MIN_LEN)?;
    fraction("data.hold_out", data.hold_out)?;
    not_negative("data.max_ratio", data.max_ratio)?;
    if data.max_ratio > 0.0 && data.max_ratio < 1.0 {
        return refuse(
            "data.max_ratio",
            "at least 1, or 0 to keep all pairs",
            data.max_ratio,
        );
    }
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
            size(&key, *pairs, 1)?;
            at_most(&key, *pairs, MAX_PAIRS)
        }
        CorpusSource::Mixed(parts) => parts.iter().try_for_each(|part| {
            let key = format!("{section}.weight");
            let fits = WEIGHTS.contains(&part.weight);
            require(fits, &key, "a number from 0.001 to 1000", part.weight)?;
            corpus(section, &part.source)
        }),
    }
}

fn tokenizer(tokenizer: &TokenizerConfig) -> Result<()> {
    path("tokenizer.from", tokenizer.from.as_ref())?;
    size("tokenizer.vocab_size", tokenizer.vocab_size, MIN_VOCAB_SIZE)?;
    at_most("tokenizer.vocab_size", tokenizer.vocab_size, 1 << 24)?;
    size("tokenizer.sample_lines", tokenizer.sample_lines, 1)?;
    whole("tokenizer.min_frequency", tokenizer.min_frequency, 1)
}

pub(super) fn model(model: &ModelConfig) -> Result<()> {
    size("model.d_model", model.d_model, 2)?;
    size("model.d_ff", model.d_ff, 1)?;
    size("model.n_heads", model.n_heads, 1)?;
    size("model.n_encoder_layers", model.n_encoder_layers, 1)?;
    size("model.n_decoder_layers", model.n_decoder_layers, 1)?;
    size("model.max_len", model.max_len, MIN_LEN)?;
    at_most("model.d_model", model.d_model, 1 << 16)?;
    at_most("model.d_ff", model.d_ff, 1 << 18)?;
    at_most("model.d_decoder_ff", model.d_decoder_ff, 1 << 18)?;
    at_most("model.n_encoder_layers", model.n_encoder_layers, 1000)?;
    at_most("model.n_decoder_layers", model.n_decoder_layers, 1000)?;
    at_most("model.max_len", model.max_len, 1 << 20)?;
    path("model.from", model.from.as_ref())?;
    fraction("model.dropout", model.dropout)?;
    fraction("model.attention_dropout", model.attention_dropout)?;
    fraction("model.activation_dropout", model.activation_dropout)?;
    positive("model.norm_epsilon", model.norm_epsilon)?;
    positive("model.logit_scale", model.logit_scale)?;
    network::check(model)
}

pub(super) fn decode(decode: &DecodeConfig) -> Result<()> {
    size("decode.beam_width", decode.beam_width, 1)?;
    at_most("decode.beam_width", decode.beam_width, MAX_BEAM_WIDTH)?;
    not_negative("decode.length_penalty", decode.length_penalty)?;
    not_negative("decode.max_new_factor", decode.max_new_factor)?;
    size("decode.max_new_extra", decode.max_new_extra, 1)?;
    size("decode.batch_size", decode.batch_size, 1)
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

/// Checks a count of at least `least`; TOML holds no more than 63 bits.
fn whole(key: &str, value: u64, least: u64) -> Result<()> {
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

fn size(key: &str, value: usize, least: usize) -> Result<()> {
    whole(key, value as u64, least as u64)
}

/// Checks an upper limit; larger sizes are typing errors, and their allocation would fail.
fn at_most(key: &str, value: usize, most: usize) -> Result<()> {
    require(value <= most, key, format!("at most {most}"), value)
}

fn fraction(key: &str, value: f64) -> Result<()> {
    require(
        (0.0..1.0).contains(&value),
        key,
        "a number from 0 up to, but not including, 1",
        value,
    )
}

fn positive(key: &str, value: f64) -> Result<()> {
    require(
        value > 0.0 && value.is_finite(),
        key,
        "a number above 0",
        value,
    )
}

fn not_negative(key: &str, value: f64) -> Result<()> {
    require(
        value >= 0.0 && value.is_finite(),
        key,
        "a number, 0 or more",
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
