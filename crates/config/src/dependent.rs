//! Defaults that depend on other keys.

use serde::Deserialize;
use toml::{Table, Value};

use super::schema::join;
use super::{DecodeConfig, Family, LengthPenaltyFormula, ModelConfig, Task, TrainConfig};

/// The most updates of warm-up of a model that is trained already.
const MOST_WARMUP: u64 = 500;

/// A default that depends on other keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependent {
    /// The key that was missing.
    pub(super) key: String,
    /// The keys on which its default depends, for messages.
    pub(super) on: &'static str,
}

/// Sets the missing keys of `config` whose default depends on the family, on the length penalty, or on whether training starts
/// from a model. Returns them.
pub(super) fn fill_in(config: &mut Table) -> Vec<Dependent> {
    let mut found = Vec::new();
    by_family(&mut Missing::of(config, "`model.family`", &mut found));
    by_formula(&mut Missing::of(
        config,
        "`decode.length_penalty_formula`",
        &mut found,
    ));
    by_source(config, &mut found);
    found
}

/// The missing keys of a configuration, to set them.
struct Missing<'a> {
    config: &'a mut Table,
    on: &'static str,
    found: &'a mut Vec<Dependent>,
}

impl<'a> Missing<'a> {
    fn of(config: &'a mut Table, on: &'static str, found: &'a mut Vec<Dependent>) -> Self {
        Self { config, on, found }
    }

    /// Sets a key of a section, unless it is set.
    fn set(&mut self, sections: &str, key: &str, value: impl Into<Value>) {
        let table = sections
            .split('.')
            .fold(&mut *self.config, |table, name| section(table, name));
        if !table.contains_key(key) {
            table.insert(key.to_owned(), value.into());
            self.found.push(Dependent {
                key: join(sections, key),
                on: self.on,
            });
        }
    }
}

/// Families have their own kinds of stacks. Taggers read whole words, and taggers and classifiers have a vocabulary of labels. Only translations have many right words in
/// a place, for which labels are smoothed.
fn by_family(missing: &mut Missing<'_>) {
    let config = &*missing.config;
    let Some(family) = of::<Family>(config, "model", "family") else {
        return;
    };
    let recurrent = get(config, "model").and_then(|model| get(model, "recurrent"));
    let width = recurrent.and_then(|recurrent| recurrent.get("d_input")?.as_integer());
    let reads_vectors = width.is_some_and(|width| width > 0);
    for (key, stack) in family.stacks() {
        missing.set("model", key, stack.to_string());
    }
    let task = family.task();
    if task != Task::Translate {
        missing.set("train", "label_smoothing", 0.0);
    }
    match task {
        // Vectors have no vocabulary to keep separate.
        Task::Tag if reads_vectors => missing.set("tokenizer", "kind", "word"),
        Task::Tag => {
            missing.set("tokenizer", "kind", "word");
            missing.set("tokenizer", "vocabulary", "separate");
        }
        Task::Classify => missing.set("tokenizer", "vocabulary", "separate"),
        Task::Translate | Task::Generate | Task::Fill | Task::Embed => {}
    }
}

/// The exponents of the two formulas have different scales.
fn by_formula(missing: &mut Missing<'_>) {
    let formula: Option<LengthPenaltyFormula> =
        of(missing.config, "decode", "length_penalty_formula");
    if let Some(formula) = formula {
        missing.set("decode", "length_penalty", formula.default_exponent());
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
fn by_source(config: &mut Table, found: &mut Vec<Dependent>) {
    let from: Option<String> = of(config, "model", "from");
    if from.is_none() {
        return;
    }
    let max_steps = of(config, "train", "max_steps").unwrap_or(TrainConfig::default().max_steps);
    let width = of(config, "model", "d_model").unwrap_or(ModelConfig::default().d_model);
    let train = get(config, "train");
    let schedule = train.and_then(|train| get(train, "schedule"));
    let kind = schedule.and_then(|schedule| schedule.get("kind")?.as_str());
    // Others need no warm-up.
    let least = u64::from(matches!(kind, None | Some("noam" | "inverse_sqrt")));
    // Of `noam`, the rate is a factor.
    let has_peak = kind != Some("noam");
    let warmup = (max_steps / 10).clamp(least, MOST_WARMUP) as i64;
    if has_peak {
        Missing::of(config, "`model.from` and `model.d_model`", found).set(
            "train.optimizer",
            "learning_rate",
            fine_tuning_rate(width.max(1)),
        );
    }
    Missing::of(config, "`model.from` and `train.max_steps`", found).set(
        "train.schedule",
        "warmup_steps",
        warmup,
    );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_models_are_trained_on_with_lower_rates() {
        let rates = [1, 128, 256, 512, 768, 1024].map(fine_tuning_rate);
        assert_eq!(rates, [1e-3, 1e-3, 5e-4, 2.5e-4, 1.67e-4, 1.25e-4]);
    }
}
