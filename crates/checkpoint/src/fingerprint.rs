//! The identity of a model.

use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::regular_file;

use super::{Provenance, files, weights};

/// Describes the model in the directory `model`: its provenance, which has the checksums of its files, and those
/// of files that it does not list, such as a shortlist that was added; the sizes and times of its files if it
/// has no provenance.
pub fn fingerprint(model: &Path) -> String {
    let Ok(mut text) = fs::read_to_string(model.join(files::PROVENANCE)) else { return listing(model) };
    let known: Option<Provenance> = serde_json::from_str(&text).ok();
    let is_listed = |name: &str| known.as_ref().is_some_and(|known| known.sha256_of(name).is_some());
    let decides = |name: &str| name.ends_with(".safetensors") || name.starts_with("tokenizer");
    for (name, path) in regular_files(model).into_iter().filter(|(name, _)| decides(name) && !is_listed(name))
    {
        let sum = regular_file::read_whole(&path)
            .map_or_else(|_| "unreadable".into(), |file| weights::sha256_of(&file));
        text.push_str(&format!("\n{name} {sum}"));
    }
    text
}

/// The names, sizes and times of the files of a model.
fn listing(model: &Path) -> String {
    let described = regular_files(model).into_iter().filter_map(|(name, path)| {
        let metadata = path.metadata().ok()?;
        Some(format!("{name} {} {:?}", metadata.len(), metadata.modified().ok()?))
    });
    described.collect::<Vec<_>>().join("\n")
}

/// The files in a folder, sorted by their names.
fn regular_files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut files: Vec<_> =
        files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    files.sort_unstable();
    files
}
