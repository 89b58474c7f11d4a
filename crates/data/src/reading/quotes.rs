//! Quotation marks around columns, which have no special meaning in the files of a corpus.

use std::path::{Path, PathBuf};

use crate::corpus::item::{Item, TagInput};

/// The number of lines of a file that are looked at.
const LINES: usize = 10;

/// Looks for files whose columns seem to be quoted as in CSV: on all of the first lines, perhaps except a
/// header, the label is in quotation marks, or both sides are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quotes {
    /// Whether columns are quoted on the lines of the current file; `None` before its first line.
    all: Option<bool>,
    /// The files that seem to have quoted columns.
    found: Vec<PathBuf>,
}

impl Quotes {
    /// Looks at the item on a line of the current file.
    pub(crate) fn observe(&mut self, item: &Item, line: usize) {
        if line > LINES {
            return;
        }
        let quoted = is_quoted(item);
        // The first line may be a header.
        if quoted || line > 1 {
            self.all = Some(quoted && self.all.unwrap_or(true));
        }
    }

    /// Notes the end of the current file, which is at `path`.
    pub(crate) fn end_file(&mut self, path: &Path) {
        if self.all.take() == Some(true) {
            self.found.push(path.to_path_buf());
        }
    }

    /// A warning for each file that seems to have quoted columns.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.found.iter().map(|path| {
            format!(
                "`{}`: the columns are in quotation marks, which are read as part of them: write the file \
                 without quotes",
                path.display()
            )
        })
    }
}

/// Whether the label is in quotation marks, or both sides are.
fn is_quoted(item: &Item) -> bool {
    match item {
        Item::Labeled { label, .. } => in_quotes(label, label),
        Item::Translation { src, tgt } => [src, tgt].iter().all(|side| {
            let side = side.trim();
            in_quotes(side, side)
        }),
        Item::Tagged { input: TagInput::Tokens(tokens), tags } => [tokens, tags]
            .iter()
            .all(|words| matches!((words.first(), words.last()), (Some(a), Some(b)) if in_quotes(a, b))),
        Item::Tagged { .. } | Item::Text(_) => false,
    }
}

/// Whether there is a quotation mark at the beginning of the first word and one at the end of the last.
fn in_quotes(first: &str, last: &str) -> bool {
    first.len() > 1 && last.len() > 1 && first.starts_with('"') && last.ends_with('"')
}
