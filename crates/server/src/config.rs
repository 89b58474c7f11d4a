//! The configuration of a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::TrainDevice;
use attentive_model::engine::Precision;
use serde::Deserialize;
use toml::Table;

use crate::http::hosts;
use crate::language::{Language, TranslationDirection};
use crate::limits::Limits;
use attentive_base::plain::plain;

/// The maximum size of a configuration file, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The maximum number of threads of a model, unless the machine has more CPUs.
const MAX_THREADS: usize = 64;

/// The default address of a server.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";

/// The configuration of a server: the models, the address, the keys and the limits.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeConfig {
    /// The models, with distinct names; at least one.
    pub models: Vec<ServedModel>,
    /// The address to listen on, such as `127.0.0.1:8080`; with port 0, the system chooses a free port.
    pub listen: String,
    /// A file of keys, one per line, one of which every request must contain. Without it, no key is needed.
    pub api_key_file: Option<PathBuf>,
    /// The number type in which models compute unless they have their own setting; by default, the type in
    /// which they are stored.
    pub precision: Option<Precision>,
    /// The device that decodes. Models that do not decode compute on the CPU.
    pub device: TrainDevice,
    /// The number of threads that decode, for each model on the CPU.
    pub threads: usize,
    /// Limits on concurrent work.
    pub limits: Limits,
    /// True if texts appear in the log.
    pub log_text: bool,
    /// Names by which requests may call the server, in `Host`, besides `localhost` and addresses; `*` for any
    /// name. If the list is empty, a server that listens on the loopback interface accepts only those, and
    /// any other server accepts all names.
    pub allowed_hosts: Vec<String>,
}

/// A model to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedModel {
    /// The name by which requests select the model.
    pub name: String,
    /// The model directory.
    pub dir: PathBuf,
    /// The languages of a translation model, if they are known.
    pub direction: Option<TranslationDirection>,
    /// The number type in which the model computes, if it differs from the server's.
    pub precision: Option<Precision>,
}

impl ServedModel {
    /// Describes a model in the directory `dir`, called `name`; a name such as `en-de` determines the
    /// languages.
    pub fn new(name: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        let name = name.into();
        Self { direction: TranslationDirection::of_name(&name), name, dir: dir.into(), precision: None }
    }

    /// Reads `NAME=DIR`.
    ///
    /// # Errors
    /// [`Error::Usage`] for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((name, dir)) if !name.is_empty() && !dir.is_empty() => Ok(Self::new(name, dir)),
            _ => Err(Error::usage(
                format!("`{text}` is not a name and a model directory"),
                "write NAME=DIR, as in `en-de=runs/multi30k`",
            )),
        }
    }
}

impl ServeConfig {
    /// Creates a configuration with these models and defaults for everything else.
    pub fn new(models: Vec<ServedModel>) -> Self {
        Self {
            models,
            listen: DEFAULT_ADDRESS.into(),
            api_key_file: None,
            precision: None,
            device: TrainDevice::Cpu,
            threads: thread::available_parallelism().map_or(1, usize::from),
            limits: Limits::default(),
            log_text: false,
            allowed_hosts: Vec::new(),
        }
    }

    /// Reads a TOML file. Relative paths in it are resolved against the current directory.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Data`] if it is too large, [`Error::Toml`] if it is
    /// not TOML, [`Error::Usage`] for unknown keys, values of the wrong type, half a pair of languages, and times
    /// that are negative or too long.
    pub fn load(path: &Path) -> Result<Self> {
        let text = regular_file::read_text(path, MAX_CONFIG_BYTES)?;
        toml::from_str::<Table>(&text).map_err(|error| Error::Toml {
            path: path.into(),
            problem: format!("line {}: {}", line(&text, &error), error.message()),
        })?;
        let file: File = toml::from_str(&text).map_err(|error| mistake(path, &text, &error))?;
        file.config()
    }

    /// Refuses a configuration with which no server can run.
    ///
    /// # Errors
    /// [`Error::Usage`] for no models, unusable or repeated names, and numbers out of range.
    pub fn check(&self) -> Result<()> {
        if self.models.is_empty() {
            return Err(Error::usage(
                "there is no model to serve",
                "name at least one as NAME=DIR, as in `en-de=runs/multi30k`",
            ));
        }
        for (place, ServedModel { name, .. }) in self.models.iter().enumerate() {
            check_name(name)?;
            if self.models[..place].iter().any(|other| other.name == *name) {
                let hint = "give each model a name of its own";
                return Err(Error::usage(format!("two models are named `{name}`"), hint));
            }
        }
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let most = cpus.max(MAX_THREADS);
        if !(1..=most).contains(&self.threads) {
            return Err(Error::usage(
                format!("the number of threads for each model is {}", self.threads),
                format!("use 1 to {most}"),
            ));
        }
        hosts::check_names(&self.allowed_hosts)?;
        self.limits.check()
    }
}

/// Checks a name, since names appear in URLs and as labels of metrics.
fn check_name(name: &str) -> Result<()> {
    const MAX_NAME_BYTES: usize = 64;
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(usable) {
        return Ok(());
    }
    Err(Error::usage(
        format!("`{name}` cannot be the name of a model"),
        format!("use up to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`"),
    ))
}

/// The line of `error` in `text`, from 1.
fn line(text: &str, error: &toml::de::Error) -> usize {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    1 + before.matches('\n').count()
}

/// The error for a key or value that is TOML, but does not belong in the file `path` with this `text`.
fn mistake(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let message = plain(error.message(), "a section of keys");
    let message = match message.split_once(" field ") {
        Some((what @ ("unknown" | "missing"), rest)) => format!("{what} key {rest}"),
        _ => message,
    };
    let (path, line) = (path.display(), line(text, error));
    Error::Usage { problem: format!("`{path}`, line {line}: {message}"), hint: None }
}

/// The configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<String>,
    api_key_file: Option<PathBuf>,
    precision: Option<Precision>,
    device: Option<TrainDevice>,
    threads: Option<usize>,
    log_text: Option<bool>,
    allowed_hosts: Option<Vec<String>>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    models: BTreeMap<String, ModelKeys>,
}

/// `[models.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelKeys {
    dir: PathBuf,
    source: Option<Language>,
    target: Option<Language>,
    precision: Option<Precision>,
}

impl File {
    fn config(self) -> Result<ServeConfig> {
        let models = self.models.into_iter().map(|(name, keys)| keys.model(name));
        let defaults = ServeConfig::new(models.collect::<Result<_>>()?);
        Ok(ServeConfig {
            listen: self.listen.unwrap_or(defaults.listen),
            api_key_file: self.api_key_file,
            precision: self.precision,
            device: self.device.unwrap_or(defaults.device),
            threads: self.threads.unwrap_or(defaults.threads),
            limits: self.limits,
            log_text: self.log_text.unwrap_or(defaults.log_text),
            allowed_hosts: self.allowed_hosts.unwrap_or(defaults.allowed_hosts),
            models: defaults.models,
        })
    }
}

impl ModelKeys {
    /// The model called `name`.
    ///
    /// # Errors
    /// [`Error::Usage`] for one language alone, and for a language that is to be translated into itself.
    fn model(self, name: String) -> Result<ServedModel> {
        let named = ServedModel::new(name, self.dir);
        let (source, target) = named.direction.map(|d| (d.source, d.target)).unzip();
        let direction = match (self.source.or(source), self.target.or(target)) {
            (None, None) => None,
            (Some(source), Some(target)) if source != target => Some(TranslationDirection { source, target }),
            (Some(source), Some(_)) => {
                let problem = format!("`[models.{}]`: both languages are `{source}`", named.name);
                return Err(Error::usage(problem, "correct `source` or `target`"));
            }
            (given, _) => {
                let [given, missing] =
                    if given.is_some() { ["source", "target"] } else { ["target", "source"] };
                let problem = format!("`[models.{}]` has `{given}`, but not `{missing}`", named.name);
                return Err(Error::usage(problem, format!("add `{missing}`, or leave out `{given}`")));
            }
        };
        Ok(ServedModel { direction, precision: self.precision, name: named.name, dir: named.dir })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<ServeConfig> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        fs::write(&path, text).unwrap();
        ServeConfig::load(&path)
    }

    #[test]
    fn a_model_has_two_languages_or_none() {
        for (keys, words) in [
            ("source = \"en\"", "`[models.m]` has `source`, but not `target`"),
            ("target = \"en\"", "`[models.m]` has `target`, but not `source`"),
            ("source = \"en\"\ntarget = \"en\"", "both languages are `en`"),
        ] {
            let error = read(&format!("[models.m]\ndir = \"d\"\n{keys}\n")).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let renamed = read("[models.en-de]\ndir = \"d\"\ntarget = \"fr\"\n").unwrap();
        assert_eq!(renamed.models[0].direction.as_ref().unwrap().target.code(), "fr");
    }

    #[test]
    fn every_key_is_read() {
        let config = read(
            r#"
            listen = "0.0.0.0:80"
            api_key_file = "keys"
            precision = "int8"
            device = "gpu:1"
            threads = 3
            log_text = true
            allowed_hosts = ["a.example.com"]
            [limits]
            queue = 7
            timeout = 2.5
            [models.small]
            dir = "runs/small"
            source = "EN"
            target = "de"
            precision = "bf16"
            [models.fr-de]
            dir = "runs/fr"
            "#,
        );
        let config = config.unwrap();
        config.check().unwrap();
        assert_eq!((config.listen.as_str(), config.threads), ("0.0.0.0:80", 3));
        assert_eq!(config.precision, Some(Precision::Int8));
        assert_eq!(config.device.to_string(), "gpu:1");
        assert_eq!(config.allowed_hosts, ["a.example.com"]);
        assert_eq!(config.limits.queue, 7);
        assert_eq!(config.limits.timeout, Duration::from_millis(2500));
        assert_eq!(config.limits.batch, Limits::default().batch);
        let directions = config.models.iter().map(|model| {
            let direction = model.direction.as_ref().unwrap();
            format!("{}: {}>{}", model.name, direction.source, direction.target)
        });
        assert_eq!(directions.collect::<Vec<_>>(), ["fr-de: fr>de", "small: en>de"]);
    }

    #[test]
    fn mistakes_are_located() {
        for (text, words) in [
            ("[limits]\nqueu = 1\n", "serve.toml`, line 2: unknown key `queu`, expected one of `queue`"),
            ("\nmodles = 1\n", "line 2: unknown key `modles`"),
            ("[models.a]\nsource = 'en'\n", "missing key `dir`"),
            ("limits = 3", "line 1: invalid type: integer `3`, expected a section of keys"),
            ("listen = ", "serve.toml` is not valid TOML: line 1"),
            ("[models.a]\ndir = 'd'\nsource = 'english'\n", "line 3: `english` is not a language"),
            ("precision = 'f8'", "line 1: unknown value `f8`, expected one of `f32`"),
            ("[limits]\ntimeout = -1", "line 2: a time is -1: use a number of seconds"),
            ("[limits]\n\ndrain_timeout = nan", "line 3: a time is NaN: use a number of seconds"),
            ("threads = -1", "line 1: invalid value: integer `-1`, expected a whole number, 0 or more"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn absurd_files_and_numbers_are_refused() {
        #[cfg(unix)]
        {
            let error = ServeConfig::load(Path::new("/dev/zero")).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
        for threads in [0, 1_000_000_000, usize::MAX] {
            let models = vec![ServedModel::new("a", "d")];
            let config = ServeConfig { threads, ..ServeConfig::new(models) };
            assert!(config.check().is_err(), "{threads}");
        }
    }

    #[test]
    fn unusable_names_are_refused() {
        let named = |names: &[&str]| {
            let models = names.iter().map(|name| ServedModel::new(*name, "d"));
            ServeConfig::new(models.collect()).check()
        };
        named(&["en-de", "a.b_c"]).unwrap();
        for names in [&[][..], &["a", "a"], &[""], &["a b"], &["ä"], &["a/b"]] {
            assert!(named(names).is_err(), "{names:?}");
        }
        assert!(ServedModel::parse("runs/multi30k").is_err());
        assert_eq!(ServedModel::parse("a=b=c").unwrap().dir, Path::new("b=c"));
    }
}
