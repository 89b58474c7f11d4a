//! Checks of the keys and types of a TOML table against the schema.

use attentive_base::error::{Error, Result};
use attentive_base::shown::shown;
use toml::{Table, Value};

use super::schema::{KeyType, SCHEMA, join};
use super::{TrainDevice, usual};

/// The maximum number of bytes of a name that may have been meant for another one: it takes long to compare
/// long names.
const LONGEST: usize = 200;

/// Sections of which there may be a list.
const LISTS: [&str; 1] = ["data.train"];

/// Refuses unknown keys and wrong types in `table`, the content of `section` ("" for the whole file).
///
/// # Errors
/// [`Error::Config`] for the first mistake.
pub(super) fn check_table(section: &str, table: &Table) -> Result<()> {
    for (name, value) in table {
        // A quoted key may contain a dot; its quotes are kept so that it is not mistaken for a path.
        let key = if name.contains('.') { join(section, &format!("{name:?}")) } else { join(section, name) };
        check_key(&key, value)?;
    }
    Ok(())
}

/// Refuses `key` if it is unknown or `value` has the wrong type.
///
/// # Errors
/// [`Error::Config`] for the first mistake.
pub(super) fn check_key(key: &str, value: &Value) -> Result<()> {
    let Some(&kind) = SCHEMA.get(key) else {
        return Err(unknown_key(key, value));
    };
    match (kind, value) {
        (KeyType::Section, Value::Table(table)) => check_table(key, table),
        (KeyType::Section, Value::Array(list)) if LISTS.contains(&key) => {
            list.iter().try_for_each(|value| match value {
                Value::Array(_) => Err(wrong_type(key, kind, value)),
                value => check_key(key, value),
            })
        }
        (KeyType::Switch, Value::Boolean(_)) | (KeyType::Text, Value::String(_)) => Ok(()),
        (KeyType::Whole, Value::Integer(0..)) => Ok(()),
        (KeyType::Number, Value::Integer(_) | Value::Float(_)) => Ok(()),
        (KeyType::Texts, Value::Array(texts)) if texts.iter().all(Value::is_str) => Ok(()),
        (KeyType::Columns, Value::Array(columns))
            if columns.iter().all(|column| column.is_str() || matches!(column, Value::Integer(1..))) =>
        {
            Ok(())
        }
        (KeyType::OneOf(allowed), Value::String(text)) if allowed.contains(&text.as_str()) => Ok(()),
        (KeyType::SomeOf(allowed), Value::Array(texts)) => {
            let mut texts = texts.iter();
            let is_allowed = |value: &Value| value.as_str().is_some_and(|text| allowed.contains(&text));
            texts.find(|value| !is_allowed(value)).map_or(Ok(()), |value| Err(wrong_type(key, kind, value)))
        }
        (KeyType::Device, Value::String(text)) if text.parse::<TrainDevice>().is_ok() => Ok(()),
        _ => Err(wrong_type(key, kind, value)),
    }
}

fn wrong_type(key: &str, kind: KeyType, value: &Value) -> Error {
    Error::Config {
        key: key.to_owned(),
        expected: expected(kind),
        found: described(value),
        hint: hint(key, kind, value),
    }
}

fn expected(kind: KeyType) -> String {
    match kind {
        KeyType::Section => "a section of keys".into(),
        KeyType::Switch => "`true` or `false`".into(),
        KeyType::Whole => "a whole number, 0 or more".into(),
        KeyType::Number => "a number".into(),
        KeyType::Text => "a string".into(),
        KeyType::Device => TrainDevice::EXPECTED.into(),
        KeyType::Texts => "a list of strings".into(),
        KeyType::Columns => "a list of names, or of numbers from 1".into(),
        KeyType::OneOf(allowed) => format!("one of {}", listed(allowed.iter().copied())),
        KeyType::SomeOf(allowed) => format!("a list of some of {}", listed(allowed.iter().copied())),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Table(_) => "a section of keys".into(),
        Value::Array(_) => "an array".into(),
        Value::String(text) => format!("the string `{}`", shown(text)),
        scalar => format!("`{scalar}`"),
    }
}

/// A guess at what `value` was meant to be.
fn hint(key: &str, kind: KeyType, value: &Value) -> Option<String> {
    let write = |value: String| format!("write `{value}`");
    match (kind, value) {
        (KeyType::Switch, Value::String(text)) => text.parse::<bool>().ok().map(|on| write(on.to_string())),
        (KeyType::Whole, Value::String(text)) => {
            let number = text.parse::<i64>().ok().filter(|number| *number >= 0)?;
            Some(write(number.to_string()))
        }
        (KeyType::Whole, Value::Float(number)) => {
            const EXACT: f64 = 9e15;
            let is_whole = (0.0..EXACT).contains(number) && number.fract() == 0.0;
            is_whole.then(|| write(number.to_string()))
        }
        (KeyType::Number, Value::String(text)) => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
            Some(write(number.to_string()))
        }
        (KeyType::Text, Value::Integer(_) | Value::Float(_) | Value::Boolean(_)) => {
            Some(format!("put it in quotes: `\"{value}\"`"))
        }
        (KeyType::Texts, Value::String(text)) => Some(format!("put it in brackets: `[\"{}\"]`", shown(text))),
        (KeyType::SomeOf(allowed), Value::String(text)) if allowed.contains(&text.as_str()) => {
            Some(format!("put it in brackets: `[\"{text}\"]`"))
        }
        (KeyType::OneOf(allowed) | KeyType::SomeOf(allowed), Value::String(text)) => {
            let other = usual::hint(key, &normalized(text)).map(str::to_owned);
            other.or_else(|| meant_value(allowed, text).map(did_you_mean))
        }
        (KeyType::Device, Value::String(text)) => device(text).map(write),
        (KeyType::Device, Value::Integer(number @ 0..)) => Some(write(format!("\"gpu:{number}\""))),
        (KeyType::Section, Value::String(text)) => choice(key, text),
        _ => None,
    }
}

/// The device that other programs call `text`.
fn device(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let (kind, number) = match text.split_once(':') {
        Some((kind, number)) => (kind, format!(":{number}")),
        None => (text.as_str(), String::new()),
    };
    let is_gpu = ["gpu", "cuda", "mps", "metal", "vulkan", "rocm", "hip", "xpu"].contains(&kind);
    let found = if is_gpu { format!("gpu{number}") } else { kind.to_owned() };
    let found: TrainDevice = found.parse().ok()?;
    Some(format!("\"{found}\""))
}

/// `text` as values are written.
fn normalized(text: &str) -> String {
    text.to_lowercase().replace(['-', ' '], "_")
}

/// The one of the `allowed` values that `text` probably stands for.
fn meant_value(allowed: &[&'static str], text: &str) -> Option<&'static str> {
    if text.len() > LONGEST {
        return None;
    }
    let text = normalized(text);
    let allowed = || allowed.iter().copied();
    let same = allowed().find(|name| *name == text || usual::is(name, &text));
    same.or_else(|| nearest(allowed(), |name| strsim::jaro_winkler(name, &text)))
}

/// A question whether `text` was meant for `key`, or for the key that says of which kind the section `key`
/// is.
fn choice(key: &str, text: &str) -> Option<String> {
    let keys = [key.to_owned(), join(key, "kind"), join(key, "family")];
    let (key, allowed) = keys.into_iter().find_map(|key| match SCHEMA.get(&key) {
        Some(KeyType::OneOf(allowed)) => Some((key, *allowed)),
        _ => None,
    })?;
    Some(match meant_value(allowed, text) {
        Some(value) => did_you_mean(&format!("{key} = \"{value}\"")),
        None => did_you_mean(&key),
    })
}

fn unknown_key(key: &str, value: &Value) -> Error {
    let hint = match (usual::instead(split(key).1), known_key(key)) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(known)) => meant_key(known, key, value),
        (None, None) => keys_beside(key),
    };
    Error::UnknownKey { key: key.to_owned(), place: String::new(), hint }
}

/// The known key that the unknown `key` probably stands for.
fn known_key(key: &str) -> Option<&'static str> {
    if key.len() > LONGEST {
        return None;
    }
    let (section, name) = split(key);
    let known = SCHEMA.keys().map(String::as_str);
    usual::key(name)
        .or_else(|| kind_key(section).filter(|_| ["name", "type"].contains(&name)))
        .or_else(|| nearest(known, |known| likeness(known, key)))
}

/// The key of `section` that says of which kind it is, if there is one.
fn kind_key(section: &str) -> Option<&'static str> {
    let kinds = ["kind", "family"].map(|name| join(section, name));
    let mut keys = SCHEMA.keys().map(String::as_str);
    keys.find(|key| kinds.iter().any(|kind| kind == key))
}

/// A question whether `known` was meant by the unknown `key`, which has this value.
fn meant_key(known: &str, key: &str, value: &Value) -> String {
    let hint = match value {
        Value::String(text) if split(known).1 != split(key).1 => choice(known, text),
        Value::Table(_) => known.strip_suffix(".kind").map(did_you_mean),
        _ => None,
    };
    let hint = hint.unwrap_or_else(|| did_you_mean(known));
    if known == "decode.beam_width" && key.starts_with("train.") {
        return format!("{hint} (validation is always greedy)");
    }
    hint
}

/// The keys of the section of `key`, or all sections if that section does not exist.
fn keys_beside(key: &str) -> String {
    let (section, _) = split(key);
    let keys = SCHEMA.keys().map(|known| split(known));
    let names = listed(keys.filter(|known| known.0 == section).map(|known| known.1));
    match section {
        "" => format!("the keys at the top are {names}"),
        _ if names.is_empty() => format!("the sections are {}", sections()),
        _ => format!("the keys of `[{section}]` are {names}"),
    }
}

/// Similarity of an unknown key to a known one, up to 1: mostly that of the names, and a little that of the
/// sections.
fn likeness(known: &str, unknown: &str) -> f64 {
    /// Penalty of an entirely different section: about that of a misspelled name.
    const SECTION: f64 = 0.2;
    let unquoted = unknown.replace('"', "");
    let ((section, name), (known_section, known_name)) = (split(&unquoted), split(known));
    let section_likeness = strsim::jaro_winkler(known_section, section);
    strsim::jaro_winkler(known_name, name) - SECTION * (1.0 - section_likeness)
}

/// Section and name of a key.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// The most similar name, if any is similar enough; among equals the shortest, then the first.
fn nearest<'a>(names: impl Iterator<Item = &'a str>, likeness: impl Fn(&str) -> f64) -> Option<&'a str> {
    const ALIKE: f64 = 0.7;
    names
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .min_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())))
        .map(|(_, name)| name)
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

fn sections() -> String {
    listed(SCHEMA.iter().filter(|(_, kind)| **kind == KeyType::Section).map(|(key, _)| key.as_str()))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
