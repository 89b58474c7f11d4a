//! A resolved configuration as TOML, with the origin of each value.

use serde_json::Value as Json;
use toml::Value;

use super::schema::{self, KEYS, Key, KeyType};
use super::{Config, Origins};

/// The column at which long comments are broken.
const WIDTH: usize = 120;

impl Config {
    /// The configuration as TOML, with the origin of each value in a comment. Keys without effect are left
    /// out and listed at the end. [`Config::parse`] reads back an equal value.
    pub fn to_toml_with_origins(&self, origins: &Origins) -> String {
        let Ok(config) = serde_json::to_value(self) else {
            return self.to_toml();
        };
        let unused = self.unused_keys();
        let mut text = String::new();
        let sections = KEYS.iter().filter(|key| key.kind == KeyType::Section);
        for section in std::iter::once("").chain(sections.map(|key| key.path.as_str())) {
            let mut lines = Vec::new();
            for key in direct(section) {
                let value = value(&config, &key.path);
                let Some(value) = value.filter(|value| !value.is_object()) else {
                    continue;
                };
                if !unused.contains(&key.path.as_str()) {
                    let (_, name) = split(&key.path);
                    lines.push((format!("{name} = {}", toml(value)), origins.of(&key.path)));
                }
            }
            if lines.is_empty() {
                continue;
            }
            if !section.is_empty() {
                text += &format!("\n[{section}]\n");
            }
            let longest = lines.iter().map(|(line, _)| line.chars().count());
            let width = longest.filter(|&length| length <= 48).max().unwrap_or(0);
            for (line, origin) in lines {
                text += &format!("{line:<width$} # {origin}\n");
            }
        }
        let mut unused: Vec<&str> = unused;
        unused.retain(|key| schema::of(key).get("default").is_some());
        if !unused.is_empty() {
            let list = format!("Without effect here: {}.", unused.join(", "));
            text += "\n";
            for line in wrapped(&list, WIDTH - 2) {
                text += &format!("# {line}\n");
            }
        }
        text
    }
}

/// The keys of a section, without those of the sections in it.
pub(super) fn direct(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| split(&key.path).0 == section)
}

/// The value of a dotted key.
pub(super) fn value<'a>(config: &'a Json, key: &str) -> Option<&'a Json> {
    let mut parts = key.split('.');
    parts.try_fold(config, |value, part| value.get(part))
}

/// The section and the name of a key.
pub(super) fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// A value as TOML on one line.
pub(super) fn toml(value: &Json) -> String {
    match value {
        Json::Array(values) => {
            let values: Vec<String> = values.iter().map(toml).collect();
            format!("[{}]", values.join(", "))
        }
        Json::Object(keys) => {
            let keys = keys.iter().map(|(key, value)| format!("{key} = {}", toml(value)));
            format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

/// `text` in lines of at most `width` characters, broken at blanks.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
