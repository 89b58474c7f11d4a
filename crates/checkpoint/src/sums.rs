//! Checksums of the files that describe a model besides its weights: its configuration and tokenizers.
//!
//! The provenance holds them. A file whose checksum was deleted from it is not checked.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::Config;
use attentive_text::Tokenizers;

use super::safetensors_file::check_sha256;
use super::{Provenance, atomic, files, read_json, recipe_files, to_json, weights};

/// Number of attempts to read while a run replaces the configuration.
const ATTEMPTS: usize = 3;

/// SHA-256 (hexadecimal) of files, by name.
type Sums = BTreeMap<String, String>;

/// The names of the files in `dir` that describe its model.
fn described(dir: &Path) -> impl Iterator<Item = &'static str> {
    let tokenizers = Tokenizers::file_names(dir).iter().copied();
    tokenizers.chain([files::CONFIG])
}

/// Returns the checksums of the configuration and tokenizer files of a model.
pub fn of(config: &Config, tokenizers: &Tokenizers) -> Sums {
    let files = recipe_files(config, tokenizers).into_iter();
    files.map(|(name, content)| (name.to_owned(), weights::sha256_of(&content))).collect()
}

/// Compares the configuration and tokenizers in `dir` with the checksums in its provenance, if it has them.
///
/// # Errors
/// Fails if a file does not match the provenance or cannot be read.
pub(super) fn check(dir: &Path) -> Result<()> {
    let path = dir.join(files::PROVENANCE);
    // A missing or damaged provenance is reported by the code that needs it.
    let read = || read_json::<Provenance>(&path).ok();
    let mut known = read();
    let mut attempt = 1;
    loop {
        let Some(provenance) = &known else {
            return Ok(());
        };
        let mut sums = described(dir).filter_map(|name| Some((name, provenance.sha256_of(name)?)));
        let checked = check_tokenizers(dir, provenance)
            .and_then(|()| sums.try_for_each(|(name, expected)| compare(&dir.join(name), expected)));
        let Err(error) = checked else {
            return Ok(());
        };
        let latest = read();
        if latest == known || attempt == ATTEMPTS {
            return Err(error);
        }
        known = latest;
        attempt += 1;
    }
}

/// Refuses tokenizers that would be read in place of those in the provenance.
fn check_tokenizers(dir: &Path, provenance: &Provenance) -> Result<()> {
    let read = Tokenizers::file_names(dir);
    let mut known = provenance.sha256.keys();
    let Some(replaced) = known.find(|name| name.starts_with("tokenizer.")) else {
        return Ok(());
    };
    let Some(path) = read.first().map(|name| dir.join(name)) else {
        return Ok(());
    };
    // Missing files are reported by the code that loads them.
    if read.iter().any(|name| provenance.sha256_of(name).is_some()) || !path.exists() {
        return Ok(());
    }
    Err(Error::Model {
        path,
        problem: format!("would be read in place of `{replaced}`, which `provenance.json` expects"),
        hint: Some(
            "delete the file; if you replaced the tokenizer on purpose, delete the entries of the old one \
             under `sha256` in `provenance.json`"
                .into(),
        ),
    })
}

/// Refuses the file `path` unless its SHA-256 is `expected`.
fn compare(path: &Path, expected: &str) -> Result<()> {
    match regular_file::read_whole(path) {
        Ok(content) => check_sha256(path, &weights::sha256_of(&content), expected),
        // The file is not needed: the model was loaded from other files.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Returns the checksums of the configuration and tokenizers in `dir`, from its provenance or, if it has
/// none, from the files.
pub(super) fn in_dir(dir: &Path) -> Result<Sums> {
    let stored = read_json::<Provenance>(&dir.join(files::PROVENANCE)).ok();
    let mut sums = Sums::new();
    for name in described(dir) {
        let path = dir.join(name);
        let known = stored.as_ref().and_then(|stored| stored.sha256_of(name));
        let sum = match known {
            Some(known) => known.to_owned(),
            None if !path.exists() => continue,
            None => weights::sha256_of(&regular_file::read_whole(&path).map_err(Error::io("read", &path))?),
        };
        sums.insert(name.to_owned(), sum);
    }
    Ok(sums)
}

/// Replaces the configuration in `dir` by `config`. At no time does the provenance hold the checksum of
/// another configuration than the one in `dir`.
///
/// # Errors
/// [`Error::Io`] if a file cannot be written.
pub fn replace_config(dir: &Path, config: &Config) -> Result<()> {
    let (path, text) = (dir.join(files::CONFIG), config.to_toml());
    let provenance_path = dir.join(files::PROVENANCE);
    let stored = read_json::<Provenance>(&provenance_path).ok();
    let Some(mut provenance) = stored.filter(|stored| stored.sha256_of(files::CONFIG).is_some()) else {
        return atomic::write_file(&path, text.as_bytes());
    };
    let sum = weights::sha256_of(text.as_bytes());
    if provenance.sha256_of(files::CONFIG) == Some(&sum) && compare(&path, &sum).is_ok() {
        return Ok(());
    }
    let write = |provenance: &Provenance| atomic::write_file(&provenance_path, &to_json(provenance)?);
    provenance.sha256.remove(files::CONFIG);
    write(&provenance)?;
    atomic::write_file(&path, text.as_bytes())?;
    provenance.sha256.insert(files::CONFIG.to_owned(), sum);
    write(&provenance)
}
