//! What `special_tokens_map.json` and `tokenizer_config.json` say of a tokenizer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::interop::keys::not_understood;

const MAP: &str = "special_tokens_map.json";
const CONFIG: &str = "tokenizer_config.json";
/// No setting counts more tokens than this.
const LARGEST: u64 = 10_000;

/// The settings of a tokenizer; both files may be missing.
#[derive(Debug, Default)]
pub(super) struct Settings {
    dir: PathBuf,
    map: Map<String, Value>,
    config: Map<String, Value>,
}

impl Settings {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        Ok(Self {
            dir: dir.to_path_buf(),
            map: object(&dir.join(MAP))?,
            config: object(&dir.join(CONFIG))?,
        })
    }

    /// The special token that `key` names.
    pub(super) fn token(&self, key: &str) -> Option<String> {
        let named = |value: &Value| {
            let text = value.as_str().or_else(|| value["content"].as_str());
            text.map(str::to_owned)
        };
        let in_map = self.map.get(key).and_then(named);
        in_map.or_else(|| self.config.get(key).and_then(named))
    }

    /// The text that `key` is set to.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.config.get(key)?.as_str().map(str::to_owned)
    }

    /// Whether `key` is set; `None` if it is missing or null.
    ///
    /// # Errors
    /// Another value.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>> {
        match self.config.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.refuse(key, other)),
        }
    }

    /// The number that `key` is set to; `None` if it is missing or null.
    ///
    /// # Errors
    /// Another value.
    pub(super) fn number(&self, key: &str) -> Result<Option<usize>> {
        match self.config.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|&number| number <= LARGEST) {
                Some(number) => Ok(Some(number as usize)),
                None => Err(self.refuse(key, value)),
            },
        }
    }

    /// Refuses another value of `key` than `only`. It may be missing.
    pub(super) fn only(&self, key: &str, only: bool) -> Result<()> {
        match self.flag(key)? {
            Some(flag) if flag != only => Err(self.refuse(key, &flag.into())),
            _ => Ok(()),
        }
    }

    /// The class of the tokenizer in its tool, without the mark of its fast form.
    pub(super) fn class(&self) -> Option<&str> {
        let class = self.config.get("tokenizer_class")?.as_str()?;
        Some(class.strip_suffix("Fast").unwrap_or(class))
    }

    fn refuse(&self, key: &str, value: &Value) -> Error {
        let problem = format!("`{key}` = {value} is not supported");
        not_understood(&self.dir.join(CONFIG), problem)
    }
}

/// The JSON object in the file `path`, empty if there is no file.
fn object(path: &Path) -> Result<Map<String, Value>> {
    if !path.exists() {
        return Ok(Map::new());
    }
    let text = fs::read(path).map_err(Error::io("read", path))?;
    let object = serde_json::from_slice(&text);
    object.map_err(|error| not_understood(path, format!("no JSON object: {error}")))
}
