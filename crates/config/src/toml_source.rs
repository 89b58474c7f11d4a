//! The text of a configuration file, to name the lines of its keys in messages.

use std::path::Path;

use attentive_base::error::Error;
use toml::Spanned;
use toml::de::DeTable;

/// The file, and the line on which it names `key`, for messages.
pub(super) fn place_in_file(text: &str, path: &Path, key: &str) -> String {
    match TomlSource::read(text).line_of(key) {
        Some(line) => format!("`{}`, line {line}", path.display()),
        None => format!("`{}`", path.display()),
    }
}

/// A text, and its keys if it is TOML, to find their lines.
pub(super) struct TomlSource<'a> {
    text: &'a str,
    table: Option<Spanned<DeTable<'a>>>,
}

impl<'a> TomlSource<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        Self { text, table: DeTable::parse(text).ok() }
    }

    /// The line, counted from 1, on which the text names `key`.
    pub(super) fn line_of(&self, key: &str) -> Option<usize> {
        let (section, name) =
            key.rsplit_once('.').map_or((None, key), |(section, name)| (Some(section), name));
        let mut table = self.table.as_ref()?.get_ref();
        for part in section.into_iter().flat_map(|section| section.split('.')) {
            table = table.get(part)?.get_ref().as_table()?;
        }
        let (key, _) = table.get_key_value(name)?;
        Some(line_at(self.text, key.span().start))
    }
}

/// The line, counted from 1, of the byte at `offset`.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}

/// The error of a `text` that is not TOML.
pub(super) fn not_toml(text: &str, path: &Path, error: &toml::de::Error) -> Error {
    let message = error.message();
    let problem = match error.span() {
        Some(span) => format!("line {}: {message}", line_at(text, span.start)),
        None => message.to_owned(),
    };
    Error::Toml { path: path.into(), problem }
}
