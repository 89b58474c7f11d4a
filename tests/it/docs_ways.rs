//! `docs/development/ways.md` names functions that exist and that call each other.

use std::fs;

use crate::support::pages::{page, root};

const PAGE: &str = "docs/development/ways.md";

/// The file and the function of a row.
fn step(line: &str) -> Option<(String, String)> {
    let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
    let file = cells[0].strip_suffix('`')?;
    let function = cells[1].trim_matches('`');
    Some((format!("crates/{file}"), function.to_owned()))
}

/// What stands before each use of `name` as a function in `text`, without comments.
fn uses<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(move |line| line.match_indices(name).map(move |(at, _)| (line, at))).filter_map(
        move |(line, at)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let is_whole =
                !before.ends_with(is_word) && ["(", "<", "::<"].iter().any(|next| after.starts_with(next));
            is_whole.then_some(before)
        },
    )
}

#[test]
fn the_ways_of_a_sentence_and_of_a_batch_are_those_of_the_source() {
    let mut wrong = Vec::new();
    let mut steps = 0;
    for way in page(PAGE).text.split("\n## ").skip(1) {
        let mut before: Vec<String> = Vec::new();
        for (file, function) in way.lines().filter_map(step) {
            steps += 1;
            let Ok(text) = fs::read_to_string(root().join(&file)) else {
                wrong.push(format!("there is no `{file}`"));
                continue;
            };
            if function == "–" {
                before.push(text); // a declaration
                continue;
            }
            if !uses(&text, &function).any(|before| before.ends_with("fn ")) {
                wrong.push(format!("`{file}` has no function `{function}`"));
            }
            let calls = |text: &String| uses(text, &function).any(|before| !before.ends_with("fn "));
            if !before.is_empty() && !before.iter().chain([&text]).any(calls) {
                wrong.push(format!("no earlier step calls `{function}` of `{file}`"));
            }
            before.push(text);
        }
    }
    assert!(steps > 30, "only {steps} steps found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
