//! Defaults that have changed. Models and runs of earlier versions keep theirs.

use toml::{Table, Value};

use super::{Config, dependent};

/// The defaults up to version 0.2 of keys that a configuration stored by it may lack: section, key, value in TOML.
const BEFORE: [(&str, &str, Old); 5] = [
    ("tokenizer", "split_punctuation", Old::Switch(false)),
    ("tokenizer", "split_by_script", Old::Switch(false)),
    ("decode", "length_penalty_formula", Old::Text("gnmt")),
    ("decode", "length_penalty", Old::Number(0.6)),
    ("train", "label_smoothing", Old::Number(0.1)),
];

/// Keys whose defaults have changed since a run may have begun, or depend on limits that may be raised when it is resumed.
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
    for (section, key, value) in BEFORE {
        add(table, &[section, key], value.into());
    }
}

/// Sets keys that are missing in `table`, the configuration of a run that began with `begun`, and whose default may be another
/// one by now.
pub(super) fn keep(table: &mut Table, begun: &Config) {
    let Ok(stored) = Value::try_from(begun) else {
        return;
    };
    let mut unused = begun.unused_keys();
    if dependent::has_other_formula(table, &begun.decode) {
        unused.push("decode.length_penalty");
    }
    for key in KEPT.iter().filter(|key| !unused.contains(key)) {
        let path: Vec<&str> = key.split('.').collect();
        let value = path.iter().try_fold(&stored, |table, part| table.get(part));
        if let Some(value) = value {
            add(table, &path, value.clone());
        }
    }
}

/// Adds the value at `path` unless there is one.
fn add(table: &mut Table, path: &[&str], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.entry(*key).or_insert(value);
        }
        [section, rest @ ..] => {
            let section = table.entry(*section).or_insert_with(|| Table::new().into());
            if let Value::Table(section) = section {
                add(section, rest, value);
            }
        }
    }
}
