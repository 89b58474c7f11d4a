//! Text input from files and standard input.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_data::{self as data, MAX_RECORD_BYTES};

use super::message;

const STDIN: &str = "standard input";
/// The path that means standard input.
pub(super) const DASH: &str = "-";

/// Lines from a file or standard input, possibly compressed with gzip or zstd. A line longer than
/// [`MAX_RECORD_BYTES`] is an error.
pub(super) type InputLines = data::Lines<Box<dyn Read>>;

/// The lines of the file `path`, or of standard input if `path` is absent or `-`.
pub(super) fn open(path: Option<&Path>) -> Result<InputLines> {
    let (reader, path) = source(path)?;
    Ok(InputLines::new(reader, path, MAX_RECORD_BYTES))
}

/// The whole text of the file `path`, or of standard input if `path` is absent or `-`, as it is.
pub(super) fn read_whole(path: Option<&Path>) -> Result<String> {
    let (reader, path) = source(path)?;
    data::read_text_from(reader, path)
}

/// The file `path` and its name, or standard input if `path` is absent or `-`.
fn source(path: Option<&Path>) -> Result<(Box<dyn Read>, &Path)> {
    Ok(match path {
        Some(path) if path != Path::new(DASH) => {
            let file = File::open(path).map_err(Error::io("read", path))?;
            (Box::new(file), path)
        }
        _ => (Box::new(io::stdin()), Path::new(STDIN)),
    })
}

/// All lines of the file `path`, or of standard input if `path` is `-`.
pub(super) fn read_lines(path: &Path) -> Result<Vec<String>> {
    if path == Path::new(DASH) {
        data::read_lines_from(io::stdin(), Path::new(STDIN))
    } else {
        data::read_lines(path)
    }
}

/// The text on standard input by the rules of all input, without its last line break; nothing if that is a
/// terminal.
///
/// # Errors
/// Read errors, text that is not UTF-8, and more of it than a line may have.
pub(super) fn prompt() -> Result<String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    let mut stdin = stdin.lock();
    let waiting = say_if_silent();
    stdin.fill_buf().map_err(Error::io("read", STDIN))?;
    drop(waiting);
    let text = data::read_text_from(stdin, Path::new(STDIN)).map_err(|error| match error {
        Error::Data { problem, .. } => {
            let hint = "`--prompt` takes the text to continue; `< /dev/null` gives none";
            Error::data(problem, hint)
        }
        other => other,
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// Tells the user after a while what the program waits for, unless the result is dropped before.
fn say_if_silent() -> Sender<()> {
    /// The time before the message is printed.
    const PATIENCE: Duration = Duration::from_secs(1);
    let (waiting, dropped) = mpsc::channel();
    thread::spawn(move || {
        if dropped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            message::note(format!(
                "reading the text to continue from {STDIN}, up to its end; use `--prompt TEXT` instead, or \
                 `< /dev/null` for an empty prompt"
            ));
        }
    });
    waiting
}

/// The lines of `first`, and for each of `references` a stream of lines aligned with them.
///
/// # Errors
/// Read errors, files of different lengths, an empty first file, and standard input used twice.
pub(super) fn read_aligned(first: &Path, references: &[PathBuf]) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let paths = references.iter().map(PathBuf::as_path).chain([first]);
    if paths.filter(|path| *path == Path::new(DASH)).count() > 1 {
        return Err(Error::usage("standard input (`-`) can be read only once", "name a file for the others"));
    }
    let lines = read_lines(first)?;
    if lines.is_empty() {
        let problem = format!("`{}` has no lines", first.display());
        return Err(Error::data(problem, "give a file with one sentence per line"));
    }
    let read = |path: &PathBuf| {
        let references = read_lines(path)?;
        if references.len() == lines.len() {
            return Ok(references);
        }
        Err(Error::Unaligned {
            first: first.to_path_buf(),
            first_lines: lines.len(),
            second: path.clone(),
            second_lines: references.len(),
        })
    };
    let references = references.iter().map(read).collect::<Result<_>>()?;
    Ok((lines, references))
}
