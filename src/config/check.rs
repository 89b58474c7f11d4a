//! Checks beyond types: ranges, and values that contradict each other.

mod family;
mod network;
mod unused;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::{
    BestBy, Config, CorpusSource, DataConfig, DecodeConfig, Family, MAX_BEAM_WIDTH, ModelConfig,
    OptimizerConfig, OptimizerKind, SamplingConfig, ScheduleKind, Task, TokenizerConfig,
    TrainConfig, Units,
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
        at_most("train.accumulate", self.train.accumulate, MAX_ACCUMULATE)?;
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
        train(&self.train)?;
        optimizer(&self.train.optimizer)?;
        scheduled_sampling(&self.train.scheduled_sampling)?;
        schedule(&self.train)?;
        decode(&self.decode)?;
        lengths(self)?;
        validation(self)
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

fn train(train: &TrainConfig) -> Result<()> {
    size("train.batch_tokens", train.batch_tokens, 1)?;
    size("train.accumulate", train.accumulate, 1)?;
    size("train.validate_sentences", train.validate_sentences, 0)?;
    size("train.samples", train.samples, 0)?;
    size("train.keep_last", train.keep_last, 1)?;
    size("train.average_last", train.average_last, 0)?;
    whole("train.max_steps", train.max_steps, 1)?;
    whole("train.max_epochs", train.max_epochs, 0)?;
    whole("train.validate_every", train.validate_every, 0)?;
    whole("train.patience", train.patience, 0)?;
    whole("train.save_every", train.save_every, 0)?;
    whole("train.log_every", train.log_every, 1)?;
    fraction("train.label_smoothing", train.label_smoothing)?;
    not_negative("train.clip_norm", train.clip_norm)?;
    let (kept, averaged) = (train.keep_last, train.average_last);
    let expected =
        format!("at least `train.average_last` = {averaged}, the checkpoints to average");
    require(kept >= averaged, "train.keep_last", expected, kept)
}

fn optimizer(optimizer: &OptimizerConfig) -> Result<()> {
    positive("train.optimizer.learning_rate", optimizer.learning_rate)?;
    fraction("train.optimizer.beta1", optimizer.beta1)?;
    fraction("train.optimizer.beta2", optimizer.beta2)?;
    positive("train.optimizer.epsilon", optimizer.epsilon)?;
    fraction("train.optimizer.momentum", optimizer.momentum)?;
    not_negative("train.optimizer.weight_decay", optimizer.weight_decay)?;
    if optimizer.momentum > 0.0 && optimizer.kind != OptimizerKind::Sgd {
        let hint = "set `train.optimizer.beta1` instead, or use `train.optimizer.kind = \"sgd\"`";
        let expected = "0, since only SGD has momentum";
        return refuse_with(
            "train.optimizer.momentum",
            expected,
            optimizer.momentum,
            Some(hint.into()),
        );
    }
    Ok(())
}

fn scheduled_sampling(sampling: &SamplingConfig) -> Result<()> {
    let SamplingConfig {
        least, decay_steps, ..
    } = *sampling;
    require(
        (0.0..=1.0).contains(&least),
        "train.scheduled_sampling.least",
        "a number from 0 to 1",
        least,
    )?;
    positive("train.scheduled_sampling.decay_steps", decay_steps)
}

fn schedule(train: &TrainConfig) -> Result<()> {
    let schedule = &train.schedule;
    let needs_warmup = matches!(
        schedule.kind,
        ScheduleKind::Noam | ScheduleKind::InverseSqrt
    );
    whole(
        "train.schedule.warmup_steps",
        schedule.warmup_steps,
        u64::from(needs_warmup),
    )?;
    whole("train.schedule.decay_steps", schedule.decay_steps, 0)?;
    whole(
        "train.schedule.plateau_patience",
        schedule.plateau_patience,
        1,
    )?;
    let (min, factor) = (schedule.min_factor, schedule.plateau_factor);
    require(
        (0.0..=1.0).contains(&min),
        "train.schedule.min_factor",
        "a number from 0 to 1",
        min,
    )?;
    let in_between = factor > 0.0 && factor < 1.0;
    require(
        in_between,
        "train.schedule.plateau_factor",
        "a number above 0 and below 1",
        factor,
    )?;
    if schedule.kind != ScheduleKind::Cosine {
        return Ok(());
    }
    let (key, end) = match schedule.decay_steps {
        0 => ("train.max_steps", train.max_steps),
        steps => ("train.schedule.decay_steps", steps),
    };
    let warmup = schedule.warmup_steps;
    let expected =
        format!("more than `train.schedule.warmup_steps` = {warmup}, since the cosine ends here");
    require(end > warmup, key, expected, end)
}

pub(super) fn decode(decode: &DecodeConfig) -> Result<()> {
    size("decode.beam_width", decode.beam_width, 1)?;
    at_most("decode.beam_width", decode.beam_width, MAX_BEAM_WIDTH)?;
    not_negative("decode.alpha", decode.alpha)?;
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

/// Refuses settings that need validations in a run without any.
fn validation(config: &Config) -> Result<()> {
    let train = &config.train;
    let data = &config.data;
    let validates = (data.valid.is_some() || data.hold_out > 0.0) && train.validate_every > 0;
    let missing = "since nothing is validated";
    let hint = || Some("set `data.valid` and `train.validate_every`".to_owned());
    if !validates && train.patience > 0 {
        return refuse_with(
            "train.patience",
            format!("0, {missing}"),
            train.patience,
            hint(),
        );
    }
    if !validates && train.schedule.kind == ScheduleKind::Plateau {
        return refuse_with(
            "train.schedule.kind",
            format!("a schedule without validation, {missing}"),
            "`plateau`",
            hint(),
        );
    }
    if train.best_by == BestBy::Bleu {
        let (key, expected) = ("train.best_by", |why: &str| format!("`loss`, {why}"));
        if config.model.family.task() != Task::Translate {
            return refuse(
                key,
                expected("since this family does not translate"),
                "`bleu`",
            );
        }
        if !validates {
            return refuse_with(key, expected(missing), "`bleu`", hint());
        }
        if train.validate_sentences == 0 {
            let hint = Some("set `train.validate_sentences`".into());
            return refuse_with(
                key,
                expected("since no validation sentence is translated"),
                "`bleu`",
                hint,
            );
        }
    }
    Ok(())
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
