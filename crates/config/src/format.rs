//! The number of the format of what the program writes: model directories, runs and prepared corpora.

use std::path::Path;

use attentive_base::error::{Error, Result};
use toml::{Table, Value};

/// The number of the format. Files with another one are refused. Formats are promised from version 1.0 on.
pub const FORMAT: u32 = 1;

/// The key of the number in a stored configuration. Other configurations need none.
pub(super) const KEY: &str = "format";

/// Takes the number out of `config`, if it has one.
///
/// # Errors
/// [`Error::Model`] if it is another one.
pub(super) fn take(config: &mut Table, path: &Path) -> Result<Option<u32>> {
    match config.remove(KEY) {
        None => Ok(None),
        Some(Value::Integer(number)) if number == i64::from(FORMAT) => Ok(Some(FORMAT)),
        Some(other) => Err(Error::Model {
            path: path.to_path_buf(),
            problem: format!("has the format {other}, and this program reads format {FORMAT}"),
            hint: Some("use the version of Attentive that wrote it, or a later one".into()),
        }),
    }
}
