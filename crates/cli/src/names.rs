//! Names of runs in tables and charts.

use std::path::{Path, PathBuf};

/// The folder name of each path, or the whole path if another run's folder has the same name.
pub(super) fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &Path| path.file_name().map(|name| name.to_owned());
    let name = |path: &PathBuf| {
        let is_alone = paths.iter().filter(|other| last(other) == last(path)).count() == 1;
        match last(path) {
            Some(name) if is_alone => name.to_string_lossy().into_owned(),
            _ => path.display().to_string(),
        }
    };
    paths.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_name_are_distinguished() {
        let paths = ["runs/a", "other/a/", "b"].map(PathBuf::from);
        assert_eq!(names(&paths), ["runs/a", "other/a/", "b"]);
    }
}
