//! Stages: folders that are made from what they name, and again only if that changes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use attentive_base::error::{Error, Result};
use attentive_base::hexadecimal;
use attentive_checkpoint::{atomic, describe, read_json_if_there, to_json};
use attentive_config::Config;
use attentive_pipeline::Pipeline;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The configuration of the model of a stage.
const CONFIG: &str = "model/config.toml";

/// The file in the folder of a stage that says what it is made from.
const FILE: &str = "stage.json";

/// What a stage is made from, and what it has made.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// All that its results depend on.
    inputs: Value,
    /// What can change without making its results anew.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    details: Value,
    /// The SHA-256 of each result; `None` before all are made.
    results: Option<BTreeMap<String, String>>,
    /// The time that it has taken, in seconds, without what was lost when the program was killed.
    seconds: f64,
    /// The time that it took the last time, in seconds, if it was finished then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_seconds: Option<f64>,
}

/// What happens to a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StageState {
    /// It was made before, from the same. The time that it took then, in seconds.
    UpToDate(f64),
    /// It is begun.
    Begun,
    /// It was begun before, and goes on.
    Continued,
    /// It is finished, after so many seconds in all.
    Finished(f64),
    /// It would run.
    WouldRun(ExpectedTime),
    /// It was begun before, and would go on. The time that it has taken so far, in seconds.
    WouldGoOn(f64, ExpectedTime),
}

/// How long all of a stage takes, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpectedTime {
    /// It took so long the last time.
    LastTime(f64),
    /// It would take so long if all of its work were like a small part of it, which was tried.
    Tried(f64),
    /// Nothing is known; little, compared with translation and training.
    Unknown,
}

/// Hears of the stages.
pub trait StageObserver {
    /// Called when the state of the stage called `name` is known.
    fn on(&mut self, name: &str, state: StageState);

    /// Called when a stage begins to translate `n_lines` lines with `teacher`, which counts them
    /// ([`Pipeline::translated`]).
    fn translating(&mut self, teacher: &Pipeline, n_lines: usize);
}

/// Whether results that were made with these details are brought up to date rather than made anew.
type IsUsable<'a> = &'a dyn Fn(&Value) -> bool;

/// A stage: what it is called, is made from, and makes.
#[derive(Default)]
pub(super) struct StageSpec<'a> {
    pub(super) name: &'a str,
    /// All that the results depend on: settings, and the SHA-256 of files.
    pub(super) inputs: Value,
    /// What can change without making the results anew, and when earlier results are of use then.
    pub(super) details: Option<(Value, IsUsable<'a>)>,
    /// The paths of the results in its folder. A `*` stands for any part of a name.
    pub(super) results: &'a [&'a str],
    /// Tries how many seconds it takes. A stage that has this goes on where it ended if it was interrupted; others
    /// begin again.
    pub(super) estimate: Option<&'a dyn Fn() -> Result<f64>>,
    /// Refuses to begin, before anything that was made earlier is removed.
    pub(super) ready: Option<&'a dyn Fn() -> Result<()>>,
    /// Whether it makes a model, in the folder `model`.
    pub(super) is_model: bool,
}

impl StageSpec<'_> {
    /// How long all of it takes, which is tried if it was never finished.
    fn expected(&self, last_seconds: Option<f64>) -> Result<ExpectedTime> {
        Ok(match (last_seconds, self.estimate) {
            (Some(seconds), _) => ExpectedTime::LastTime(seconds),
            (None, Some(estimate)) => ExpectedTime::Tried(estimate()?),
            (None, None) => ExpectedTime::Unknown,
        })
    }
}

/// The results of a stage.
#[derive(Clone, Debug)]
pub(super) struct StageResults {
    /// Its folder.
    pub(super) dir: PathBuf,
    /// The SHA-256 of each result, or something that no file has, if the stage would run.
    pub(super) hashes: BTreeMap<String, String>,
}

/// The stages of a distillation, one after another.
pub(super) struct Stages<'a> {
    dir: &'a Path,
    /// Whether nothing is done.
    is_dry: bool,
    observer: &'a mut dyn StageObserver,
}

impl<'a> Stages<'a> {
    pub(super) fn new(dir: &'a Path, is_dry: bool, observer: &'a mut dyn StageObserver) -> Self {
        Self { dir, is_dry, observer }
    }

    /// Makes the stage by `work`, which is given its folder, unless it is up to date.
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Io`] if a file cannot be read or written; [`Error::Usage`] if its folder
    /// is there and is none of a stage.
    pub(super) fn run(
        &mut self,
        spec: StageSpec<'_>,
        work: impl FnOnce(&Path, &mut dyn StageObserver) -> Result<()>,
    ) -> Result<StageResults> {
        let dir = self.dir.join(spec.name);
        let path = dir.join(FILE);
        let known: Option<Record> = read_json_if_there(&path, "delete its folder, which is then made again")?;
        if known.is_none() && has_files(&dir)? {
            return Err(Error::usage(
                format!("`{}` exists, but is not a stage of a distillation", dir.display()),
                "write to another folder, or move this one away",
            ));
        }
        let (details, is_usable) = spec.details.clone().unwrap_or((Value::Null, &|_| false));
        // With other details, there was other work.
        let same_work = known.as_ref().filter(|record| record.details == details);
        let last_seconds = same_work.and_then(|record| match record.results {
            Some(_) => Some(record.seconds),
            None => record.last_seconds,
        });
        let usable = known.filter(|record| {
            record.inputs == spec.inputs && (record.details == details || is_usable(&record.details))
        });
        if let Some(Record { results: Some(hashes), seconds, details: made, .. }) = &usable
            && *made == details
            && are_whole(&dir, hashes)?
            && (!spec.is_model || describe(&dir.join("model")).is_ok())
        {
            self.observer.on(spec.name, StageState::UpToDate(*seconds));
            return Ok(StageResults { dir, hashes: hashes.clone() });
        }
        let unfinished = usable.filter(|record| record.results.is_none() || record.details != details);
        let spent = unfinished.filter(|_| spec.estimate.is_some()).map(|record| record.seconds);
        if self.is_dry {
            let expected = spec.expected(last_seconds)?;
            let state = match spent {
                Some(spent) => StageState::WouldGoOn(spent, expected),
                None => StageState::WouldRun(expected),
            };
            self.observer.on(spec.name, state);
            let unknown = |name: &&str| ((*name).to_owned(), "not made yet".to_owned());
            return Ok(StageResults { dir, hashes: spec.results.iter().map(unknown).collect() });
        }
        spec.ready.map_or(Ok(()), |ready| ready())?;
        self.observer.on(spec.name, if spent.is_some() { StageState::Continued } else { StageState::Begun });
        let seconds = spent.unwrap_or(0.0);
        let mut record = Record { inputs: spec.inputs, details, results: None, seconds, last_seconds };
        let json = to_json(&record)?;
        if spent.is_some() {
            atomic::write_file(&path, &json)?;
        } else {
            // The folder is never without the file by which it is recognized.
            atomic::remove_folder(&dir)?;
            atomic::write_folder(&dir, &[(FILE, &|path| fs::write(path, &json))])?;
        }
        let start = Instant::now();
        let outcome = work(&dir, self.observer);
        record.seconds += start.elapsed().as_secs_f64();
        if outcome.is_ok() {
            record.results = hash_all(&dir, spec.results)?;
        }
        atomic::write_file(&path, &to_json(&record)?)?;
        outcome?;
        let hashes = record.results.ok_or_else(|| Error::Data {
            problem: format!("the stage `{}` did not make all of its files", dir.display()),
            hint: None,
        })?;
        self.observer.on(spec.name, StageState::Finished(record.seconds));
        Ok(StageResults { dir, hashes })
    }
}

impl StageResults {
    /// All that decides what the model of the stage does: the SHA-256 of its files, and how it searches.
    ///
    /// # Errors
    /// Those of [`Config::load_stored`].
    pub(super) fn identity(&self) -> Result<Value> {
        let config = self.path(CONFIG);
        let decode = config.exists().then(|| Config::load_stored(&config)).transpose()?;
        Ok(json!({ "files": self.hashes, "decode": decode.map(|config| config.decode) }))
    }

    /// The result called `name`.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Whether there is a folder `dir` with anything in it.
fn has_files(dir: &Path) -> Result<bool> {
    match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        entries => Ok(entries.map_err(Error::io("read", dir))?.next().is_some()),
    }
}

/// Whether the files in `dir` with these names still have these SHA-256. Others may have been added.
fn are_whole(dir: &Path, hashes: &BTreeMap<String, String>) -> Result<bool> {
    for (name, expected) in hashes {
        let path = dir.join(name);
        if !path.is_file() || hash(&path)? != *expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The SHA-256 of the files in `dir` with these names; `None` if there is no file for one of the names.
fn hash_all(dir: &Path, names: &[&str]) -> Result<Option<BTreeMap<String, String>>> {
    let mut hashes = BTreeMap::new();
    for name in names {
        let found = files(dir, name)?;
        if found.is_empty() {
            return Ok(None);
        }
        for name in found {
            let hash = hash(&dir.join(&name))?;
            hashes.insert(name, hash);
        }
    }
    Ok(Some(hashes))
}

/// The files in `dir` that `name` stands for, in which a `*` may be in the last part.
fn files(dir: &Path, name: &str) -> Result<Vec<String>> {
    let (folder, pattern) = name.rsplit_once('/').unwrap_or(("", name));
    let Some((start, end)) = pattern.split_once('*') else {
        return Ok(if dir.join(name).is_file() { vec![name.to_owned()] } else { Vec::new() });
    };
    let folder_path = dir.join(folder);
    if !folder_path.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder_path).map_err(Error::io("read", &folder_path))? {
        let entry = entry.map_err(Error::io("read", &folder_path))?;
        let file = entry.file_name().to_string_lossy().into_owned();
        if file.starts_with(start) && file.ends_with(end) && entry.path().is_file() {
            found.push(if folder.is_empty() { file } else { format!("{folder}/{file}") });
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn hash(path: &Path) -> Result<String> {
    let unreadable = || Error::io("read", path);
    let mut file = File::open(path).map_err(unreadable())?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer).map_err(unreadable())? {
            0 => return Ok(hexadecimal(hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}
