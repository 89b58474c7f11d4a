//! Comma-separated values (RFC 4180).

use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use csv::{ErrorKind, ReaderBuilder, StringRecord};

use crate::corpus::data_kind::DataKind;
use crate::corpus::item::Item;
use crate::reading::bounded_reader::BoundedReader;
use crate::reading::convertible_format::unreadable;
use crate::reading::source_file::SourceFile;
use crate::reading::table_columns::TableColumns;

/// The problem with a file that ends within a column in quotation marks.
pub(crate) const UNCLOSED: &str = "the record that begins here has a quotation mark without a counterpart, so \
    that what follows it is not divided: double the mark, and put the column in quotation marks";

/// A table of comma-separated values.
#[derive(Debug)]
pub(crate) struct CsvTable {
    reader: csv::Reader<BoundedReader>,
    columns: TableColumns,
    path: PathBuf,
    record: StringRecord,
    /// The line on which the last record begins.
    line: usize,
    /// Whether the last record has line breaks.
    has_breaks: bool,
}

impl CsvTable {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path, columns: TableColumns) -> io::Result<Self> {
        let reader =
            ReaderBuilder::new().has_headers(false).flexible(true).from_reader(BoundedReader::open(path)?);
        Ok(Self {
            reader,
            columns,
            path: path.to_path_buf(),
            record: StringRecord::new(),
            line: 0,
            has_breaks: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    pub(crate) fn finish(self) -> Option<SourceFile> {
        self.reader.into_inner().finish(self.path)
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self, kind: DataKind) -> Result<Option<Item>> {
        loop {
            self.reader.get_mut().begin();
            let is_there = self.reader.read_record(&mut self.record).map_err(|error| {
                let line = error.position().map_or(0, |place| place.line() as usize);
                let problem = error.to_string();
                match error.into_kind() {
                    ErrorKind::Io(error) => {
                        Interrupt::check().err().unwrap_or_else(|| unreadable(&self.path)(error))
                    }
                    ErrorKind::Utf8 { err, .. } => {
                        Error::line(&self.path, line, format!("not valid UTF-8: {err}"))
                    }
                    _ => Error::line(&self.path, line, problem),
                }
            })?;
            if !is_there {
                return self.whole();
            }
            self.has_breaks = self.record.iter().any(|field| field.contains('\n'));
            self.line = self.record.position().map_or(0, |place| place.line() as usize);
            let fields: Vec<String> = self.record.iter().map(on_one_line).collect();
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let found = self.columns.read(&fields, kind);
            if let Some(item) = found.map_err(|problem| Error::line(&self.path, self.line, problem))? {
                return Ok(Some(item));
            }
        }
    }
}

impl CsvTable {
    /// Nothing, at the end of a file that is not cut off.
    fn whole(&self) -> Result<Option<Item>> {
        // A mark within a column without marks, as in `5" disk`, stands for itself.
        if self.reader.get_ref().is_quoting() && self.has_breaks {
            return Err(Error::line(&self.path, self.line, UNCLOSED));
        }
        Ok(None)
    }
}

/// `text` with blanks in place of line breaks.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\r', '\n'], " ")
}
