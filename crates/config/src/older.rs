//! Defaults that have changed. Models and runs of earlier versions keep theirs.

use toml::{Table, Value};

use super::{Config, dependent, table};

/// The defaults up to version 0.2 of keys that a configuration stored by it may lack.
const BEFORE: [(&str, Old); 5] = [
    ("tokenizer.split_punctuation", Old::Switch(false)),
    ("tokenizer.split_by_script", Old::Switch(false)),
    ("decode.length_penalty_formula", Old::Text("gnmt")),
    ("decode.length_penalty", Old::Number(0.6)),
    ("train.label_smoothing", Old::Number(0.1)),
];

/// Keys whose defaults have changed since a run may have begun, or depend on limits that may be raised when
/// it is resumed.
const KEPT: [&str; 7] = [
    "tokenizer.split_punctuation",
    "tokenizer.split_by_script",
    "decode.length_penalty",
    "decode.length_penalty_formula",
    "train.label_smoothing",
    "train.optimizer.learning_rate",
    "train.schedule.warmup_steps",
];

/// A former default.
#[derive(Clone, Copy)]
enum Old {
    Switch(bool),
    Number(f64),
    Text(&'static str),
}

impl From<Old> for Value {
    fn from(old: Old) -> Self {
        match old {
            Old::Switch(value) => value.into(),
            Old::Number(value) => value.into(),
            Old::Text(value) => value.into(),
        }
    }
}

/// Sets the keys that the stored configuration `table` lacks to what they meant when it was written.
pub(super) fn fill_in(table: &mut Table) {
    for (key, value) in BEFORE {
        table::add(table, key, value);
    }
}

/// Sets keys that are missing in `table`, the configuration of a run that began with `begun`, and whose
/// default may be another one by now.
pub(super) fn keep(table: &mut Table, begun: &Config) {
    let stored = Table::try_from(begun).unwrap_or_default();
    let mut unused = begun.unused_keys();
    if dependent::has_other_formula(table, &begun.decode) {
        unused.push("decode.length_penalty");
    }
    for key in KEPT.iter().filter(|key| !unused.contains(key)) {
        if let Some(value) = table::get(&stored, key) {
            table::add(table, key, value.clone());
        }
    }
}
