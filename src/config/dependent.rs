//! Defaults that depend on other keys.

use serde::Deserialize;
use toml::{Table, Value};

use super::{DecodeConfig, Family, LengthPenaltyFormula, ModelConfig, Task, TrainConfig};

/// The most updates of warm-up of a model that is trained already.
const MOST_WARMUP: u64 = 500;

/// Sets the missing keys of `config` whose default depends on the family, on the length penalty, or on whether training starts
/// from a model.
pub(super) fn fill_in(config: &mut Table) {
    by_family(config);
    by_formula(config);
    by_source(config);
}

/// Taggers read whole words, and taggers and classifiers have a vocabulary of labels. Only translations have many right words in
/// a place, for which labels are smoothed.
fn by_family(config: &mut Table) {
    let Some(family) = of::<Family>(config, "model", "family") else {
        return;
    };
    let recurrent = get(config, "model").and_then(|model| get(model, "recurrent"));
    let width = recurrent.and_then(|recurrent| recurrent.get("d_input")?.as_integer());
    let reads_vectors = width.is_some_and(|width| width > 0);
    let task = family.task();
    if task != Task::Translate {
        set(config, "train", "label_smoothing", 0.0);
    }
    match task {
        // Vectors have no vocabulary to keep separate.
        Task::Tag if reads_vectors => set(config, "tokenizer", "kind", "word"),
        Task::Tag => {
            set(config, "tokenizer", "kind", "word");
            set(config, "tokenizer", "vocabulary", "separate");
        }
        Task::Classify => set(config, "tokenizer", "vocabulary", "separate"),
        Task::Translate | Task::Generate | Task::Fill | Task::Embed => {}
    }
}

/// The exponents of the two formulas have different scales.
fn by_formula(config: &mut Table) {
    let formula: Option<LengthPenaltyFormula> = of(config, "decode", "length_penalty_formula");
    if let Some(formula) = formula {
        set(
            config,
            "decode",
            "length_penalty",
            formula.default_exponent(),
        );
    }
}

/// Whether `config` sets another formula of the length penalty than that of `known`, whose exponent then means something else.
pub(super) fn has_other_formula(config: &Table, known: &DecodeConfig) -> bool {
    let set: Option<LengthPenaltyFormula> = of(config, "decode", "length_penalty_formula");
    set.is_some_and(|formula| formula != known.length_penalty_formula)
}

/// The peak of the learning rate of a model that is trained already and so wide. With Adam, the best rate is inversely
/// proportional to the width (Yang et al. 2022, *Tensor Programs V*); for a width of 128 it was measured.
fn fine_tuning_rate(width: usize) -> f64 {
    const HIGHEST: f64 = 1e-3;
    const OF_WIDTH: f64 = 128.0;
    let rate = HIGHEST * (OF_WIDTH / width as f64).min(1.0);
    // Three digits, for whoever reads the configuration.
    let digit = 10_f64.powi(2 - rate.log10().floor() as i32);
    (rate * digit).round() / digit
}

/// A model that is trained already needs little warm-up, and is lost at a high learning rate.
fn by_source(config: &mut Table) {
    let from: Option<String> = of(config, "model", "from");
    if from.is_none() {
        return;
    }
    let max_steps = of(config, "train", "max_steps").unwrap_or(TrainConfig::default().max_steps);
    let width = of(config, "model", "d_model").unwrap_or(ModelConfig::default().d_model);
    let train = section(config, "train");
    let kind = get(train, "schedule").and_then(|schedule| schedule.get("kind")?.as_str());
    // Others need no warm-up.
    let least = u64::from(matches!(kind, None | Some("noam" | "inverse_sqrt")));
    // Of `noam`, the rate is a factor.
    let has_peak = kind != Some("noam");
    let warmup = (max_steps / 10).clamp(least, MOST_WARMUP) as i64;
    if has_peak {
        set(
            train,
            "optimizer",
            "learning_rate",
            fine_tuning_rate(width.max(1)),
        );
    }
    set(train, "schedule", "warmup_steps", warmup);
}

fn get<'a>(table: &'a Table, name: &str) -> Option<&'a Table> {
    table.get(name)?.as_table()
}

/// The value of a key that is set.
fn of<T: for<'a> Deserialize<'a>>(config: &Table, section: &str, key: &str) -> Option<T> {
    let value = get(config, section)?.get(key)?.clone();
    T::deserialize(value).ok()
}

/// The section `name`, which is added if it is missing.
fn section<'a>(table: &'a mut Table, name: &str) -> &'a mut Table {
    let section = table.entry(name).or_insert_with(|| Table::new().into());
    match section {
        Value::Table(section) => section,
        _ => unreachable!("sections have been checked"),
    }
}

/// Sets a key unless it is set.
fn set(config: &mut Table, name: &str, key: &str, value: impl Into<Value>) {
    let entry = section(config, name).entry(key);
    entry.or_insert_with(|| value.into());
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
