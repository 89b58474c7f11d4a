//! The choice among the checkpoints that a training of Marian has written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::read_yaml;
use crate::listing::file_name;

/// Metrics of validation, the best one first, if the options of training do not list them.
const METRICS: [&str; 8] = [
    "translation",
    "bleu-detok",
    "bleu",
    "chrf",
    "valid-script",
    "ce-mean-words",
    "perplexity",
    "cross-entropy",
];
pub(super) const END: &str = ".npz";

/// Returns the checkpoint to import among `found`, and the reason; `None` if they are not those of one
/// training. It is the best one by the first metric of the training, or else the last one.
pub(super) fn chosen(dir: &Path, found: &[PathBuf]) -> Option<(PathBuf, String)> {
    let names: Vec<String> = found.iter().map(|path| file_name(path)).collect();
    let roots: BTreeSet<&str> = names.iter().map(|name| root(name)).collect();
    let [root] = Vec::from_iter(roots)[..] else { return None };
    let of_name = |name: &str| found.iter().find(|path| file_name(path) == name).cloned();
    for metric in metrics(dir, root) {
        let name = format!("{root}{END}.best-{metric}{END}");
        if let Some(path) = of_name(&name) {
            return Some((path, format!("the best of {} checkpoints by `{metric}`", found.len())));
        }
    }
    if let Some(path) = of_name(&format!("{root}{END}")) {
        return Some((path, format!("the last of {} checkpoints", found.len())));
    }
    let last = found.iter().max_by_key(|path| iteration(&file_name(path), root))?;
    Some((last.clone(), format!("the last of {} checkpoints", found.len())))
}

/// What the names of all checkpoints of a training begin with: `model` of `model.npz`, `model.iter500.npz`
/// and `model.npz.best-bleu.npz`.
pub(super) fn root(name: &str) -> &str {
    let name = name.strip_suffix(END).unwrap_or(name);
    if let Some((root, _)) = name.split_once(&format!("{END}.best-")) {
        return root;
    }
    match name.rsplit_once(".iter") {
        Some((root, number)) if number.parse::<u64>().is_ok() => root,
        _ => name,
    }
}

fn iteration(name: &str, root: &str) -> Option<u64> {
    name.strip_prefix(root)?.strip_prefix(".iter")?.strip_suffix(END)?.parse().ok()
}

/// The metrics of the training, the first one first.
fn metrics(dir: &Path, root: &str) -> Vec<String> {
    let options = read_yaml(&dir.join(format!("{root}{END}.yml"))).unwrap_or_default();
    match options.get("valid-metrics") {
        Some(Value::Array(metrics)) => metrics.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => METRICS.map(str::to_owned).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_checkpoint_of_a_training_is_chosen() {
        let choice = |names: &[&str], options: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("model.npz.yml"), options).unwrap();
            let paths: Vec<PathBuf> = names.iter().map(|name| folder.path().join(name)).collect();
            chosen(folder.path(), &paths).map(|(path, _)| file_name(&path))
        };
        let all = [
            "model.iter100.npz",
            "model.iter20.npz",
            "model.npz",
            "model.npz.best-bleu.npz",
            "model.npz.best-chrf.npz",
        ];
        for (names, options, expected) in [
            (&all[..], "", Some("model.npz.best-bleu.npz")),
            (&all, "valid-metrics: [chrf, bleu]", Some("model.npz.best-chrf.npz")),
            (&all, "valid-metrics: [ce-mean-words]", Some("model.npz")),
            (&all[..3], "", Some("model.npz")),
            (&all[..2], "", Some("model.iter100.npz")),
            (&["model.npz", "other.npz"], "", None),
            (&["left.npz", "right.npz"], "", None),
        ] {
            assert_eq!(choice(names, options).as_deref(), expected, "{names:?} {options}");
        }
    }
}
