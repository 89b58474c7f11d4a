//! Defaults that depend on the family.

use serde::Deserialize;
use toml::{Table, Value};

use super::{Family, Task};

/// Sets the missing keys of `[tokenizer]` whose default depends on the family: taggers read whole words, and taggers and
/// classifiers have a vocabulary of labels.
pub(super) fn fill_in(config: &mut Table) {
    let model = config.get("model").and_then(Value::as_table);
    let family = model.and_then(|model| model.get("family")).cloned();
    let Some(family) = family.and_then(|family| Family::deserialize(family).ok()) else {
        return;
    };
    let recurrent = model.and_then(|model| model.get("recurrent")?.as_table());
    let reads_vectors = recurrent
        .and_then(|recurrent| recurrent.get("d_input")?.as_integer())
        .is_some_and(|width| width > 0);
    let defaults: &[(&str, &str)] = match family.task() {
        // Vectors have no vocabulary to keep separate.
        Task::Tag if reads_vectors => &[("kind", "word")],
        Task::Tag => &[("kind", "word"), ("vocabulary", "separate")],
        Task::Classify => &[("vocabulary", "separate")],
        Task::Translate | Task::Generate | Task::Fill | Task::Embed => &[],
    };
    if defaults.is_empty() {
        return;
    }
    let section = config
        .entry("tokenizer")
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(tokenizer) = section {
        for (key, value) in defaults {
            tokenizer
                .entry(*key)
                .or_insert_with(|| Value::String((*value).into()));
        }
    }
}
