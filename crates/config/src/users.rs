//! The families that use each key.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::schema::{self, choices, fact};
use super::{Family, Task};

/// All families, in the order of the schema.
pub(super) static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let names = choices(schema::of("model.family")).map(|(name, _)| name);
    let families = names.map(|name| Family::deserialize(serde_json::json!(name)));
    families.map(|family| family.expect("a family")).collect()
});

/// The families that use `key`, with some values of other keys.
pub(super) fn of(key: &str) -> Vec<Family> {
    static BY_KEY: LazyLock<BTreeMap<String, Vec<Family>>> = LazyLock::new(|| {
        let mut users: BTreeMap<String, Vec<Family>> = BTreeMap::new();
        for (family, keys) in FAMILIES.iter().zip(schema::keys_of_families()) {
            for key in keys {
                users.entry(key).or_default().push(*family);
            }
        }
        users
    });
    match BY_KEY.get(key) {
        Some(users) => users.clone(),
        None if fact(schema::of(key), "x-task") == "translate" => {
            let translates = |family: &Family| family.task() == Task::Translate;
            FAMILIES.iter().copied().filter(translates).collect()
        }
        None => FAMILIES.clone(),
    }
}

/// The reason for which families other than `users` do not use a key.
pub(super) fn reason(users: &[Family]) -> String {
    match users {
        [one] => format!("only the family `{one}` uses it"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|family| format!("`{family}`")).collect();
            format!("only the families {} and `{last}` use it", first.join(", "))
        }
        [] => "no family uses it".into(),
    }
}
