//! The files of a model: weights, vocabularies, the search, a shortlist.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::search::Search;
use crate::error::{Error, Result};
use crate::interop::keys::not_understood;

const SEARCH: &str = "decoder.yml";
/// What the name of a shortlist begins with.
const LEXICON: &str = "lex.";
/// What the names of other files begin with: shortlists, estimates of quality, and weights of PyTorch.
const OTHERS: [&str; 3] = [LEXICON, "qualityModel", "pytorch_model"];
/// What the names of weights end with that are of training.
const OF_TRAINING: &str = ".optimizer.npz";
/// What the names of vocabularies end with.
const VOCABULARIES: [&str; 4] = ["spm", "yml", "yaml", "json"];
/// What the names of the two sides' vocabularies begin with.
const SOURCES: [&str; 3] = ["source", "src", "srcvocab"];
const TARGETS: [&str; 4] = ["target", "tgt", "trg", "trgvocab"];

/// The files of a model.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) weights: PathBuf,
    pub(super) vocabs: Vocabs,
    /// How to search; its owner may not say.
    pub(super) search: Option<Search>,
    pub(super) shortlist: Option<PathBuf>,
    /// Whether the weights are in Marian's binary format, as Firefox has them, and not in that of NumPy.
    pub(super) is_binary: bool,
}

/// The files of the vocabularies.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Vocabs {
    Joint(PathBuf),
    Separate([PathBuf; 2]),
}

/// Whether `path`, a file or directory, looks like a model of Marian or Firefox.
pub(in crate::interop) fn recognises(path: &Path) -> Result<bool> {
    match path.is_dir() {
        false => Ok(is_weights(path)),
        true if path.join("config.json").exists() => Ok(false),
        true => Ok(names_in(path)?.iter().any(|path| is_weights(path))),
    }
}

/// Whether this is a name of weights.
fn is_weights(path: &Path) -> bool {
    let is_other = OTHERS
        .iter()
        .any(|other| file_name(path).starts_with(other));
    ["npz", "bin"].iter().any(|end| ends(path, end)) && !is_other
}

fn is_shortlist(path: &Path) -> bool {
    file_name(path).starts_with(LEXICON) && ends(path, "bin")
}

impl Files {
    /// Those of the model `path`, a directory or the file of the weights.
    pub(super) fn find(path: &Path) -> Result<Self> {
        let (dir, chosen) = match path.is_dir() {
            true => (path, None),
            false => (
                path.parent().unwrap_or(Path::new("")),
                Some(path.to_path_buf()),
            ),
        };
        let dir = match dir.as_os_str().is_empty() {
            true => Path::new("."),
            false => dir,
        };
        let all = names_in(dir)?;
        let beside = |name: &str| all.iter().find(|path| file_name(path) == name).cloned();
        let mut search = beside(SEARCH).map(|path| Search::read(&path)).transpose()?;
        let weights = match (chosen, search.as_ref().and_then(Search::only_model)) {
            (Some(chosen), _) => chosen,
            (None, Some(name)) => beside(&name).ok_or_else(|| missing(dir, &name))?,
            (None, None) => the_weights(dir, &all)?,
        };
        let own = beside(&format!("{}.{SEARCH}", file_name(&weights)));
        if let Some(own) = own {
            search = Some(Search::read(&own)?);
        }
        let named = |search: &Search| -> Result<Vec<PathBuf>> {
            let found =
                { search.vocabs.iter() }.map(|name| beside(name).ok_or_else(|| missing(dir, name)));
            found.collect()
        };
        let vocabs = match search.as_ref().map(named).transpose()? {
            Some(named) if !named.is_empty() => named,
            _ => vocabularies(&all),
        };
        let named_list = search.as_ref().and_then(|search| search.shortlist.clone());
        Ok(Self {
            vocabs: Vocabs::of(dir, vocabs)?,
            shortlist: match named_list {
                Some(name) => Some(beside(&name).ok_or_else(|| missing(dir, &name))?),
                None => all.iter().find(|path| is_shortlist(path)).cloned(),
            },
            is_binary: ends(&weights, "bin"),
            weights,
            search,
        })
    }
}

impl Vocabs {
    fn of(dir: &Path, mut found: Vec<PathBuf>) -> Result<Self> {
        found.sort_by_key(|path| !begins(path, &SOURCES));
        match &found[..] {
            [both] => Ok(Self::Joint(both.clone())),
            [one, other] if one == other => Ok(Self::Joint(one.clone())),
            [src, tgt] if begins(src, &SOURCES) && begins(tgt, &TARGETS) => {
                Ok(Self::Separate([src.clone(), tgt.clone()]))
            }
            _ => {
                let names: Vec<String> = found.iter().map(|path| file_name(path)).collect();
                Err(not_understood(
                    dir,
                    format!(
                        "its vocabularies should be one file, or two whose names begin with `source` and `target`; found {names:?}"
                    ),
                ))
            }
        }
    }
}

/// The weights of a directory that does not name them.
fn the_weights(dir: &Path, all: &[PathBuf]) -> Result<PathBuf> {
    let mut found = all
        .iter()
        .filter(|path| is_weights(path) && !file_name(path).ends_with(OF_TRAINING));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => Err(not_understood(dir, "it has no weights (`.npz` or `.bin`)")),
        (Some(one), Some(other)) => Err(Error::Model {
            path: dir.to_path_buf(),
            problem: format!(
                "it has several models, such as `{}` and `{}`",
                file_name(one),
                file_name(other)
            ),
            hint: Some("name the file to import instead of the directory".into()),
        }),
    }
}

/// Files that look like vocabularies.
fn vocabularies(all: &[PathBuf]) -> Vec<PathBuf> {
    let is_vocabulary = |path: &&PathBuf| {
        let ends_so = VOCABULARIES.iter().any(|end| ends(path, end));
        ends_so && file_name(path).contains("vocab")
    };
    all.iter().filter(is_vocabulary).cloned().collect()
}

/// Whether the name of a file begins with one of these words, or contains it behind a full stop.
fn begins(path: &Path, words: &[&str]) -> bool {
    let name = file_name(path);
    name.split('.').any(|part| words.contains(&part))
}

fn ends(path: &Path, end: &str) -> bool {
    path.extension() == Some(OsStr::new(end))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The paths of the files in `dir`, in the order of their names.
fn names_in(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).map_err(Error::io("read", dir))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths
        .collect::<std::io::Result<_>>()
        .map_err(Error::io("read", dir))?;
    paths.sort();
    Ok(paths)
}

fn missing(dir: &Path, name: &str) -> Error {
    not_understood(
        dir,
        format!("`{name}`, which its `{SEARCH}` names, is missing"),
    )
}

/// The file beside `path` with this name, if it exists.
pub(super) fn beside(path: &Path, name: &str) -> Option<PathBuf> {
    Some(path.with_file_name(name)).filter(|path| path.exists())
}
