//! The origins of the values of a configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toml::Table;

use super::table;

/// The origin of a value. It displays as a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// An override of the file.
    Override,
    /// The stored configuration of a model.
    Stored {
        /// The line, counted from 1.
        line: usize,
    },
    /// The configuration of the base model in `model.from`.
    BaseModel,
    /// The configuration with which the resumed run began.
    Run,
    /// A default that depends on other keys.
    DependentDefault {
        /// These keys.
        on: &'static str,
    },
    /// A default.
    Default,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Stored { line } => write!(f, "stored, line {line}"),
            Self::Override => f.write_str("an override"),
            Self::BaseModel => f.write_str("base model"),
            Self::Run => f.write_str("resumed run"),
            Self::DependentDefault { on } => write!(f, "default, depends on {on}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The origins of the values that are no plain defaults, by dotted keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, ValueOrigin>);

impl Origins {
    /// The origin of each value in `table`.
    pub(super) fn new(table: &Table, origin: impl Fn(&str) -> ValueOrigin) -> Self {
        let mut origins = Self::default();
        origins.add(table, origin);
        origins
    }

    /// The origin of each value in `table` that has none yet.
    pub(super) fn add(&mut self, table: &Table, origin: impl Fn(&str) -> ValueOrigin) {
        for (key, _) in table::leaves(table) {
            let new = || origin(&key);
            self.0.entry(key.clone()).or_insert_with(new);
        }
    }

    /// The same origins, for a file that is the stored configuration of a model.
    pub(super) fn stored(mut self) -> Self {
        for origin in self.0.values_mut() {
            if let ValueOrigin::File { line, .. } = *origin {
                *origin = ValueOrigin::Stored { line };
            }
        }
        self
    }

    pub(super) fn insert(&mut self, key: String, origin: ValueOrigin) {
        self.0.insert(key, origin);
    }

    /// The origin of the value of `key`.
    pub fn of(&self, key: &str) -> &ValueOrigin {
        self.0.get(key).unwrap_or(&ValueOrigin::Default)
    }
}
