//! Comma-separated values (RFC 4180).

use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use csv::{ErrorKind, ReaderBuilder, StringRecord};

use super::bounded::Bounded;
use super::columns::Columns;
use super::foreign::unreadable;
use super::form::Form;
use super::item::Item;
use super::stored::SourceFile;

/// A table of comma-separated values.
#[derive(Debug)]
pub(super) struct Table {
    reader: csv::Reader<Bounded>,
    columns: Columns,
    path: PathBuf,
    record: StringRecord,
    /// The line on which the last record begins.
    line: usize,
}

impl Table {
    /// Opens the file at `path`.
    pub(super) fn open(path: &Path, columns: Columns) -> io::Result<Self> {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Bounded::open(path)?);
        Ok(Self { reader, columns, path: path.to_path_buf(), record: StringRecord::new(), line: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn finish(self) -> Option<SourceFile> {
        self.reader.into_inner().finish(self.path)
    }

    /// The next record; `None` at the end.
    pub(super) fn next(&mut self, form: Form) -> Result<Option<Item>> {
        loop {
            self.reader.get_mut().begin();
            let is_there = self.reader.read_record(&mut self.record).map_err(|error| {
                let line = error.position().map_or(0, |place| place.line() as usize);
                match error.into_kind() {
                    ErrorKind::Io(error) => {
                        Interrupt::check().err().unwrap_or_else(|| unreadable(&self.path)(error))
                    }
                    ErrorKind::Utf8 { err, .. } => {
                        Error::line(&self.path, line, format!("not valid UTF-8: {err}"))
                    }
                    other => Error::line(&self.path, line, format!("{other:?}")),
                }
            })?;
            if !is_there {
                return Ok(None);
            }
            self.line = self.record.position().map_or(0, |place| place.line() as usize);
            let fields: Vec<String> = self.record.iter().map(on_one_line).collect();
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let found = self.columns.read(&fields, form);
            if let Some(item) = found.map_err(|problem| Error::line(&self.path, self.line, problem))? {
                return Ok(Some(item));
            }
        }
    }
}

/// `text` with blanks in place of line breaks.
pub(super) fn on_one_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\r', '\n'], " ")
}
