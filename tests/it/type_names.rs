//! A type that other modules can see has a name of its own in the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::pages::root;

/// Names that several types may have: the arguments of each command, and the error of a crate.
const CUSTOMARY: [&str; 2] = ["Args", "Error"];

/// The name of the visible type that `line` defines outside functions and traits.
fn defined(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace().skip_while(|word| *word == "unsafe");
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&words.next()?);
    let name = words.next().filter(|_| is_type)?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Adds the types of all files below `folder` to `found`, but for tests.
fn collect(folder: &Path, found: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "benches", "examples", "target"].contains(&name.as_str()) {
            collect(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            for name in fs::read_to_string(&path).unwrap().lines().filter_map(defined) {
                found.entry(name.to_owned()).or_default().push(path.display().to_string());
            }
        }
    }
}

#[test]
fn names_of_visible_types_are_unique() {
    let mut found = BTreeMap::new();
    for folder in ["crates", "src", "python/src"] {
        collect(&root().join(folder), &mut found);
    }
    assert!(found.len() > 500, "{} types", found.len());
    assert!(found["Args"].len() > 20, "{:?}", found["Args"]);
    found.retain(|name, files| files.len() > 1 && !CUSTOMARY.contains(&name.as_str()));
    assert!(found.is_empty(), "types of the same name: {found:#?}");
}
