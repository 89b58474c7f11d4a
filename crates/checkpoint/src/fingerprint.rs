//! The identity of a model.

use std::fs;
use std::path::Path;

use super::files;

/// Describes the model in the directory `model`: its provenance, which has the checksum of the weights; the
/// sizes and times of its files if it has none.
pub fn fingerprint(model: &Path) -> String {
    fs::read_to_string(model.join(files::PROVENANCE)).unwrap_or_else(|_| listing(model))
}

/// The names, sizes and times of the files of a model.
fn listing(model: &Path) -> String {
    let entries = fs::read_dir(model).into_iter().flatten().flatten();
    let described = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Some(format!("{name} {} {:?}", metadata.len(), metadata.modified().ok()?))
    });
    let mut files: Vec<String> = described.collect();
    files.sort_unstable();
    files.join("\n")
}
