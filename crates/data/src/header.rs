//! Headers, which the files of a corpus do not have.

use std::path::{Path, PathBuf};

use super::item::Item;

/// Usual names of a column of labels, in lower case.
const LABELS: [&str; 10] =
    ["label", "labels", "class", "category", "sentiment", "polarity", "intent", "topic", "tag", "target"];

/// Usual names of a column of texts, in lower case.
const TEXTS: [&str; 10] = [
    "text",
    "texts",
    "sentence",
    "sentences",
    "review",
    "document",
    "content",
    "utterance",
    "source",
    "input",
];

/// Looks for files of labeled texts whose first line seems to be a header: it has the name of a column, and
/// its label does not occur again.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers {
    /// The label on the first line of the current file, if that may be a header.
    suspect: Option<String>,
    /// The files that seem to have a header, each with its label.
    found: Vec<(PathBuf, String)>,
}

impl Headers {
    /// Looks at the item on a line of the current file.
    pub(super) fn observe(&mut self, item: &Item, line: usize) {
        let Item::Labeled { text, label } = item else {
            return;
        };
        if line == 1 {
            self.suspect = names_a_column(text, label).then(|| label.clone());
        } else if self.suspect.as_ref() == Some(label) {
            self.suspect = None;
        }
    }

    /// Notes the end of the current file, which is at `path`.
    pub(super) fn end_file(&mut self, path: &Path) {
        let label = self.suspect.take();
        self.found.extend(label.map(|label| (path.to_path_buf(), label)));
    }

    /// A warning for each file that seems to have a header.
    pub(super) fn warnings(&self) -> Vec<String> {
        let warning = |(path, label): &(PathBuf, String)| {
            format!(
                "`{}`, line 1: looks like a header, but is read as a text with the label `{label}`: delete \
                 the line if it is one",
                path.display()
            )
        };
        self.found.iter().map(warning).collect()
    }
}

/// Whether one of the two columns of a line is the name of a column.
fn names_a_column(text: &str, label: &str) -> bool {
    let plain = |column: &str| column.trim().trim_matches('"').to_lowercase();
    let (text, label) = (plain(text), plain(label));
    LABELS.contains(&label.as_str()) || LABELS.iter().chain(&TEXTS).any(|name| *name == text)
}
