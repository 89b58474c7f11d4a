//! Headers, which the files of a corpus do not have.

use std::path::{Path, PathBuf};

use attentive_text::KnownLanguage;

use crate::corpus::item::Item;

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

/// Usual names of the columns of pairs, in lower case, besides codes of languages.
const SIDES: [&str; 8] = ["src", "tgt", "source", "target", "input", "output", "text", "translation"];

/// Looks for files whose first line seems to be a header: of labeled texts, if it has the name of a column,
/// and its label does not occur again; of pairs, if it has the names of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    /// The label on the first line of the current file, if that may be a header.
    suspect: Option<String>,
    /// Whether the first line of the current file names two sides.
    names_sides: bool,
    /// The files that seem to have a header, each with what it is read as.
    found: Vec<(PathBuf, String)>,
}

impl Headers {
    /// Looks at the item on a line of the current file.
    pub(crate) fn observe(&mut self, item: &Item, line: usize) {
        if let Item::Translation { src, tgt } = item
            && line == 1
        {
            self.names_sides = [src, tgt].iter().all(|side| names_a_side(side)) && src != tgt;
        }
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
    pub(crate) fn end_file(&mut self, path: &Path) {
        let label = self.suspect.take();
        let label =
            label.map(|label| format!("a text with the label `{label}`: delete the line if it is one"));
        let pair = std::mem::take(&mut self.names_sides)
            .then(|| "a pair: delete the line if it is one, or name its columns with `columns`".to_owned());
        self.found.extend(label.or(pair).map(|read_as| (path.to_path_buf(), read_as)));
    }

    /// A warning for each file that seems to have a header.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warning = |(path, read_as): &(PathBuf, String)| {
            format!("`{}`, line 1: looks like a header, but is read as {read_as}", path.display())
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

/// Whether a column of a pair is the name of a side, or a code of a language.
fn names_a_side(column: &str) -> bool {
    let plain = column.trim().trim_matches('"').to_lowercase();
    SIDES.contains(&plain.as_str()) || plain.len() <= 3 && KnownLanguage::of(&plain).is_some()
}
