//! Where data goes: standard output, or a file.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use attentive::error::{Error, Result};
use serde::Serialize;

const STDOUT: &str = "standard output";

/// A buffered writer that knows its name.
pub(super) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    path: PathBuf,
}

impl Output {
    /// Standard output.
    pub(super) fn stdout() -> Self {
        Self {
            writer: BufWriter::new(Box::new(io::stdout())),
            path: STDOUT.into(),
        }
    }

    /// The file `path`, emptied, or standard output without one; never one of the `inputs`.
    pub(super) fn open(path: Option<&Path>, inputs: &[&Path]) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::stdout());
        };
        if let Some(input) = inputs.iter().find(|input| same_file(path, input)) {
            return Err(Error::usage(
                format!(
                    "the output `{}` is also the input `{}`",
                    path.display(),
                    input.display()
                ),
                "write to another file",
            ));
        }
        let file = File::create(path).map_err(Error::io("write", path))?;
        Ok(Self {
            writer: BufWriter::new(Box::new(file)),
            path: path.to_path_buf(),
        })
    }

    /// Writes `text` alone.
    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        let written = self.writer.write_all(text.as_bytes());
        written.map_err(Error::io("write", &self.path))
    }

    /// Writes `text` and a line break.
    pub(super) fn line(&mut self, text: impl fmt::Display) -> Result<()> {
        writeln!(self.writer, "{text}").map_err(Error::io("write", &self.path))
    }

    /// Writes `value` as indented JSON and a line break.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        self.json_text(serde_json::to_string_pretty(value))
    }

    /// Writes `value` as JSON in one line.
    pub(super) fn json_line(&mut self, value: &impl Serialize) -> Result<()> {
        self.json_text(serde_json::to_string(value))
    }

    fn json_text(&mut self, text: serde_json::Result<String>) -> Result<()> {
        self.line(
            text.map_err(io::Error::from)
                .map_err(Error::io("write", &self.path))?,
        )
    }

    /// Hands on what is buffered; without it, what could not be written would go unnoticed.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(Error::io("write", &self.path))
    }
}

/// True if `error` says that the reader of the output has gone.
pub(super) fn is_closed(error: &Error) -> bool {
    matches!(error, Error::Io { action: "write", source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b && a.is_file(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_never_emptied() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("in.txt");
        fs::write(&path, "kept").expect("write");
        let roundabout = folder.path().join(".").join("in.txt");
        assert!(matches!(
            Output::open(Some(&path), &[&roundabout]),
            Err(Error::Usage { .. })
        ));
        assert_eq!(fs::read_to_string(&path).expect("read"), "kept");
    }

    #[test]
    fn only_a_closed_output_is_quiet() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_closed(&Error::io("write", STDOUT)(closed())));
        assert!(!is_closed(&Error::io("read", STDOUT)(closed())));
        assert!(!is_closed(&Error::io("write", STDOUT)(
            io::ErrorKind::StorageFull.into()
        )));
    }
}
