//! Corpora whose files are named by patterns, such as `parts/*.en`.

use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_config::{Config, CorpusFile, CorpusSource};
use glob::{MatchOptions, Pattern};

/// Returns the corpora that `source` names, one for each file or pair of files that matches its patterns.
/// Relative paths are resolved against `dir`.
///
/// # Errors
/// [`Error::Data`] if a pattern matches no file, or two aligned patterns match different numbers of files;
/// [`Error::Io`] if a folder cannot be read.
pub(crate) fn expand(source: &CorpusSource, dir: Option<&Path>) -> Result<Vec<CorpusSource>> {
    let files = |path: &PathBuf| files(path, dir);
    Ok(match source {
        CorpusSource::Aligned { src, tgt, tag, weights } => {
            let sources = files(src)?;
            let targets = aligned(&sources, src, tgt, dir)?;
            let weights = weights_of(&sources, src, weights.as_deref(), dir)?;
            let pairs = sources.into_iter().zip(targets).zip(weights);
            let pair = |((src, tgt), weights)| CorpusSource::Aligned { src, tgt, tag: tag.clone(), weights };
            pairs.map(pair).collect()
        }
        CorpusSource::File(one) => {
            let paths = files(&one.path)?;
            let weights = weights_of(&paths, &one.path, one.weights.as_deref(), dir)?;
            let each = |(path, weights)| CorpusSource::File(CorpusFile { path, weights, ..one.clone() });
            paths.into_iter().zip(weights).map(each).collect()
        }
        CorpusSource::Builtin { .. } | CorpusSource::InMemory { .. } => vec![source.clone()],
        CorpusSource::Mixed(parts) => {
            let parts = parts.iter().map(|part| expand(&part.source, dir));
            parts.collect::<Result<Vec<_>>>()?.concat()
        }
    })
}

/// The files that match `other`, one for each of the `files` that match `pattern`.
fn aligned(files: &[PathBuf], pattern: &Path, other: &Path, dir: Option<&Path>) -> Result<Vec<PathBuf>> {
    let others = self::files(other, dir)?;
    if files.len() != others.len() {
        return Err(Error::data(
            format!(
                "{} match `{}`, and {} match `{}`",
                count(files.len(), "file"),
                pattern.display(),
                others.len(),
                other.display()
            ),
            "file n of one pattern, by name, belongs to file n of the other",
        ));
    }
    Ok(others)
}

/// The file of weights of each of the `files` that match `pattern`, if there are weights.
fn weights_of(
    files: &[PathBuf],
    pattern: &Path,
    weights: Option<&Path>,
    dir: Option<&Path>,
) -> Result<Vec<Option<PathBuf>>> {
    match weights {
        None => Ok(vec![None; files.len()]),
        Some(weights) => Ok(aligned(files, pattern, weights, dir)?.into_iter().map(Some).collect()),
    }
}

/// Returns the files of the training corpus, with patterns replaced by the files that match them.
///
/// # Errors
/// [`Error::Data`] if a pattern matches no file, or two aligned patterns match different numbers of files;
/// [`Error::Io`] if a folder cannot be read; [`Error::Config`] without a training corpus.
pub fn training_files(config: &Config) -> Result<Vec<PathBuf>> {
    let sources = expand(config.data.training()?, config.data.dir.as_deref())?;
    let files = sources.iter().flat_map(CorpusSource::files);
    Ok(files.map(Path::to_path_buf).collect())
}

/// The files that match `path`, by name. A path that exists is not taken as a pattern.
fn files(path: &Path, dir: Option<&Path>) -> Result<Vec<PathBuf>> {
    let place = dir.map_or_else(|| path.to_path_buf(), |dir| dir.join(path));
    let is_pattern = path.to_string_lossy().contains(['*', '?', '[']);
    if !is_pattern || place.exists() {
        return Ok(vec![place]);
    }
    // The folder is not part of the pattern.
    let folder = dir.map(|dir| Pattern::escape(&dir.to_string_lossy()));
    let text = Path::new(&folder.unwrap_or_default()).join(path);
    let text = text.to_string_lossy();
    let unusable = |problem: String| {
        Error::data(
            problem,
            "in a pattern, `*` stands for any characters, `?` for one, `[ab]` for one of these, and `**/` \
                    for any folders",
        )
    };
    let visible = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
    let found = glob::glob_with(&text, visible)
        .map_err(|error| unusable(format!("`{text}` is not a pattern: {error}")))?
        .map(|file| {
            file.map_err(|error| {
                let path = error.path().to_path_buf();
                Error::io("read", path)(error.into())
            })
        })
        .collect::<Result<Vec<PathBuf>>>()?;
    let found: Vec<PathBuf> = found.into_iter().filter(|path| !path.is_dir()).collect();
    if found.is_empty() { Err(unusable(format!("no file matches the pattern `{text}`"))) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use attentive_config::{CorpusFormat, WeightedSource};

    use super::*;

    #[test]
    fn patterns_stand_for_all_files_that_fit_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("[folder]");
        fs::create_dir(&folder).unwrap();
        for name in ["b.en", "a.en", ".c.en", "a.de", "b.de", "c.de", "[x]"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::create_dir(folder.join("d.en")).unwrap();
        let expanded = |source: &CorpusSource| expand(source, Some(&folder));
        let names = |source: CorpusSource| -> Vec<String> {
            let expanded = expanded(&source).unwrap();
            let files = expanded.iter().flat_map(CorpusSource::files);
            let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
            files.map(name).collect()
        };
        let aligned = |src: &str, tgt: &str| CorpusSource::aligned(src, tgt);
        assert_eq!(names(CorpusSource::file(CorpusFormat::Text, "*.en")), ["a.en", "b.en"]);
        assert_eq!(names(aligned("*.en", "[ab].de")), ["a.en", "a.de", "b.en", "b.de"]);
        assert_eq!(names(CorpusSource::file(CorpusFormat::Text, "[x]")), ["[x]"]);
        let parts = ["b.en", "?.en"]
            .map(|text| WeightedSource { source: CorpusSource::file(CorpusFormat::Text, text), weight: 1.0 });
        assert_eq!(names(CorpusSource::Mixed(parts.into())), ["b.en", "a.en", "b.en"]);
        let uneven = expanded(&aligned("*.en", "*.de")).unwrap_err();
        assert!(uneven.to_string().starts_with("2 files match `*.en`"), "{uneven}");
        let none = expanded(&CorpusSource::file(CorpusFormat::Tsv, "*.tsv")).unwrap_err();
        assert!(none.to_string().contains("no file matches the pattern"), "{none}");
        let wrong = expanded(&CorpusSource::file(CorpusFormat::Tsv, "a***b")).unwrap_err();
        assert!(wrong.to_string().contains("is not a pattern"), "{wrong}");
    }
}
