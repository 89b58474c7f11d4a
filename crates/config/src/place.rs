//! Places in a configuration file, for messages.

use std::path::Path;

use attentive_base::error::Error;
use toml::de::DeTable;

use super::renamed;

/// The file, and the line on which it names `key`, for messages.
pub(super) fn place_in_file(text: &str, path: &Path, key: &str) -> String {
    match line_of(text, key) {
        Some(line) => format!("`{}`, line {line}", path.display()),
        None => format!("`{}`", path.display()),
    }
}

/// The line, counted from 1, on which `text` names `key`.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (section, name) = key
        .rsplit_once('.')
        .map_or((None, key), |(section, name)| (Some(section), name));
    let mut table = document.get_ref();
    for part in section.into_iter().flat_map(|section| section.split('.')) {
        table = table.get(part)?.get_ref().as_table()?;
    }
    let section = section.unwrap_or("");
    let found = renamed::names(section, name).find_map(|written| {
        let (key, value) = table.get_key_value(written)?;
        let value = value.get_ref().as_str();
        renamed::stands_for(section, written, name, value).then_some(key)
    })?;
    Some(line_at(text, found.span().start))
}

/// The line, counted from 1, of the byte at `offset`.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|&byte| byte == b'\n')
        .count()
}

/// The error of a `text` that is not TOML.
pub(super) fn not_toml(text: &str, path: &Path, error: &toml::de::Error) -> Error {
    let message = error.message();
    let problem = match error.span() {
        Some(span) => format!("line {}: {message}", line_at(text, span.start)),
        None => message.to_owned(),
    };
    Error::Toml {
        path: path.into(),
        problem,
    }
}
