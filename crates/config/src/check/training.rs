//! Checks of `[train]`.

use attentive_base::error::Result;

use super::{number, refuse, refuse_with, require, size, whole, whole_from};
use crate::{
    BestBy, Config, OptimizerConfig, OptimizerKind, SamplingConfig, ScheduleKind, Task, TrainConfig,
};

/// Refuses values out of range, and values that contradict each other.
pub(super) fn check(train: &TrainConfig) -> Result<()> {
    limits(train)?;
    optimizer(&train.optimizer)?;
    scheduled_sampling(&train.scheduled_sampling)?;
    schedule(train)
}

fn limits(train: &TrainConfig) -> Result<()> {
    size("train.batch_tokens", train.batch_tokens)?;
    size(
        "train.micro_batches_per_update",
        train.micro_batches_per_update,
    )?;
    size("train.validate_sentences", train.validate_sentences)?;
    size("train.samples", train.samples)?;
    size("train.keep_last", train.keep_last)?;
    size("train.average_last", train.average_last)?;
    whole("train.max_steps", train.max_steps)?;
    whole("train.max_epochs", train.max_epochs)?;
    whole("train.validate_every", train.validate_every)?;
    whole("train.patience", train.patience)?;
    whole("train.save_every", train.save_every)?;
    whole("train.log_every", train.log_every)?;
    number("train.label_smoothing", train.label_smoothing)?;
    number("train.clip_norm", train.clip_norm)?;
    let (kept, averaged) = (train.keep_last, train.average_last);
    let expected =
        format!("at least `train.average_last` = {averaged}, the checkpoints to average");
    require(kept >= averaged, "train.keep_last", expected, kept)
}

fn optimizer(optimizer: &OptimizerConfig) -> Result<()> {
    number("train.optimizer.learning_rate", optimizer.learning_rate)?;
    number("train.optimizer.beta1", optimizer.beta1)?;
    number("train.optimizer.beta2", optimizer.beta2)?;
    number("train.optimizer.epsilon", optimizer.epsilon)?;
    number("train.optimizer.momentum", optimizer.momentum)?;
    number("train.optimizer.weight_decay", optimizer.weight_decay)?;
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
    number("train.scheduled_sampling.least", least)?;
    number("train.scheduled_sampling.decay_steps", decay_steps)
}

fn schedule(train: &TrainConfig) -> Result<()> {
    let schedule = &train.schedule;
    let needs_warmup = matches!(
        schedule.kind,
        ScheduleKind::Noam | ScheduleKind::InverseSqrt
    );
    whole_from(
        "train.schedule.warmup_steps",
        schedule.warmup_steps,
        u64::from(needs_warmup),
    )?;
    whole("train.schedule.decay_steps", schedule.decay_steps)?;
    whole("train.schedule.plateau_patience", schedule.plateau_patience)?;
    let (min, factor) = (schedule.min_factor, schedule.plateau_factor);
    number("train.schedule.min_factor", min)?;
    number("train.schedule.plateau_factor", factor)?;
    if schedule.kind != ScheduleKind::Cosine {
        return Ok(());
    }
    let (key, end) = match schedule.decay_steps {
        0 => ("train.max_steps", train.max_steps),
        steps => ("train.schedule.decay_steps", steps),
    };
    let warmup = schedule.warmup_steps;
    if end > warmup {
        return Ok(());
    }
    refuse_with(
        key,
        format!("more than `train.schedule.warmup_steps` = {warmup}, since the cosine ends here"),
        end,
        Some("shorten the warm-up as well: a tenth of the updates is usual".into()),
    )
}

/// Refuses settings that need validations in a run without any.
pub(super) fn validation(config: &Config) -> Result<()> {
    let train = &config.train;
    let data = &config.data;
    let validates = (data.valid.is_some() || data.hold_out > 0.0) && train.validate_every > 0;
    let missing = "since nothing is validated";
    let hint = || {
        Some("set `data.valid` (or `data.hold_out = 0.1`) and `train.validate_every`".to_owned())
    };
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
