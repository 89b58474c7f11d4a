//! Strict reading: from TOML text and overrides to a checked [`Config`].

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::foreign::contain;
use attentive_base::regular_file;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::origin::{Origins, ValueOrigin};
use super::strict::{check_key, check_table};
use super::toml_source::{TomlSource, not_toml, place_in_file};
use super::{Config, corpus, dependent, format, resumed, source};

/// The largest configuration.
const MAX_BYTES: u64 = 16 << 20;

/// The location of an override in error messages.
const OVERRIDE: &str = "an override";

impl Config {
    /// Reads the file `path`, then applies `overrides` in order, and takes over what `model.from` says.
    ///
    /// An override is `KEY=VALUE`, for example `train.batch_tokens=2048`. A value that is not TOML is taken
    /// as a string, so that `tokenizer.kind=word` needs no quotes.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Data`] if it is too large, and those of
    /// [`Config::parse`].
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        let draft = ConfigDraft::load(path, overrides)?;
        let known = draft.known(None)?;
        draft.resolve(&known)
    }

    /// Reads the resolved configuration `path` of a model directory. Values without effect are accepted,
    /// since imported models have them.
    ///
    /// # Errors
    /// Those of [`Config::load`], and [`Error::Model`] if it has another [format](crate::FORMAT).
    pub fn load_stored(path: &Path) -> Result<Self> {
        ConfigDraft::load(path, &[])?.resolve_stored().map(|(config, _)| config)
    }

    /// Reads `text`, the content of the file `path`, then applies `overrides` as [`Config::load`] does.
    ///
    /// # Errors
    /// [`Error::Toml`] if `text` is not TOML, [`Error::Usage`] if an override is not `KEY=VALUE`, and
    /// [`Error::Config`] with key and location for unknown keys, wrong types, values that
    /// [`Config::validate`] refuses, and those that contradict the model in `model.from`.
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self> {
        let draft = ConfigDraft::parse(text, path, overrides)?;
        let known = draft.known(None)?;
        draft.resolve(&known)
    }

    /// The whole configuration as TOML, with every default written out. [`Config::parse`] reads back an equal
    /// value.
    ///
    /// # Panics
    /// If a number exceeds TOML's 63 bits or a path is not UTF-8. [`Config::validate`] refuses both.
    pub fn to_toml(&self) -> String {
        let keys = toml::to_string(self)
            .unwrap_or_else(|error| panic!("a valid config can be written as TOML: {error}"));
        format!("{} = {}\n{keys}", format::KEY, format::FORMAT)
    }
}

/// A configuration file that has been read. With `model.from`, it lacks what the model there says.
#[derive(Debug)]
pub struct ConfigDraft {
    text: String,
    path: PathBuf,
    overrides: Vec<Override>,
    /// The format of a stored configuration, if it names one.
    format: Option<u32>,
    /// With the overrides.
    table: Table,
}

/// Configurations that complete a [`ConfigDraft`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KnownConfigs {
    /// The configuration of the base model, from which training starts.
    pub source: Option<Config>,
    /// The configuration with which the resumed run began. Defaults that have changed since then are taken
    /// from it.
    pub begun: Option<Config>,
}

impl ConfigDraft {
    /// Reads the file `path`, then applies `overrides` as [`Config::load`] does.
    ///
    /// # Errors
    /// Those of [`Config::load`] for unknown keys and wrong types.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = regular_file::read_text(path, MAX_BYTES)?;
        Self::parse(&text, path, overrides)
    }

    /// Reads `text`, the content of the file `path`, then applies `overrides` as [`Config::load`] does.
    ///
    /// # Errors
    /// Those of [`ConfigDraft::load`].
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self> {
        let parsed = contain(|| text.parse::<Table>())
            .map_err(|problem| Error::Toml { path: path.into(), problem })?;
        let mut table = parsed.map_err(|error| not_toml(text, path, &error))?;
        let format = format::take(&mut table, path)?;
        check_table("", &table).map_err(|error| located(error, |key| place_in_file(text, path, key)))?;
        let overrides = overrides.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>>>()?;
        for Override { key, value } in &overrides {
            check_key(key, value).map_err(|error| located(error, |_| OVERRIDE.to_owned()))?;
            set(&mut table, key, value.clone())?;
        }
        let draft = Self { format, text: text.to_owned(), path: path.to_path_buf(), overrides, table };
        corpus::check(&draft.table).map_err(|error| draft.located(error))?;
        Ok(draft)
    }

    /// The configurations that complete this one, for a run that is resumed in the directory `resumed` if
    /// given. It knows that of the model from which training started, so that the model itself is no longer
    /// needed.
    ///
    /// # Errors
    /// Those of [`Config::load_source`].
    pub fn known(&self, resumed: Option<&Path>) -> Result<KnownConfigs> {
        let run = resumed.filter(|run| Config::is_in(run));
        let model = self.table.get("model");
        let Some(from) = model.and_then(|model| model.get("from")?.as_str()) else {
            return Ok(KnownConfigs {
                source: None,
                // What is wrong with it is said when the run is opened.
                begun: run.and_then(|run| Config::load_source(run).ok()),
            });
        };
        let begun = run.map(Config::load_source).transpose()?;
        let stored = begun.clone().filter(|stored| stored.model.from.is_some());
        let source = match stored {
            Some(stored) => Ok(stored),
            None => Config::load_source(Path::new(from)),
        };
        let source = source.map_err(|error| self.located(error))?;
        Ok(KnownConfigs { source: Some(source), begun })
    }

    /// The whole configuration, given the result of [`ConfigDraft::known`].
    ///
    /// # Errors
    /// Those of [`Config::parse`].
    pub fn resolve(self, known: &KnownConfigs) -> Result<Config> {
        self.resolve_with_origins(known).map(|(config, _)| config)
    }

    /// [`ConfigDraft::resolve`], with the origins of the values.
    ///
    /// # Errors
    /// Those of [`Config::parse`].
    pub fn resolve_with_origins(mut self, known: &KnownConfigs) -> Result<(Config, Origins)> {
        let KnownConfigs { source, begun } = known;
        let mut origins = self.origins();
        if let Some(begun) = begun {
            resumed::keep(&mut self.table, begun);
            origins.add(&self.table, |_| ValueOrigin::Run);
        }
        let source = source.as_ref();
        let config = self.finish(source, &mut origins, |config, table| {
            source.map_or(Ok(()), |source| config.check_source(source))?;
            config.validate_read(table)
        })?;
        Ok((config, origins))
    }

    /// The whole configuration, if the file is that of a model directory: it is read like
    /// [`Config::load_stored`] does, with the origins of the values. The base model of `model.from` is not
    /// needed.
    ///
    /// # Errors
    /// Those of [`Config::load_stored`].
    pub fn resolve_stored(self) -> Result<(Config, Origins)> {
        format::require(self.format, &self.path)?;
        let mut origins = self.origins().stored();
        let config = self.finish(None, &mut origins, |config, _| config.validate_stored())?;
        Ok((config, origins))
    }

    /// The origins of the values in the file with the overrides.
    fn origins(&self) -> Origins {
        let document = TomlSource::read(&self.text);
        Origins::new(&self.table, |key| {
            let overridden = self.overrides.iter().any(|o| o.sets(key));
            match document.line_of(key).filter(|_| !overridden) {
                Some(line) => ValueOrigin::File { path: self.path.clone(), line },
                None => ValueOrigin::Override,
            }
        })
    }

    pub(super) fn finish(
        mut self,
        source: Option<&Config>,
        origins: &mut Origins,
        validate: impl Fn(&Config, &Table) -> Result<()>,
    ) -> Result<Config> {
        let mut table = std::mem::take(&mut self.table);
        if let Some(source) = source {
            source::fill_in(&mut table, source);
            origins.add(&table, |_| ValueOrigin::BaseModel);
        }
        for (key, on) in dependent::fill_in(&mut table) {
            origins.insert(key.to_owned(), ValueOrigin::DependentDefault { on });
        }
        // The checks above have already refused, with better messages, everything that serde could refuse.
        let config = Config::deserialize(table.clone()).map_err(|error: toml::de::Error| Error::Toml {
            path: self.path.clone(),
            problem: error.message().into(),
        })?;
        validate(&config, &table).map_err(|error| self.located(error))?;
        Ok(config)
    }

    fn located(&self, error: Error) -> Error {
        located(error, |key| place(&self.text, &self.path, &self.overrides, key))
    }
}

/// A `KEY=VALUE`.
#[derive(Debug)]
struct Override {
    key: String,
    value: Value,
}

impl Override {
    fn parse(text: &str) -> Result<Self> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(Error::usage(
                format!("the override `{text}` sets nothing: expected KEY=VALUE"),
                "as in `train.batch_tokens=2048`",
            ));
        };
        let value = value.trim();
        let value = value.parse().unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self { key: key.trim().to_owned(), value })
    }

    /// Whether the override sets `key`, directly or through its section.
    fn sets(&self, key: &str) -> bool {
        is_within(key, &self.key)
    }
}

/// Whether `key` is `section` or one of its keys.
fn is_within(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Sets the known key `key` of `table`, whose sections have been checked.
///
/// # Errors
/// [`Error::Usage`] if a section is a list.
fn set(table: &mut Table, key: &str, value: Value) -> Result<()> {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
        Some((name, rest)) => {
            let section = table.entry(name).or_insert_with(|| Value::Table(Table::new()));
            match section {
                Value::Table(section) => set(section, rest, value),
                _ => Err(Error::usage(
                    format!("the override `…{name}.{rest}` sets a key of a list"),
                    format!("override the whole list, as in `…{name}=[{{ … }}, {{ … }}]`"),
                )),
            }
        }
    }
}

/// Adds the location of the value to an [`Error::Config`], and that of the key to an [`Error::UnknownKey`].
fn located(error: Error, place: impl FnOnce(&str) -> String) -> Error {
    match error {
        Error::Config { key, expected, found, hint } => {
            let found = format!("{found} ({})", place(&key));
            Error::Config { key, expected, found, hint }
        }
        Error::UnknownKey { key, hint, .. } => {
            Error::UnknownKey { place: format!(" ({})", place(&key)), key, hint }
        }
        other => other,
    }
}

/// The origin of the value of `key`: an override, the file, or neither.
fn place(text: &str, path: &Path, overrides: &[Override], key: &str) -> String {
    if overrides.iter().any(|o| o.sets(key)) {
        OVERRIDE.to_owned()
    } else if TomlSource::read(text).line_of(key).is_some() {
        place_in_file(text, path, key)
    } else if overrides.iter().any(|o| is_within(&o.key, key)) {
        OVERRIDE.to_owned()
    } else {
        format!("not set in `{}`", path.display())
    }
}
