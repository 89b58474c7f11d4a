//! The library names no command-line flags.

use std::fs;
use std::path::{Path, PathBuf};

/// The lines of `text`, outside comments and tests, that contain something like `--flag`, with their numbers.
fn flags(text: &str) -> Vec<(usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .map(|(i, line)| (i + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter(|(_, line)| {
            line.split("--").skip(1).any(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()))
        })
        .collect()
}

/// The Rust files under `folder` that belong to the library and are not tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

#[test]
fn a_flag_in_a_string_is_found() {
    let text =
        "/// `--comment`\nlet x = \"take another `--output`\";\nlet y = a - -b;\n#[cfg(test)]\n\"--test\"";
    assert_eq!(flags(text), [(2, "let x = \"take another `--output`\";")]);
}

#[test]
fn the_library_names_no_flags() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for member in fs::read_dir(root.join("crates")).unwrap() {
        let member = member.unwrap().path();
        if !member.ends_with("cli") {
            sources(&member.join("src"), &mut files);
        }
    }
    assert!(files.len() > 100, "only {} files found", files.len());
    let found: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let place = |(line, text): (usize, &str)| format!("{}:{line}: {text}", path.display());
            flags(&text).into_iter().map(place).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
