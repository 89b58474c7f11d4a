//! Defaults that depend on other keys.

use serde::Deserialize;
use toml::{Table, Value};

use super::{DecodeConfig, Family, LengthPenaltyFormula, ModelConfig, Task, TrainConfig, table};

/// The maximum number of warm-up updates when training starts from a model.
const MAX_WARMUP_STEPS: u64 = 500;

/// Sets the missing keys of `config` whose default depends on the family, on the length penalty, or on
/// whether training starts from a model. Returns them, each with the keys on which its default depends, for
/// messages.
pub(super) fn fill_in(config: &mut Table) -> Vec<(&'static str, &'static str)> {
    let mut missing = Missing { config, found: Vec::new() };
    by_family(&mut missing);
    by_formula(&mut missing);
    by_source(&mut missing);
    missing.found
}

/// The missing keys of a configuration, to set them.
struct Missing<'a> {
    config: &'a mut Table,
    found: Vec<(&'static str, &'static str)>,
}

impl Missing<'_> {
    /// Sets `key` to the default `value`, which depends on the keys `on`, unless it is set.
    fn set(&mut self, key: &'static str, on: &'static str, value: impl Into<Value>) {
        if table::add(self.config, key, value) {
            self.found.push((key, on));
        }
    }

    /// The value of a key that is set.
    fn of<T: for<'a> Deserialize<'a>>(&self, key: &str) -> Option<T> {
        T::deserialize(table::get(self.config, key)?.clone()).ok()
    }
}

/// Sets the kinds of stacks of the family. Taggers read whole words, and taggers and classifiers have a
/// vocabulary of labels. Labels are smoothed for translation alone, where several words may be right.
fn by_family(missing: &mut Missing<'_>) {
    let Some(family) = missing.of::<Family>("model.family") else {
        return;
    };
    let mut set = |key, value: Value| missing.set(key, "`model.family`", value);
    for (key, stack) in family.stacks() {
        set(key, (*stack).into());
    }
    let task = family.task();
    if task != Task::Translate {
        set("train.label_smoothing", 0.0.into());
    }
    if task == Task::Tag {
        set("tokenizer.kind", "word".into());
    }
    let width = missing.of("model.recurrent.d_input").unwrap_or(0);
    // Vectors have no vocabulary to keep separate.
    if task == Task::Classify || task == Task::Tag && width == 0 {
        missing.set("tokenizer.vocabulary", "`model.family`", "separate");
    }
}

/// Sets the exponent of the length penalty, which has another scale in each of the two formulas.
fn by_formula(missing: &mut Missing<'_>) {
    let on = "`decode.length_penalty_formula`";
    let formula = missing.of::<LengthPenaltyFormula>("decode.length_penalty_formula");
    if let Some(formula) = formula {
        missing.set("decode.length_penalty", on, formula.default_exponent());
    }
}

/// Whether `config` sets another formula of the length penalty than that of `known`, whose exponent then
/// means something else.
pub(super) fn has_other_formula(config: &Table, known: &DecodeConfig) -> bool {
    let set = table::get(config, "decode.length_penalty_formula").cloned();
    let set = set.and_then(|formula| LengthPenaltyFormula::deserialize(formula).ok());
    set.is_some_and(|formula| formula != known.length_penalty_formula)
}

/// The highest learning rate when training starts from a model of this width. With Adam, the best rate is
/// inversely proportional to the width (Yang et al. 2022, *Tensor Programs V*); for a width of 128 it was
/// measured.
fn fine_tuning_rate(width: usize) -> f64 {
    const HIGHEST: f64 = 1e-3;
    const OF_WIDTH: f64 = 128.0;
    let rate = HIGHEST * (OF_WIDTH / width as f64).min(1.0);
    // Three digits, for whoever reads the configuration.
    let digit = 10_f64.powi(2 - rate.log10().floor() as i32);
    (rate * digit).round() / digit
}

/// When training starts from a model, a short warm-up suffices, and a high learning rate would undo what the
/// model has learned.
fn by_source(missing: &mut Missing<'_>) {
    if missing.of::<String>("model.from").is_none() {
        return;
    }
    let max_steps = missing.of("train.max_steps").unwrap_or(TrainConfig::default().max_steps);
    let width = missing.of("model.d_model").unwrap_or(ModelConfig::default().d_model);
    let kind: Option<String> = missing.of("train.schedule.kind");
    let kind = kind.as_deref();
    // These schedules need a warm-up; the others do not.
    let least = u64::from(matches!(kind, None | Some("noam" | "inverse_sqrt")));
    // With `noam`, `learning_rate` is no learning rate but a factor of the schedule.
    if kind != Some("noam") {
        missing.set(
            "train.optimizer.learning_rate",
            "`model.from` and `model.d_model`",
            fine_tuning_rate(width.max(1)),
        );
    }
    let warmup = (max_steps / 10).clamp(least, MAX_WARMUP_STEPS) as i64;
    missing.set("train.schedule.warmup_steps", "`model.from` and `train.max_steps`", warmup);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_models_are_trained_on_with_lower_rates() {
        let rates = [1, 128, 256, 512, 768, 1024].map(fine_tuning_rate);
        assert_eq!(rates, [1e-3, 1e-3, 5e-4, 2.5e-4, 1.67e-4, 1.25e-4]);
    }
}
