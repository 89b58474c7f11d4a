//! Files with constraints on translations.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_pipeline::{self as pipeline, Prefix, Request};

use crate::input::{self, DASH};

/// The constraints on the translation of each line.
pub(super) struct LineConstraints {
    prefixes: Option<Column>,
    phrases: Option<Column>,
}

/// A file whose lines correspond to those of the input.
struct Column {
    path: PathBuf,
    lines: Vec<String>,
}

impl LineConstraints {
    /// Reads a file of prefixes and a file of phrases separated by tabs; `None` if there is neither.
    pub(super) fn read(prefix: Option<&Path>, constraints: Option<&Path>) -> Result<Option<Self>> {
        if prefix.is_none() && constraints.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            prefixes: prefix.map(|path| Column::read("--prefix", path)).transpose()?,
            phrases: (constraints.map(|path| Column::read("--constraints", path))).transpose()?,
        }))
    }

    /// The requests for `lines`, the first of which has the number `first_line`.
    pub(super) fn requests(&self, first_line: usize, lines: &[String]) -> Result<Vec<Request>> {
        let line = |column: &Option<Column>, number| match column {
            Some(column) => column.line(number).map(str::to_owned),
            None => Ok(String::new()),
        };
        let numbered = (first_line..).zip(lines);
        let request = |(number, src): (usize, &String)| {
            let phrases = line(&self.phrases, number)?;
            let phrases = phrases.split('\t').filter(|phrase| !phrase.trim().is_empty());
            Ok(Request {
                src: src.clone(),
                constraints: Arc::new(pipeline::TranslationConstraints {
                    prefix: Prefix::Text(line(&self.prefixes, number)?),
                    phrases: phrases.map(str::to_owned).collect(),
                }),
                position: None,
            })
        };
        numbered.map(request).collect()
    }

    /// Refuses files with more lines than the input.
    pub(super) fn check_end(&self, n_lines: usize) -> Result<()> {
        let columns = self.prefixes.iter().chain(&self.phrases);
        match columns.into_iter().find(|column| column.lines.len() > n_lines) {
            None => Ok(()),
            Some(column) => Err(column.unaligned(count(n_lines, "line"))),
        }
    }
}

impl Column {
    fn read(option: &str, path: &Path) -> Result<Self> {
        if path == Path::new(DASH) {
            return Err(Error::usage(
                format!("`{option} -`: standard input is for the text to translate"),
                "name a file",
            ));
        }
        Ok(Self { path: path.to_path_buf(), lines: input::read_lines(path)? })
    }

    /// Line number `number`, counted from 1.
    fn line(&self, number: usize) -> Result<&str> {
        let line = self.lines.get(number - 1).map(String::as_str);
        line.ok_or_else(|| self.unaligned("more".to_owned()))
    }

    fn unaligned(&self, input: String) -> Error {
        let (path, lines) = (self.path.display(), count(self.lines.len(), "line"));
        Error::data(
            format!("`{path}` has {lines}, but the input has {input}"),
            "line n of the file belongs to line n of the input; leave a line blank to ask for nothing",
        )
    }
}
