//! Links and pictures of chapters.

use std::path::Path;

use anyhow::{Result, bail};

use crate::chapter::{Part, parts};

/// Refuses links to files that are not there, and pictures without a text for those who do not see them.
pub(crate) fn check(chapter: &str, folder: &Path) -> Result<()> {
    for part in parts(chapter) {
        let Part::Line(line) = part else { continue };
        for (place, _) in line.match_indices("](") {
            let target = line[place + 2..].split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            let is_outside = target.starts_with("http") || file.is_empty();
            if !is_outside && !folder.join(file).exists() {
                bail!("there is no {target}: {}", line.trim());
            }
            let text = line[..place].rsplit_once('[').map_or("", |(_, text)| text);
            let is_picture = line[..place].rsplit_once('[').is_some_and(|(before, _)| before.ends_with('!'));
            if is_picture && text.len() < 20 {
                bail!("the picture {target} has no text that says what is in it");
            }
        }
    }
    Ok(())
}
