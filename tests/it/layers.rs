//! Modules import only modules that precede them in ARCHITECTURE.md.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module and the modules of this crate that it may import, besides itself.
const RULES: &[(&str, &[&str])] = &[
    ("count", &[]),
    ("error", &["count"]),
    ("small_file", &["error"]),
    ("random", &[]),
    ("batch", &[]),
    ("interrupt", &["error"]),
    ("processes", &["count", "error"]),
    ("architecture", &["batch"]),
    ("config", &["count", "error", "small_file", "architecture"]),
    (
        "text",
        &["count", "error", "architecture", "config", "batch"],
    ),
    (
        "data",
        &["count", "error", "config", "batch", "random", "text"],
    ),
    ("nn", &["architecture", "random"]),
    ("model", &["architecture", "batch", "nn"]),
    ("shortlist", &["batch"]),
    (
        "engine",
        &["architecture", "batch", "nn", "model", "shortlist"],
    ),
    (
        "checkpoint",
        &[
            "count",
            "error",
            "architecture",
            "config",
            "text",
            "data",
            "nn",
            "model",
            "shortlist",
            "engine",
        ],
    ),
    (
        "interop",
        &[
            "count",
            "error",
            "architecture",
            "config",
            "batch",
            "text",
            "data",
            "nn",
            "model",
            "shortlist",
            "checkpoint",
        ],
    ),
    (
        "decode",
        &[
            "error",
            "random",
            "architecture",
            "config",
            "batch",
            "text",
            "model",
        ],
    ),
    (
        "pipeline",
        &[
            "count",
            "error",
            "architecture",
            "config",
            "batch",
            "text",
            "data",
            "nn",
            "model",
            "shortlist",
            "engine",
            "checkpoint",
            "decode",
        ],
    ),
    ("document", &["error", "pipeline"]),
    ("page", &["error", "nn", "pipeline"]),
    (
        "server",
        &[
            "count",
            "error",
            "small_file",
            "config",
            "batch",
            "engine",
            "checkpoint",
            "decode",
            "document",
            "pipeline",
            "page",
            "text",
        ],
    ),
    (
        "train",
        &[
            "count",
            "error",
            "architecture",
            "config",
            "interrupt",
            "random",
            "batch",
            "text",
            "data",
            "nn",
            "model",
            "engine",
            "checkpoint",
            "interop",
            "decode",
            "pipeline",
            "processes",
        ],
    ),
    (
        "evaluate",
        &[
            "count",
            "error",
            "config",
            "batch",
            "text",
            "data",
            "nn",
            "model",
            "pipeline",
            "processes",
        ],
    ),
    (
        "quantize",
        &[
            "count",
            "error",
            "config",
            "shortlist",
            "engine",
            "checkpoint",
            "decode",
            "pipeline",
            "evaluate",
        ],
    ),
    (
        "compare",
        &[
            "error",
            "config",
            "decode",
            "checkpoint",
            "pipeline",
            "train",
            "evaluate",
            "processes",
        ],
    ),
];

fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let entries = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.flat_map(|path| sources(&path)).collect()
}

/// The modules of this crate that `line` names in a `use` or a path.
fn imported(line: &str) -> impl Iterator<Item = &str> {
    assert!(
        !line.contains("crate::{"),
        "one module an import, so that this test can read it: {line}"
    );
    line.split("crate::").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn rules_have_an_order() {
    for (place, (module, allowed)) in RULES.iter().enumerate() {
        for name in *allowed {
            let earlier = RULES[..place].iter().any(|(known, _)| known == name);
            assert!(
                earlier,
                "`{module}` may import `{name}`, which does not stand before it"
            );
        }
    }
}

#[test]
fn imports_follow_the_rules() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src)
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
    {
        let relative = path.strip_prefix(&src).unwrap();
        let module = relative
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs");
        let tests = relative.ends_with("tests.rs") || relative.iter().any(|part| part == "tests");
        if ["lib", "main", "cli"].contains(&module) || tests {
            continue;
        }
        let rule = RULES.iter().find(|(name, _)| *name == module);
        let (_, allowed) = rule
            .unwrap_or_else(|| panic!("`{module}` needs a line in RULES and in ARCHITECTURE.md"));
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            for name in imported(line).filter(|name| name.starts_with(char::is_lowercase)) {
                assert!(
                    name == module || allowed.contains(&name),
                    "{} imports `{name}`, which `{module}` must not: {line}",
                    relative.display()
                );
            }
        }
    }
}
