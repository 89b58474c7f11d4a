//! The run directory: inspecting it, and claiming it without harm to unrelated files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, LOCK, Lock, Provenance, Run, atomic, files};
use attentive_config::{Config, KeyDifference};
use attentive_text::Tokenizers;

use super::Existing;

/// The contents of a run directory.
#[derive(Debug)]
pub(super) enum DirectoryContents {
    /// Empty, or holds the leftovers of a run killed before it started.
    Nothing,
    /// A run that may be replaced.
    Replaceable,
    /// A run to resume.
    Run(Box<StoredRun>),
}

/// A run to resume.
#[derive(Debug)]
pub(super) struct StoredRun {
    pub config: Config,
    pub tokenizers: Tokenizers,
    pub provenance: Provenance,
}

/// Locks `dir` for this process, and creates it if it is missing. If the lock is dropped before anything was
/// written there, it leaves no trace.
pub(super) fn lock(dir: &Path) -> Result<Lock> {
    // Reports a path that cannot be a directory.
    entries(dir)?;
    Lock::acquire(dir)
}

/// Inspects `dir` without changing anything.
pub(super) fn inspect(config: &Config, dir: &Path, existing: Existing) -> Result<DirectoryContents> {
    let entries = entries(dir)?;
    if entries.is_empty() {
        return Ok(DirectoryContents::Nothing);
    }
    match existing {
        Existing::Refuse => Err(Error::RunExists { path: dir.to_path_buf() }),
        Existing::Force if is_run(dir) => Ok(DirectoryContents::Replaceable),
        Existing::Resume if is_run(dir) => take_up(config, dir),
        Existing::Resume if entries.iter().all(|path| is_start(path)) => Ok(DirectoryContents::Nothing),
        Existing::Force | Existing::Resume => Err(Error::usage(
            format!(
                "`{}` holds files but is not a run directory: expected `{}` and `{}` written by this program",
                dir.display(),
                files::CONFIG,
                files::PROVENANCE
            ),
            "choose another `RunOptions::out`",
        )),
    }
}

/// Claims `dir` for this run. A run that is replaced is deleted; nothing else is.
pub(super) fn claim(
    dir: &Path,
    contents: DirectoryContents,
    config: &Config,
    tokenizers: &Tokenizers,
    provenance: &Provenance,
) -> Result<()> {
    if matches!(contents, DirectoryContents::Replaceable) {
        for path in entries(dir)?.iter().filter(|path| is_ours(path)) {
            remove(path)?;
        }
    }
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    checkpoint::finish_replacing(dir)?;
    atomic::remove_unfinished(dir)?;
    atomic::remove_unfinished(&dir.join(files::CHECKPOINTS))?;
    if let DirectoryContents::Run(_) = contents {
        // Limits, validation and search options may change between stops.
        return checkpoint::sums::replace_config(dir, config);
    }
    let path = dir.join(files::PROVENANCE);
    let mut provenance = provenance.clone();
    provenance.sha256.extend(checkpoint::sums::of(config, tokenizers));
    atomic::write_file(&path, &checkpoint::to_json(&provenance)?)?;
    checkpoint::write_recipe(dir, config, tokenizers)
}

fn take_up(config: &Config, dir: &Path) -> Result<DirectoryContents> {
    checkpoint::require_trained(dir)?;
    let (stored, tokenizers) = checkpoint::load_recipe(dir)?;
    if let Some(KeyDifference { key, ours, theirs }) = stored.difference_that_matters(config) {
        return Err(Error::Config {
            key,
            expected: format!("{ours}, as when the run in `{}` began", dir.display()),
            found: theirs,
            hint: Some(format!(
                "a resumed run keeps its data, tokenizer, model and optimizer: give the settings with which it \
                 began, or those of its own `{dir}/config.toml`; to train the model further with other data or \
                 settings, start a new run with `model.from=\"{dir}\"` and another `RunOptions::out`",
                dir = dir.display()
            )),
        });
    }
    let provenance = Run::new(dir).origin()?;
    Ok(DirectoryContents::Run(Box::new(StoredRun { config: stored, tokenizers, provenance })))
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Ok(entries) => Ok(entries
            .flatten()
            .filter(|entry| entry.file_name() != LOCK)
            .map(|entry| entry.path())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io("use as run directory", dir)(error)),
    }
}

/// True with a configuration and provenance written by this program, at least in a checkpoint.
fn is_run(dir: &Path) -> bool {
    let is_ours = |provenance: Provenance| provenance.program.starts_with("attentive ");
    dir.join(files::CONFIG).is_file() && Run::new(dir).origin().is_ok_and(is_ours)
}

/// True for files that a run writes before its configuration.
fn is_start(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == files::PROVENANCE || name.starts_with("tokenizer.") || name.starts_with(".tmp-")
}

/// True for any file that a run writes.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_start(path) || files::include(&name)
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(Error::io("remove", path))
}
