//! Output to standard output or a file.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::{folder_of, platform};
use attentive_checkpoint::files;
use serde::Serialize;

use super::destination::Destination;
use super::input::DASH;

const STDOUT: &str = "standard output";

/// Refuses a file for lines of plain text whose name promises another format.
pub(super) fn refuse_other_format(path: &Path) -> Result<()> {
    let name = path.to_string_lossy().to_lowercase();
    let formats = [
        ".gz", ".zst", ".xz", ".bz2", ".zip", ".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".tmx",
        ".xlf", ".xliff",
    ];
    match formats.into_iter().find(|end| name.ends_with(end)) {
        None => Ok(()),
        Some(other) => Err(Error::usage(
            format!("`{}` would be no {other} file: what is written are lines of plain text", path.display()),
            "give a name that ends in .tsv, or two for aligned files; compress them afterwards",
        )),
    }
}

/// A buffered writer that knows its name. Output to a file is kept only if [`OutputWriter::finish`] is
/// called.
pub(super) struct OutputWriter {
    writer: BufWriter<Destination>,
    path: PathBuf,
}

impl OutputWriter {
    /// Standard output.
    pub(super) fn stdout() -> Self {
        Self { writer: BufWriter::new(Destination::Stdout(io::stdout())), path: STDOUT.into() }
    }

    /// Memory, from which [`OutputWriter::take`] takes the text.
    pub(super) fn memory() -> Self {
        Self { writer: BufWriter::new(Destination::Memory(Vec::new())), path: "memory".into() }
    }

    /// The text written to memory since the last call; empty for any other output.
    pub(super) fn take(&mut self) -> Result<String> {
        self.flush()?;
        match self.writer.get_mut() {
            Destination::Memory(all) => {
                let text = String::from_utf8(std::mem::take(all));
                Ok(text.expect("only text is written"))
            }
            _ => Ok(String::new()),
        }
    }

    /// The file `path`, or standard output if it is absent or `-`. It must not be one of the `inputs`, nor a
    /// file of a model directory among them. Existing content stays until [`OutputWriter::finish`] replaces
    /// it.
    pub(super) fn open<'a>(
        path: Option<&Path>,
        inputs: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new(DASH)) else {
            return Ok(Self::stdout());
        };
        for input in inputs {
            let (what, hint) = if is_file_of(path, input) {
                ("a file of the model", "choose another file name")
            } else if same_file(path, input) {
                ("also the input", "write to another file")
            } else {
                continue;
            };
            let (path, input) = (path.display(), input.display());
            let problem = format!("the output `{path}` is {what} `{input}`");
            return Err(Error::usage(problem, hint));
        }
        let destination = Destination::open(path).map_err(Error::io("write", path))?;
        Ok(Self { writer: BufWriter::new(destination), path: path.to_path_buf() })
    }

    /// The file given by `option`, if any; standard output is refused, since other results go there.
    /// Otherwise like [`OutputWriter::open`].
    pub(super) fn beside_stdout<'a>(
        option: &str,
        path: Option<&Path>,
        inputs: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        if [DASH, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
            .iter()
            .any(|stdout| path == Path::new(stdout))
        {
            return Err(Error::usage(
                format!("`{option} {}`: other results go to standard output", path.display()),
                "name a file",
            ));
        }
        Self::open(Some(path), inputs).map(Some)
    }

    /// Writes `text` unchanged.
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
        self.line(text.map_err(io::Error::from).map_err(Error::io("write", &self.path))?)
    }

    /// Flushes the buffer; without this, write errors would go unnoticed.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(Error::io("write", &self.path))
    }

    /// Flushes the buffer and replaces the content of the file atomically. Returns the file's path, or `None`
    /// for standard output.
    pub(super) fn finish(self) -> Result<Option<PathBuf>> {
        let Self { writer, path } = self;
        writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(Destination::finish)
            .map_err(Error::io("write", &path))?;
        Ok((path != Path::new(STDOUT)).then_some(path))
    }
}

/// True if `path` is, or would be, a file of the model directory `model`.
fn is_file_of(path: &Path, model: &Path) -> bool {
    let folder = folder_of(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match (fs::canonicalize(folder), fs::canonicalize(model)) {
        (Ok(folder), Ok(model)) => folder == model && files::include(&name),
        _ => false,
    }
}

/// True if `error` means that the reader of the output has closed it.
pub(super) fn is_closed(error: &Error) -> bool {
    matches!(error, Error::Io { action: "write", source, .. } if platform::has_no_reader(source))
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b && a.is_file(),
        _ => false,
    }
}

/// True if writing to `a` and to `b` would leave one file, which may not exist yet.
pub(super) fn same_output(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = folder_of(path);
        let name = path.file_name()?;
        fs::canonicalize(path).or_else(|_| fs::canonicalize(folder).map(|folder| folder.join(name))).ok()
    };
    match (place(a), place(b)) {
        (Some(a), Some(b)) => a == b && (a.is_file() || !a.exists()),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_never_truncated() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("in.txt");
        fs::write(&path, "kept").expect("write");
        let roundabout = folder.path().join(".").join("in.txt");
        assert!(matches!(OutputWriter::open(Some(&path), [&roundabout]), Err(Error::Usage { .. })));
        assert_eq!(fs::read_to_string(&path).expect("read"), "kept");
    }

    #[test]
    fn a_model_is_never_overwritten() {
        let folder = tempfile::tempdir().expect("tempdir");
        let open = |name: &str| {
            let path = folder.path().join(name);
            OutputWriter::open(Some(&path), [&folder.path().to_path_buf()]).map(|_| ())
        };
        for name in [files::CONFIG, files::WEIGHTS, files::METRICS, "tokenizer.json"] {
            assert!(matches!(open(name), Err(Error::Usage { .. })), "{name}");
            assert!(!folder.path().join(name).exists(), "{name}");
        }
        open("translations.de").expect("no file of a model");
    }

    #[test]
    fn existing_content_stays_until_the_end() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("out.txt");
        let read = || fs::read_to_string(&path).expect("read");
        fs::write(&path, "old and long").expect("write");
        let mut out = OutputWriter::open(Some(&path), []).expect("open");
        out.line("new").expect("write");
        out.flush().expect("write");
        assert_eq!(read(), "old and long");
        drop(out);
        assert_eq!(read(), "old and long");
        let mut out = OutputWriter::open(Some(&path), []).expect("open");
        out.line("new").expect("write");
        out.finish().expect("write");
        assert_eq!(read(), "new\n");
        OutputWriter::open(Some(&path), []).expect("open").finish().expect("write");
        assert_eq!(read(), "");
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 1);
    }

    #[test]
    fn only_a_closed_output_is_quiet() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_closed(&Error::io("write", STDOUT)(closed())));
        assert!(!is_closed(&Error::io("read", STDOUT)(closed())));
        assert!(!is_closed(&Error::io("write", STDOUT)(io::ErrorKind::StorageFull.into())));
    }
}
