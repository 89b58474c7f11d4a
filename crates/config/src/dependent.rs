//! Defaults that depend on other keys.

use serde::Deserialize;
use toml::{Table, Value};

use super::{DecodeConfig, Family, LengthPenaltyFormula, ModelConfig, Task, TrainConfig, table};

/// The most updates of warm-up of a model that is trained already.
const MOST_WARMUP: u64 = 500;

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
    /// Sets `key`, unless it is set. Its default depends on the keys `on`.
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

/// Families have their own kinds of stacks. Taggers read whole words, and taggers and classifiers have a
/// vocabulary of labels. Only translations have many right words in a place, for which labels are smoothed.
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

/// The exponents of the two formulas have different scales.
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

/// The peak of the learning rate of a model that is trained already and so wide. With Adam, the best rate is
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

/// A model that is trained already needs little warm-up, and is lost at a high learning rate.
fn by_source(missing: &mut Missing<'_>) {
    if missing.of::<String>("model.from").is_none() {
        return;
    }
    let max_steps = missing.of("train.max_steps").unwrap_or(TrainConfig::default().max_steps);
    let width = missing.of("model.d_model").unwrap_or(ModelConfig::default().d_model);
    let kind: Option<String> = missing.of("train.schedule.kind");
    let kind = kind.as_deref();
    // Others need no warm-up.
    let least = u64::from(matches!(kind, None | Some("noam" | "inverse_sqrt")));
    // Of `noam`, the rate is a factor.
    if kind != Some("noam") {
        missing.set(
            "train.optimizer.learning_rate",
            "`model.from` and `model.d_model`",
            fine_tuning_rate(width.max(1)),
        );
    }
    let warmup = (max_steps / 10).clamp(least, MOST_WARMUP) as i64;
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
