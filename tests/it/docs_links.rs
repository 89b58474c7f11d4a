//! Links of the documents lead somewhere, and every page can be found.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::support::markdown::Page;
use crate::support::pages::{Mistakes, all, page, present, root};

/// The most lines of the README.
const README: usize = 200;

/// From where readers find all pages; those that exist.
const STARTS: [&str; 2] = ["README.md", "docs/README.md"];

/// The path in the repository to which `target` leads from `page`, and its anchor. `None` for other sites.
fn destination<'a>(page: &str, target: &'a str) -> Option<(String, Option<&'a str>)> {
    if target.starts_with("https://") || target.starts_with("http://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    let beside = Path::new(page).parent().unwrap();
    let mut resolved = PathBuf::new();
    for part in beside.join(path).components() {
        match part {
            Component::ParentDir if resolved.pop() => {}
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    Some((resolved.to_str().unwrap().to_owned(), anchor))
}

/// What is wrong with a link on `page`, if anything.
fn mistake(page: &str, target: &str, pages: &HashMap<&str, &Page>) -> Option<String> {
    let (path, anchor) = destination(page, target)?;
    if path.starts_with(['/', '.']) && !root().join(&path).starts_with(root().join(".ci")) {
        return Some(format!("the link `{target}` leaves the repository: link by a relative path"));
    }
    if !root().join(&path).exists() {
        return Some(format!("the link `{target}` leads to `{path}`, which does not exist"));
    }
    let anchor = anchor?;
    let Some(linked) = pages.get(path.as_str()) else {
        return Some(format!("the link `{target}` has an anchor, but `{path}` is no document"));
    };
    let known = &linked.anchors;
    (!known.contains(anchor)).then(|| {
        let known: BTreeSet<_> = known.iter().map(String::as_str).collect();
        let known: Vec<_> = known.into_iter().collect();
        format!("`{path}` has no heading `#{anchor}`; it has {}", known.join(", "))
    })
}

fn by_name(pages: &[Page]) -> HashMap<&str, &Page> {
    pages.iter().map(|page| (page.name.as_str(), page)).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let pages = all();
    let known = by_name(&pages);
    let mut mistakes = Mistakes::default();
    for page in &pages {
        for link in &page.links {
            if let Some(mistake) = mistake(&page.name, &link.target, &known) {
                mistakes.add(&page.name, link.line, mistake);
            }
        }
    }
    mistakes.none();
}

#[test]
fn wrong_links_are_noticed() {
    let pages = [Page::parse("docs/serving.md", "# One"), Page::parse("README.md", "# Two words")];
    let known = by_name(&pages);
    let wrong = |target: &str| mistake("docs/serving.md", target, &known);
    for target in ["#one", "../README.md#two-words", "../src", "https://example.com/x#y"] {
        assert_eq!(wrong(target), None, "{target}");
    }
    for (target, named) in [
        ("b.md", "`docs/b.md`, which does not exist"),
        ("../README.md#two", "has no heading `#two`; it has two-words"),
        ("../../x", "leaves the repository"),
        ("/README.md", "leaves the repository"),
        ("../src#x", "is no document"),
    ] {
        let wrong = wrong(target).unwrap();
        assert!(wrong.contains(named), "{wrong}");
    }
}

#[test]
fn every_page_can_be_found_from_the_readme() {
    let pages = all();
    let known = by_name(&pages);
    let mut open: Vec<&str> = STARTS.into_iter().filter(|name| known.contains_key(name)).collect();
    let mut found: BTreeSet<String> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !found.insert(name.to_owned()) {
            continue;
        }
        let links = known[name].links.iter();
        let linked = links.filter_map(|link| destination(name, &link.target));
        open.extend(linked.filter_map(|(path, _)| known.get_key_value(path.as_str()).map(|(name, _)| *name)));
    }
    let mut mistakes = Mistakes::default();
    for page in pages.iter().filter(|page| page.name.starts_with("docs/")) {
        if !found.contains(&page.name) {
            let starts = STARTS.join(" or ");
            mistakes.add(&page.name, 1, format!("no page links to it: link to it from {starts}"));
        }
    }
    mistakes.none();
}

/// The most columns of a line of prose, and pages whose lines are generated.
const WIDTH: usize = 110;
const GENERATED: [&str; 1] = ["docs/configuration.md"];

/// The numbers of the lines of prose in `text` that are too long, with their columns. Tables, pictures, code
/// and lines that consist of one link cannot be broken.
fn too_long(text: &str) -> Vec<(usize, usize)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let start = line.trim_start();
        if start.starts_with("```") {
            in_code = !in_code;
        }
        let columns = line.chars().count();
        let words = start.trim_start_matches("- ").split_whitespace().count();
        let can_be_broken = !in_code && !start.starts_with(['|', '<', '!']) && words > 1;
        if can_be_broken && columns > WIDTH {
            found.push((number, columns));
        }
    }
    found
}

#[test]
fn prose_is_narrow() {
    let mut mistakes = Mistakes::default();
    for page in all().iter().filter(|page| !GENERATED.contains(&page.name.as_str())) {
        for (number, columns) in too_long(&page.text) {
            let problem = format!("{columns} columns: break it after at most {WIDTH}");
            mistakes.add(&page.name, number, problem);
        }
    }
    mistakes.none();
}

#[test]
fn long_lines_are_noticed() {
    let long = "word ".repeat(30);
    for line in [long.clone(), format!("- {long}"), format!("[a](b) {long}")] {
        assert_eq!(too_long(&format!("short\n{line}")), [(2, line.chars().count())]);
    }
    let link = format!("- [a]({})", "b".repeat(200));
    let code = format!("```\n{long}\n```");
    for text in [format!("| {long} |"), format!("  | {long} |"), format!("![{long}](a)"), code, link] {
        assert_eq!(too_long(&text), [], "{text}");
    }
}

#[test]
fn the_readme_is_short() {
    let lines = page("README.md").text.lines().count();
    assert!(lines <= README, "{lines} lines: move some to docs/, at most {README} stay");
}

/// The paths of all source files below `folder`, relative to the root of the repository.
fn sources(folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            sources(&path, found);
        } else if path.ends_with(".rs") || path.ends_with(".wgsl") {
            found.push(path);
        }
    }
}

#[test]
fn source_files_that_documents_name_exist() {
    let mut files = Vec::new();
    for folder in ["bench", "crates", "examples", "python/src", "src", "tests"] {
        sources(folder, &mut files);
    }
    // `train/update.rs` is short for `crates/train/src/update.rs`.
    let short = files.iter().map(|file| file.replacen("/src/", "/", 1));
    let known: Vec<String> = files.iter().cloned().chain(short).map(|file| format!("/{file}")).collect();
    let (mut mistakes, mut named) = (Mistakes::default(), 0);
    for page in present() {
        for code in &page.codes {
            let is_file = code.text.ends_with(".rs") || code.text.ends_with(".wgsl");
            // `NAME` stands for any name.
            if is_file && !code.text.contains([' ', '*']) && !code.text.contains("NAME") {
                named += 1;
                let end = format!("/{}", code.text);
                if !known.iter().any(|file| file.ends_with(&end)) {
                    mistakes.add(&page.name, code.line, format!("there is no `{}`", code.text));
                }
            }
        }
    }
    assert!(named > 100, "{named} files are named");
    mistakes.none();
}
