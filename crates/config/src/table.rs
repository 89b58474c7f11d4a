//! Dotted keys of TOML tables.

use toml::{Table, Value};

use super::schema::join;

/// The value of `key`.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((section, rest)) => get(table.get(section)?.as_table()?, rest),
        None => table.get(key),
    }
}

/// Sets `key`, unless it is set. Returns whether it was missing.
pub(super) fn add(table: &mut Table, key: &str, value: impl Into<Value>) -> bool {
    match key.split_once('.') {
        Some((section, rest)) => {
            let section = table.entry(section).or_insert_with(|| Table::new().into());
            section.as_table_mut().is_some_and(|section| add(section, rest, value))
        }
        None if table.contains_key(key) => false,
        None => table.insert(key.to_owned(), value.into()).is_none(),
    }
}

/// Removes `key`.
pub(super) fn remove(table: &mut Table, key: &str) {
    match key.split_once('.') {
        Some((section, rest)) => {
            if let Some(Value::Table(section)) = table.get_mut(section) {
                remove(section, rest);
            }
        }
        None => drop(table.remove(key)),
    }
}

/// Every value that is no section, with its key.
pub(super) fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(section) => {
                let within = leaves(section).into_iter();
                found.extend(within.map(|(key, value)| (join(name, &key), value)));
            }
            value => found.push((name.clone(), value)),
        }
    }
    found
}
