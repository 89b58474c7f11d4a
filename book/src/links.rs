//! Links and pictures of chapters.

use std::path::Path;

use anyhow::{Result, bail};

use crate::chapter::{Part, parts};

/// Refuses links to files that are not there, and pictures without a text for those who do not see them.
pub(crate) fn check(chapter: &str, folder: &Path) -> Result<()> {
    let lines = parts(chapter).into_iter().filter_map(|part| match part {
        Part::Line(line) => Some(line),
        Part::Code(_) => None,
    });
    let prose: String = lines.collect();
    for (place, _) in prose.match_indices("](") {
        let target = prose[place + 2..].split(')').next().unwrap_or_default();
        let file = target.split('#').next().unwrap_or_default();
        let is_outside = target.starts_with("http") || file.is_empty();
        if !is_outside && !folder.join(file).exists() {
            bail!("there is no {target}");
        }
        let Some((before, text)) = prose[..place].rsplit_once('[') else { continue };
        if before.ends_with('!') && text.chars().count() < 20 {
            bail!("the picture {target} has no text that says what is in it");
        }
    }
    Ok(())
}
