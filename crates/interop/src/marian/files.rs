//! Finds the files of a model: weights, vocabularies, generation settings, a shortlist.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::folder_of;
use attentive_base::regular_file;

use super::checkpoints::{END, chosen, root};
use super::read_yaml;
use super::search::MarianSearchSettings;
use crate::keys::not_understood;
use crate::listing::{file_name, files_of};

const SEARCH: &str = "decoder.yml";
/// The prefix of the name of a shortlist.
const LEXICON: &str = "lex.";
/// The first bytes of weights in Marian's binary format: the number of its version.
const BINARY: [u8; 8] = 1u64.to_le_bytes();
/// The suffixes of the names of files that are needed only in training.
const OF_TRAINING: [&str; 2] = [".optimizer.npz", ".orig.npz"];
/// The suffixes of the names of vocabularies.
const VOCABULARIES: [&str; 4] = ["spm", "yml", "yaml", "json"];
/// Words in the names of the two sides' vocabularies.
const SOURCES: [&str; 3] = ["source", "src", "srcvocab"];
const TARGETS: [&str; 4] = ["target", "tgt", "trg", "trgvocab"];

/// The files of a model.
#[derive(Debug)]
pub(super) struct MarianFiles {
    pub(super) weights: PathBuf,
    /// The weights of the other models of an ensemble, which has the same other files.
    pub(super) partners: Vec<PathBuf>,
    pub(super) vocabs: Vocabs,
    /// The generation settings, if the model has any.
    pub(super) search: Option<MarianSearchSettings>,
    pub(super) shortlist: Option<PathBuf>,
    /// True if the weights are in Marian's binary format, as in Firefox, and not in NumPy's.
    pub(super) is_binary: bool,
    /// True if attention was trained to align words.
    pub(super) is_guided: bool,
    /// How the weights were chosen among several checkpoints.
    pub(super) note: Option<String>,
}

/// The files of the vocabularies.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Vocabs {
    Joint(PathBuf),
    Separate([PathBuf; 2]),
}

/// True if `path`, a file or directory, looks like a model of Marian or Firefox.
pub(crate) fn recognizes(path: &Path) -> Result<bool> {
    if !path.is_dir() {
        Ok(is_weights(path))
    } else if path.join("config.json").exists() {
        Ok(false)
    } else {
        Ok(files_of(path)?.iter().any(|path| is_weights(path)))
    }
}

/// True if this is a file of weights. Other tools write files with the same ending, `.bin`.
fn is_weights(path: &Path) -> bool {
    ends(path, "npz") || ends(path, "bin") && is_binary(path)
}

fn is_binary(path: &Path) -> bool {
    let mut start = [0; BINARY.len()];
    let read = regular_file::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == BINARY
}

fn is_shortlist(path: &Path) -> bool {
    file_name(path).starts_with(LEXICON) && ends(path, "bin")
}

impl MarianFiles {
    /// Finds the files of the model `path`, a directory or the file of the weights.
    pub(super) fn find(path: &Path) -> Result<Self> {
        let (dir, chosen) =
            if path.is_dir() { (path, None) } else { (folder_of(path), Some(path.to_path_buf())) };
        let all = files_of(dir)?;
        let beside = |name: &str| all.iter().find(|path| file_name(path) == name).cloned();
        let mut search = beside(SEARCH).map(|path| MarianSearchSettings::read(&path)).transpose()?;
        let named = search.as_ref().map(|search| search.models.as_slice()).unwrap_or_default();
        let (weights, partners, note) = match (chosen, named) {
            (Some(chosen), _) => (chosen, Vec::new(), None),
            (None, []) => {
                let (weights, note) = the_weights(dir, &all)?;
                (weights, Vec::new(), note)
            }
            (None, named) => {
                let mut all = named_files(dir, named)?;
                (all.remove(0), all, None)
            }
        };
        if let Some(own) = beside(&format!("{}.{SEARCH}", file_name(&weights))) {
            search = Some(MarianSearchSettings::read(&own)?);
        }
        let vocabs = match search.as_ref().map(|search| search.vocabs.as_slice()) {
            Some(named @ [_, ..]) => Vocabs::named(dir, &named_files(dir, named)?)?,
            _ => {
                let found = all.iter().filter(|path| is_vocabulary(path));
                Vocabs::found(dir, of_same_model(&weights, found))?
            }
        };
        let named_list = search.as_ref().and_then(|search| search.shortlist.clone());
        let is_binary = ends(&weights, "bin");
        Ok(Self {
            vocabs,
            shortlist: match named_list {
                Some(name) => Some(named_file(dir, &name)?),
                None => the_shortlist(dir, &weights, &all)?,
            },
            is_guided: is_guided(&weights, search.as_ref(), is_binary),
            is_binary,
            weights,
            partners,
            search,
            note,
        })
    }
}

/// True if the options of training, beside the weights, tell that attention was trained to align words;
/// without them, if translation writes alignments. All models of Firefox are trained so.
fn is_guided(weights: &Path, search: Option<&MarianSearchSettings>, is_binary: bool) -> bool {
    let of_training = beside(weights, &format!("{}{END}.yml", root(&file_name(weights))));
    match of_training.and_then(|path| read_yaml(&path).ok()?.remove("guided-alignment")) {
        Some(guided) => guided != "none" && !guided.is_null(),
        None => search.map_or(is_binary, |search| search.alignment),
    }
}

impl Vocabs {
    /// Returns the vocabularies that `decoder.yml` names: the source's and the target's.
    fn named(dir: &Path, files: &[PathBuf]) -> Result<Self> {
        match files {
            [both] => Ok(Self::Joint(both.clone())),
            [one, other] if one == other => Ok(Self::Joint(one.clone())),
            [src, tgt] => Ok(Self::Separate([src.clone(), tgt.clone()])),
            _ => {
                let problem = format!(
                    "`{SEARCH}` names {} vocabularies; models with one or two are supported",
                    files.len()
                );
                Err(not_understood(dir, problem))
            }
        }
    }

    /// Finds the vocabularies of a directory in which `decoder.yml` does not name them.
    fn found(dir: &Path, mut files: Vec<PathBuf>) -> Result<Self> {
        files.sort_by_key(|path| !has_part(path, &SOURCES));
        match &files[..] {
            [both] => Ok(Self::Joint(both.clone())),
            [src, tgt] if has_part(src, &SOURCES) && has_part(tgt, &TARGETS) => {
                Ok(Self::Separate([src.clone(), tgt.clone()]))
            }
            _ => {
                let problem = format!(
                    "its vocabularies should be one file, or two with `source` and `target` in their names, \
                     unless `{SEARCH}` names them; found {:?}",
                    names(&files)
                );
                Err(not_understood(dir, problem))
            }
        }
    }
}

/// Finds the weights in a directory that does not name them, and describes the choice if there were several.
fn the_weights(dir: &Path, all: &[PathBuf]) -> Result<(PathBuf, Option<String>)> {
    let of_training = |path: &PathBuf| OF_TRAINING.iter().any(|end| file_name(path).ends_with(end));
    let found: Vec<PathBuf> =
        all.iter().filter(|path| is_weights(path) && !of_training(path)).cloned().collect();
    match &found[..] {
        [only] => Ok((only.clone(), None)),
        [] => Err(not_understood(dir, "it has no weights (`.npz` or `.bin`)")),
        [one, other, ..] => match chosen(dir, &found) {
            Some((weights, reason)) => {
                let name = file_name(&weights);
                Ok((weights, Some(format!("`{name}` was imported, {reason}"))))
            }
            None => Err(Error::Model {
                path: dir.to_path_buf(),
                problem: format!(
                    "it has several models, such as `{}` and `{}`",
                    file_name(one),
                    file_name(other)
                ),
                hint: Some("name the file to import instead of the directory".into()),
            }),
        },
    }
}

/// Finds the shortlist in a directory that does not name it.
fn the_shortlist(dir: &Path, weights: &Path, all: &[PathBuf]) -> Result<Option<PathBuf>> {
    let found = of_same_model(weights, all.iter().filter(|path| is_shortlist(path)));
    let is_alone = all.iter().filter(|path| is_weights(path)).count() < 2;
    match &found[..] {
        [] => Ok(None),
        [only] if is_alone || have_a_part_in_common(weights, only) => Ok(Some(only.clone())),
        several => Err(Error::Model {
            path: dir.to_path_buf(),
            problem: format!(
                "which shortlist belongs to `{}` is unknown; found {:?}",
                file_name(weights),
                names(several)
            ),
            hint: Some(format!("name one as `shortlist` in `{SEARCH}`, or move the others away")),
        }),
    }
}

/// Returns the files whose names share a part with the name of the weights, such as `ende` in
/// `model.ende.bin`; all files if there are none.
fn of_same_model<'a>(weights: &Path, files: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let (same, others): (Vec<_>, Vec<_>) =
        files.cloned().partition(|path| have_a_part_in_common(weights, path));
    if same.is_empty() { others } else { same }
}

/// True if the names of two files share a part, such as a pair of languages, besides their suffixes.
fn have_a_part_in_common(one: &Path, other: &Path) -> bool {
    let parts = |path: &Path| -> BTreeSet<String> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        stem.split('.').map(str::to_owned).collect()
    };
    !parts(one).is_disjoint(&parts(other))
}

/// True if this is the name of a vocabulary.
fn is_vocabulary(path: &Path) -> bool {
    let ends_so = VOCABULARIES.iter().any(|end| ends(path, end));
    ends_so && file_name(path).contains("vocab")
}

/// True if a part of a file's name, between full stops, is one of these words.
fn has_part(path: &Path, words: &[&str]) -> bool {
    let name = file_name(path);
    name.split('.').any(|part| words.contains(&part))
}

fn ends(path: &Path, end: &str) -> bool {
    path.extension() == Some(OsStr::new(end))
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|path| file_name(path)).collect()
}

/// Finds the files that `decoder.yml` calls `names`. Different names stand for different files.
fn named_files(dir: &Path, names: &[String]) -> Result<Vec<PathBuf>> {
    let found = names.iter().map(|name| named_file(dir, name)).collect::<Result<Vec<PathBuf>>>()?;
    for (place, (name, path)) in names.iter().zip(&found).enumerate() {
        let same = names.iter().zip(&found).take(place).find(|(other, file)| *other != name && *file == path);
        if let Some((other, file)) = same {
            return Err(not_understood(
                dir,
                format!(
                    "its `{SEARCH}` names `{other}` and `{name}`, of which only `{}` is here",
                    file_name(file)
                ),
            ));
        }
    }
    Ok(found)
}

/// Finds the file that `decoder.yml` calls `name`, a path of any operating system: where it says, from the
/// model's directory, or in this directory itself, to which models are often moved.
fn named_file(dir: &Path, name: &str) -> Result<PathBuf> {
    let path = PathBuf::from(name.replace('\\', "/"));
    let here = path.file_name().map(|name| dir.join(name));
    let places = Vec::from_iter([dir.join(&path)].into_iter().chain(here));
    let problem =
        if places.iter().any(|path| path.exists()) { "is not a regular file" } else { "is missing" };
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| not_understood(dir, format!("`{name}`, which its `{SEARCH}` names, {problem}")))
}

/// Returns the path of the file with this name beside `path`, if it exists.
pub(super) fn beside(path: &Path, name: &str) -> Option<PathBuf> {
    Some(path.with_file_name(name)).filter(|path| path.exists())
}
