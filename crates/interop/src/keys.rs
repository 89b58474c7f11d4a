//! The keys of a JSON file. Each of them must be understood.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The keys of a JSON object that have not been read yet.
#[derive(Debug)]
pub(super) struct UnreadKeys {
    path: PathBuf,
    left: Map<String, Value>,
}

impl UnreadKeys {
    /// Reads the keys of the file `path`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = regular_file::read(path, regular_file::BY_HAND)?;
        let left = serde_json::from_slice(&text);
        Ok(Self {
            left: left.map_err(|error| not_understood(path, format!("not a JSON object: {error}")))?,
            path: path.to_path_buf(),
        })
    }

    /// Returns the keys `left` of a description in the file `path`.
    pub(super) fn of(path: &Path, left: Map<String, Value>) -> Self {
        Self { path: path.to_path_buf(), left }
    }

    /// Reads the value of `key`; `None` if it is missing or null.
    pub(super) fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>> {
        match self.left.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                serde_json::from_value(value.clone()).map(Some).map_err(|_| self.refuse(key, &value))
            }
        }
    }

    /// Reads the value of `key`, which will be read again.
    pub(super) fn peek<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>> {
        let value = self.left.get(key).cloned();
        let read = self.optional(key);
        self.left.extend(value.map(|value| (key.to_owned(), value)));
        read
    }

    /// Sets `value` to the value of `key`, which may be null, unless it is missing.
    pub(super) fn update<T: DeserializeOwned>(&mut self, key: &str, value: &mut Option<T>) -> Result<()> {
        if self.left.contains_key(key) {
            *value = self.optional(key)?;
        }
        Ok(())
    }

    /// True if the value of `key` differs from `usual` and is not null.
    pub(super) fn differs(&self, key: &str, usual: &Value) -> bool {
        match self.left.get(key) {
            None | Some(Value::Null) => false,
            Some(value) => !equal(value, usual),
        }
    }

    /// Reads the value of `key`.
    pub(super) fn required<T: DeserializeOwned>(&mut self, key: &str) -> Result<T> {
        let value = self.optional(key)?;
        value.ok_or_else(|| not_understood(&self.path, format!("`{key}` is missing")))
    }

    /// Reads the value of `key`; `default` if it is missing or null.
    pub(super) fn or<T: DeserializeOwned>(&mut self, key: &str, default: T) -> Result<T> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// Refuses any value of `key` but `only`. It may be missing.
    pub(super) fn only(&mut self, key: &str, only: impl Into<Value>) -> Result<()> {
        let only = only.into();
        match self.left.remove(key) {
            None | Some(Value::Null) => Ok(()),
            Some(value) if equal(&value, &only) => Ok(()),
            Some(value) => Err(self.refuse(key, &value)),
        }
    }

    /// The error for a value of `key` that is not supported.
    pub(super) fn refuse(&self, key: &str, value: &Value) -> Error {
        not_understood(&self.path, format!("`{key}` = {value} is not supported"))
    }

    /// The error for this problem with the file.
    pub(super) fn problem(&self, problem: impl Into<String>) -> Error {
        not_understood(&self.path, problem)
    }

    /// The error for two keys of which at most one can be right.
    pub(super) fn contradict(&self, one: &str, other: &str) -> Error {
        let problem = format!("`{one}` and `{other}` contradict each other");
        Error::Model {
            path: self.path.clone(),
            problem,
            hint: Some("remove the one that the model was not trained with".into()),
        }
    }

    /// Drops keys that do not affect the output of the model.
    pub(super) fn ignore(&mut self, keys: &[&str]) {
        self.left.retain(|key, _| !keys.contains(&key.as_str()));
    }

    /// Refuses keys that have not been read.
    pub(super) fn finish(self) -> Result<()> {
        match self.left.iter().find(|(_, value)| !value.is_null()) {
            None => Ok(()),
            Some((key, value)) => Err(not_understood(
                &self.path,
                format!("`{key}` = {value} is unknown, and may change what the model computes"),
            )),
        }
    }
}

/// True if these values are the same. 1 equals 1.0.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || one.is_number() && one.as_f64() == other.as_f64()
}

/// The error for something in the file or directory `path` that is not understood.
pub(super) fn not_understood(path: &Path, problem: impl Into<String>) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem: problem.into(),
        hint: Some("`attentive help import` lists the kinds of models that can be read".into()),
    }
}
