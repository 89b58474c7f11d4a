//! Checks of `[train]`.

use attentive_base::error::Result;

use super::{refuse_with, require};
use crate::{BestBy, Config, OptimizerKind, ScheduleKind, Task, TrainConfig, TrainPrecision};

/// Refuses values that contradict each other.
pub(super) fn check(train: &TrainConfig) -> Result<()> {
    let (kept, averaged) = (train.keep_last, train.average_last);
    let expected = format!("at least `train.average_last` = {averaged}, the checkpoints to average");
    require(kept >= averaged, "train.keep_last", expected, kept)?;
    precision(train)?;
    consistency(train)?;
    let case = train.augmentation.upper_case + train.augmentation.title_case;
    let expected = "at most 1 together with `train.augmentation.upper_case`, since no pair is in both cases";
    require(case <= 1.0, "train.augmentation.title_case", expected, train.augmentation.title_case)?;
    optimizer(train)?;
    schedule(train)
}

/// Refuses a precision that the device does not have.
fn precision(train: &TrainConfig) -> Result<()> {
    if train.device.is_gpu() && train.precision == TrainPrecision::Bf16 {
        return refuse_with(
            "train.precision",
            format!("`f32` or `auto`, since `train.device` is `{}`", train.device),
            "`bf16`",
            Some("GPUs compute in `f32`; leave `train.precision` out, or train on the CPU".into()),
        );
    }
    Ok(())
}

/// Refuses two passes on a device that computes one.
fn consistency(train: &TrainConfig) -> Result<()> {
    let expected = format!("0, since `train.device` is `{}`", train.device);
    require(
        train.consistency == 0.0 || !train.device.is_gpu(),
        "train.consistency",
        expected,
        train.consistency,
    )
}

/// Refuses two passes that are equal.
pub(super) fn twins(config: &Config) -> Result<()> {
    let model = &config.model;
    let rates = [model.dropout, model.attention_dropout, model.activation_dropout];
    require(
        config.train.consistency == 0.0 || rates.iter().any(|&rate| rate > 0.0),
        "train.consistency",
        "0, since two passes without dropout (`model.dropout`) are equal",
        config.train.consistency,
    )
}

/// Refuses uses of alignments without any.
pub(super) fn alignments(config: &Config) -> Result<()> {
    let train = &config.train;
    let uses = [
        ("train.guided_alignment", train.guided_alignment),
        ("train.augmentation.inline_tags", train.augmentation.inline_tags),
    ];
    for (key, value) in uses.into_iter().filter(|&(_, value)| value > 0.0) {
        if config.data.alignments.is_none() {
            let hint = "`attentive align` makes the alignments of a corpus";
            let expected = "0, since there are no alignments (`data.alignments`)";
            return refuse_with(key, expected, value, Some(hint.into()));
        }
    }
    Ok(())
}

/// Refuses guided alignment without a head that learns it.
pub(super) fn guided_alignment(config: &Config) -> Result<()> {
    let strength = config.train.guided_alignment;
    if strength == 0.0 {
        return Ok(());
    }
    let translator = config.model.family.translator();
    let has_head = translator.is_some_and(|keys| keys.alignment_head.is_some());
    let key = "train.guided_alignment";
    let device = config.train.device;
    require(!device.is_gpu(), key, format!("0, since `train.device` is `{device}`"), strength)?;
    if !has_head {
        let hint = "set `model.alignment_head = 1`: the head then aligns words in translation, too";
        return refuse_with(key, "a head that learns (`model.alignment_head`)", "none", Some(hint.into()));
    }
    Ok(())
}

fn optimizer(train: &TrainConfig) -> Result<()> {
    let optimizer = &train.optimizer;
    if optimizer.kind == OptimizerKind::Muon && train.device.is_gpu() {
        let expected = format!("another optimizer, since `train.device` is `{}`", train.device);
        let hint = "Muon is computed on the CPU alone; `adamw` is the nearest to it";
        return refuse_with("train.optimizer.kind", expected, "`muon`", Some(hint.into()));
    }
    if optimizer.momentum > 0.0 && optimizer.kind != OptimizerKind::Sgd {
        let hint = "set `train.optimizer.beta1` instead, or use `train.optimizer.kind = \"sgd\"`";
        let expected = "0, since only SGD has momentum";
        return refuse_with("train.optimizer.momentum", expected, optimizer.momentum, Some(hint.into()));
    }
    Ok(())
}

fn schedule(train: &TrainConfig) -> Result<()> {
    let schedule = &train.schedule;
    let needs_warmup = matches!(schedule.kind, ScheduleKind::Noam | ScheduleKind::InverseSqrt);
    require(
        schedule.warmup_steps > 0 || !needs_warmup,
        "train.schedule.warmup_steps",
        "a whole number, 1 or more",
        0,
    )?;
    let Some(last_part) = schedule.kind.last_part() else {
        return Ok(());
    };
    let (key, end) = match schedule.decay_steps {
        0 => ("train.max_steps", train.max_steps),
        steps => ("train.schedule.decay_steps", steps),
    };
    let warmup = schedule.warmup_steps;
    if end <= warmup {
        return refuse_with(
            key,
            format!("more than `train.schedule.warmup_steps` = {warmup}, since {last_part} ends here"),
            end,
            Some("shorten the warm-up as well: a tenth of the updates is usual".into()),
        );
    }
    require(
        schedule.kind != ScheduleKind::Wsd || warmup + schedule.cooldown_steps <= end,
        "train.schedule.cooldown_steps",
        format!("at most {}, so that the warm-up ends before the cool-down begins", end - warmup),
        schedule.cooldown_steps,
    )
}

/// Refuses settings that need validations in a run without any.
pub(super) fn validation(config: &Config) -> Result<()> {
    let train = &config.train;
    let data = &config.data;
    let validates = (data.valid.is_some() || data.hold_out > 0.0) && train.validate_every > 0;
    let missing = "since nothing is validated";
    let hint = || Some("set `data.valid` (or `data.hold_out = 0.1`) and `train.validate_every`".to_owned());
    if !validates && train.patience > 0 {
        return refuse_with("train.patience", format!("0, {missing}"), train.patience, hint());
    }
    if !validates && train.schedule.kind == ScheduleKind::Plateau {
        return refuse_with(
            "train.schedule.kind",
            format!("a schedule without validation, {missing}"),
            "`plateau`",
            hint(),
        );
    }
    for (place, criterion) in train.criteria().enumerate() {
        let (key, other) = match place {
            0 => ("train.best_by", "`loss`"),
            _ => ("train.keep_best_by", "another criterion"),
        };
        let name = format!("`{}`", criterion.name());
        let refused = |why: &str, hint| refuse_with(key, format!("{other}, {why}"), &name, hint);
        if train.criteria().take(place).any(|earlier| earlier == criterion) {
            return refused("since each is named once, `train.best_by` included", None);
        }
        if criterion.is_of_translations() && config.model.family.task() != Task::Translate {
            return refused("since this family does not translate", None);
        }
        if !validates && (place > 0 || criterion != BestBy::Loss) {
            return refused(missing, hint());
        }
        if criterion.is_of_translations() && train.validate_sentences == 0 {
            let hint = Some("set `train.validate_sentences`".into());
            return refused("since no validation sentence is translated", hint);
        }
        if criterion == BestBy::Script && train.validation_script.is_empty() {
            return refused("since there is no `train.validation_script`", None);
        }
    }
    let script = &train.validation_script;
    let missing = match () {
        () if !validates => missing,
        () if train.validate_sentences == 0 => "since no validation sentence is translated",
        () => return Ok(()),
    };
    require(script.is_empty(), "train.validation_script", format!("none, {missing}"), format!("{script:?}"))
}
