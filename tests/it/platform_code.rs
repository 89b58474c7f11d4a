//! What depends on the operating system stands in a module called `platform`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::pages::root;

/// What shows that a line depends on the system. What depends on the processor is another matter.
const MARKS: [&str; 9] = [
    "(unix",
    "(windows",
    " unix)",
    " windows)",
    "target_os",
    "target_family",
    "std::os::",
    "libc::",
    "rustix::process",
];

/// The lines of product code below `folder` that depend on the system, outside the modules for it.
fn collect(folder: &Path, files: &mut usize, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["platform", "tests", "benches", "examples", "target"].contains(&name.as_str()) {
                collect(&path, files, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            *files += 1;
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().peekable();
            while let Some(line) = lines.next() {
                // The tests in a file are at its end.
                let is_test = line.starts_with("#[cfg(test)]");
                if is_test && lines.peek().is_some_and(|next| !next.ends_with(';')) {
                    break;
                }
                if MARKS.iter().any(|mark| line.contains(mark)) {
                    found.push((path.clone(), line.to_owned()));
                }
            }
        }
    }
}

#[test]
fn code_for_one_system_stands_in_the_modules_for_it() {
    let (mut files, mut found) = (0, Vec::new());
    for folder in ["crates", "src", "python/src"] {
        collect(&root().join(folder), &mut files, &mut found);
    }
    assert!(files > 500, "{files} files");
    assert!(found.is_empty(), "{found:#?}");
    for crate_of_it in ["base", "kernels"] {
        assert!(root().join("crates").join(crate_of_it).join("src/platform/mod.rs").is_file());
    }
}
