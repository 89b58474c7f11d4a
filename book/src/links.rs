//! Links and pictures of chapters.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::chapter::{Part, parts};

/// Refuses links to files and headings that are not there, and pictures without a text for those who do not see them.
pub(crate) fn check(chapter: &str, folder: &Path) -> Result<()> {
    let lines = parts(chapter).into_iter().filter_map(|part| match part {
        Part::Line(line) => Some(line),
        Part::Code(_) => None,
    });
    let prose: String = lines.collect();
    for (place, _) in prose.match_indices("](") {
        let target = prose[place + 2..].split(')').next().unwrap_or_default();
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let is_outside = target.starts_with("http") || file.is_empty();
        if !is_outside && !folder.join(file).exists() {
            bail!("there is no {target}");
        }
        if !anchor.is_empty() && !target.starts_with("http") {
            let page =
                if file.is_empty() { chapter.to_owned() } else { fs::read_to_string(folder.join(file))? };
            if !headings(&page).any(|id| id == anchor) {
                bail!("there is no heading {target}");
            }
        }
        let Some((before, text)) = prose[..place].rsplit_once('[') else { continue };
        if before.ends_with('!') && text.chars().count() < 20 {
            bail!("the picture {target} has no text that says what is in it");
        }
    }
    Ok(())
}

/// The anchors of the headings of a page, as mdBook makes them.
fn headings(page: &str) -> impl Iterator<Item = String> {
    parts(page).into_iter().filter_map(|part| match part {
        Part::Line(line) if line.starts_with('#') => Some(anchor(line.trim_start_matches('#').trim())),
        _ => None,
    })
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '_' | '-'));
    kept.flat_map(char::to_lowercase).map(|c| if c.is_whitespace() { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_headings() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), "# A\n\n## What $it$ `does`, now\n").unwrap();
        let check = |text: &str| check(text, folder.path()).map_err(|error| error.to_string());
        assert_eq!(
            check("[a](a.md), [b](a.md#what-it-does-now), [c](https://x/y#z), [d](#d)\n\n## D\n"),
            Ok(())
        );
        for (text, problem) in [
            ("[b](b.md)", "there is no b.md"),
            ("[a](a.md#what)", "there is no heading a.md#what"),
            ("[d](#e)\n\n## D\n", "there is no heading #e"),
            ("![short](a.md)", "the picture a.md has no text that says what is in it"),
        ] {
            assert_eq!(check(text), Err(problem.to_owned()));
        }
    }
}
