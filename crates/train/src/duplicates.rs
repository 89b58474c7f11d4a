//! Files that are named twice in `[data]`, probably by mistake.

use std::path::{Path, PathBuf};

use attentive_config::{CorpusSource, DataConfig};

/// Warnings about corpora whose two sides are one file, and about validation data that are training data.
/// Paths are compared, not contents.
pub(super) fn warnings(data: &DataConfig) -> Vec<String> {
    let train = data.train.as_ref();
    let train: Vec<&CorpusSource> =
        train.map(|source| source.parts().into_iter().map(|(part, _)| part).collect()).unwrap_or_default();
    let valid = data.valid.as_ref();
    let named = train.iter().map(|source| ("data.train", *source));
    let named = named.chain(valid.map(|source| ("data.valid", source)));
    let copies = named.filter_map(|(key, source)| copied(data, key, source));
    let seen = valid.filter(|valid| train.iter().any(|train| same(data, train, valid)));
    copies.chain(seen.map(already_seen)).collect()
}

/// A warning if the source and the target of `key` are the same file.
fn copied(data: &DataConfig, key: &str, source: &CorpusSource) -> Option<String> {
    let CorpusSource::Aligned { src, tgt, .. } = source else {
        return None;
    };
    let is_copy = canonical(data, src) == canonical(data, tgt);
    is_copy.then(|| {
        format!(
            "source and target of `{key}` are the same file, `{}`, so that every target is a copy of its \
             source",
            src.display()
        )
    })
}

/// True if the two corpora are the same files.
fn same(data: &DataConfig, one: &CorpusSource, other: &CorpusSource) -> bool {
    let files = |source: &CorpusSource| -> Vec<PathBuf> {
        let files = source.files().into_iter();
        files.map(|file| canonical(data, file)).collect()
    };
    let files = (files(one), files(other));
    !files.0.is_empty() && files.0 == files.1
}

fn already_seen(valid: &CorpusSource) -> String {
    let files = valid.files().into_iter();
    let files: Vec<String> = files.map(|file| format!("`{}`", file.display())).collect();
    format!(
        "`data.valid` is also in `data.train` ({}): validation shows how well the model remembers, not how \
         well it works on new text; take other lines, or hold some out with `data.hold_out`",
        files.join(", ")
    )
}

/// The path that all names of `file` have in common, or for a pattern its own.
fn canonical(data: &DataConfig, file: &Path) -> PathBuf {
    let path = data.path(file);
    path.canonicalize().unwrap_or(path)
}
