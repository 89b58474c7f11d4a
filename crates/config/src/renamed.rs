//! Keys and values that had other names in earlier versions. The old names are still read.

use std::fmt;

use attentive_base::error::{Error, Result};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::schema::join;

/// Renamed keys: section, old name, new name. The order matters: `length_penalty` was the formula before it
/// was the exponent.
const KEYS: [(&str, &str, &str); 13] = [
    ("decode", "length_penalty", "length_penalty_formula"),
    ("decode", "alpha", "length_penalty"),
    ("decode", "stopping", "early_stopping"),
    ("decode", "max_new_tokens", "max_new_extra"),
    ("model", "decoder_start", "decoder_start_token"),
    ("model", "forced_first", "forced_bos_token"),
    ("model", "forced_last", "forced_eos_token"),
    ("model", "further_ends", "extra_eos_tokens"),
    ("model", "never_generated", "suppress_tokens"),
    ("model", "unit_vectors", "normalize_embeddings"),
    ("train", "accumulate", "micro_batches_per_update"),
    ("train", "exchange", "exchange_precision"),
    ("train", "matmul", "precision"),
];

/// Renamed values: section and present name of the key, old value, new value.
const VALUES: [(&str, &str, &str, &str); 3] = [
    ("decode", "early_stopping", "exact", "never"),
    ("decode", "early_stopping", "likely", "heuristic"),
    ("decode", "early_stopping", "first", "always"),
];

/// A name of an earlier version that was read. It displays as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Renamed {
    old: String,
    new: String,
}

impl fmt::Display for Renamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, new } = self;
        write!(f, "`{old}` is now called `{new}`; the old name is still read")
    }
}

/// Replaces the old names in `config`, a table of sections, and returns them.
///
/// # Errors
/// [`Error::Config`] if a key is given by both names.
pub(super) fn rename(config: &mut Table) -> Result<Vec<Renamed>> {
    let mut found: Vec<Renamed> = Vec::new();
    for (name, old, new) in KEYS {
        let section = config.get_mut(name).and_then(Value::as_table_mut);
        if let Some(section) = section
            && let Some(value) = section.get(old)
            && had_name(old, value.as_str())
        {
            let (old_key, new_key) = (join(name, old), join(name, new));
            if section.contains_key(new) {
                return Err(given_twice(old_key, &new_key));
            }
            if let Some(value) = section.remove(old) {
                section.insert(new.into(), value);
            }
            found.push(Renamed { old: old_key, new: new_key });
        }
    }
    for (name, key, old, new) in VALUES {
        let section = config.get_mut(name).and_then(Value::as_table_mut);
        if let Some(value) = section.and_then(|section| section.get_mut(key))
            && value.as_str() == Some(old)
        {
            *value = new.into();
            let key = join(name, key);
            // A key and a value that are both renamed are one note.
            let by_key = found.iter().position(|renamed| renamed.new == key);
            let old_key = by_key.map(|i| found.remove(i).old);
            found.push(Renamed {
                old: format!("{} = \"{old}\"", old_key.unwrap_or_else(|| key.clone())),
                new: format!("{key} = \"{new}\""),
            });
        }
    }
    Ok(found)
}

/// Adds the old names to the JSON Schema of all keys, as deprecated ones.
pub(super) fn add_to_schema(schema: &mut Json) {
    let deprecate = |schema: &mut Json, new: &str| {
        schema["description"] = format!("The old name of `{new}`. It is still read.").into();
        schema["deprecated"] = true.into();
    };
    for (section, key, old, new) in VALUES {
        let values = &mut schema["properties"][section]["properties"][key]["oneOf"];
        let mut value = json!({ "type": "string", "const": old });
        deprecate(&mut value, new);
        values.as_array_mut().expect("a choice").push(value);
    }
    let present = schema.clone();
    for (section, old, new) in KEYS {
        let mut former = present["properties"][section]["properties"][new].clone();
        deprecate(&mut former, new);
        for key in ["default", "examples"] {
            former.as_object_mut().expect("a schema").remove(key);
        }
        let section = &mut schema["properties"][section];
        let property = &mut section["properties"][old];
        if property.is_null() {
            *property = former;
            // A key has one name, but the new name may have been that of another key.
            let other = if KEYS.iter().any(|(_, old, _)| *old == new) {
                json!({ "type": "string" })
            } else {
                json!(false)
            };
            section["dependentSchemas"][old] = json!({ "properties": { new: other } });
        } else {
            let mut now = property.take();
            let description = now["description"].take();
            let default = now["default"].take();
            let object = now.as_object_mut().expect("a schema");
            object.retain(|_, value| !value.is_null());
            *property = json!({ "description": description, "default": default, "anyOf": [now, former] });
        }
    }
}

/// [`rename`] for one dotted `key` and its value. Returns the key by its present name, and the value.
///
/// # Errors
/// Those of [`rename`].
pub(super) fn rename_one(key: &str, value: Value) -> Result<(String, Value, Vec<Renamed>)> {
    let nest = |value, name: &str| Value::Table(Table::from_iter([(name.to_owned(), value)]));
    let mut value = key.rsplit('.').fold(value, nest);
    let renamed = match &mut value {
        Value::Table(config) => rename(config)?,
        _ => Vec::new(),
    };
    let mut names = Vec::new();
    for _ in key.split('.') {
        if let Value::Table(table) = value {
            let (name, inner) = table.into_iter().next().expect("one key at each level");
            names.push(name);
            value = inner;
        }
    }
    Ok((names.join("."), value, renamed))
}

/// Returns true if `section.written` stands for the key `name` where it has this value, given if it is a
/// string.
pub(super) fn stands_for(section: &str, written: &str, name: &str, text: Option<&str>) -> bool {
    if !KEYS.iter().any(|(of, _, new)| (*of, *new) == (section, name)) {
        return written == name;
    }
    let mut olds = KEYS.iter().filter(|(of, old, _)| (*of, *old) == (section, written));
    let new = olds.find(|(_, old, _)| had_name(old, text));
    new.map_or(written, |(_, _, new)| new) == name
}

/// The names under which `section.name` may be written: the present one first.
pub(super) fn names<'a>(section: &str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let olds = KEYS.iter().filter(move |(of, _, new)| *of == section && *new == name);
    std::iter::once(name).chain(olds.map(|(_, old, _)| *old))
}

/// Whether `old` is an old name where it has this value. `length_penalty` is only one for a formula.
fn had_name(old: &str, text: Option<&str>) -> bool {
    old != "length_penalty" || text.is_some_and(|text| ["gnmt", "length"].contains(&text))
}

fn given_twice(old: String, new: &str) -> Error {
    Error::Config {
        expected: format!("only `{new}`, as it is called now"),
        found: "both names".into(),
        hint: Some(format!("remove `{old}`")),
        key: old,
    }
}
