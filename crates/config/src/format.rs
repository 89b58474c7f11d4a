//! The number of the format of what the program writes: model directories, runs and prepared corpora.

use std::path::Path;

use attentive_base::error::{Error, Result};
use toml::{Table, Value};

/// The number of the format. Files with another one are refused. Formats are promised from version 1.0 on.
pub const FORMAT: u32 = 1;

/// The key of the number in a stored configuration. Other configurations need none.
pub(super) const KEY: &str = "format";

/// The last commit that reads models and runs from before formats had numbers, and writes format 1.
const CONVERTER: &str = "52e42762";

/// Takes the number out of the configuration `config` in the file `path`, if it has one.
///
/// # Errors
/// [`Error::Model`] if it is another one.
pub(super) fn take(config: &mut Table, path: &Path) -> Result<Option<u32>> {
    match config.remove(KEY) {
        None => Ok(None),
        Some(Value::Integer(number)) if number == i64::from(FORMAT) => Ok(Some(FORMAT)),
        Some(other) => Err(Error::Model {
            path: path.to_path_buf(),
            problem: format!("has format {other}, and this program reads format {FORMAT}"),
            hint: Some("use the version of Attentive that wrote it, or a later one".into()),
        }),
    }
}

/// Refuses the stored configuration `path` if it has no number.
///
/// # Errors
/// [`Error::Model`]
pub(super) fn require(number: Option<u32>, path: &Path) -> Result<()> {
    match number {
        Some(_) => Ok(()),
        None => Err(Error::Model {
            path: path.to_path_buf(),
            problem: "was written before formats had numbers".into(),
            hint: Some(format!(
                "convert the model with the Python package of commit {CONVERTER}: \
                 `attentive.load(\"old\").save(\"new\")`"
            )),
        }),
    }
}
