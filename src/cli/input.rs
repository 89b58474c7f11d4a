//! Where text comes from: files, and standard input as it arrives.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use attentive::data::{self, MAX_RECORD_BYTES};
use attentive::error::{Error, Result};

const STDIN: &str = "standard input";
/// The path that means standard input.
pub(super) const DASH: &str = "-";

/// Lines from a file or from standard input, gzipped or not. A line of more than [`MAX_RECORD_BYTES`] is refused.
pub(super) type Lines = data::Lines<Box<dyn Read>>;

/// The lines of file `path`; of standard input without one, or if it is `-`.
pub(super) fn open(path: Option<&Path>) -> Result<Lines> {
    let (reader, path): (Box<dyn Read>, _) = match path {
        Some(path) if path != Path::new(DASH) => {
            let file = File::open(path).map_err(Error::io("read", path))?;
            (Box::new(file), path)
        }
        _ => (Box::new(io::stdin()), Path::new(STDIN)),
    };
    Ok(Lines::new(reader, path, MAX_RECORD_BYTES))
}

/// All lines of file `path`, or of standard input if it is `-`.
pub(super) fn read_lines(path: &Path) -> Result<Vec<String>> {
    if path == Path::new(DASH) {
        data::read_lines_from(io::stdin(), Path::new(STDIN))
    } else {
        data::read_lines(path)
    }
}

/// The lines of `first`, and a stream of references for each of `references`, aligned with them.
///
/// # Errors
/// Those of reading, files of other lengths, a first file without a line, and standard input given twice.
pub(super) fn read_aligned(
    first: &Path,
    references: &[PathBuf],
) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let paths = references.iter().map(PathBuf::as_path).chain([first]);
    if paths.filter(|path| *path == Path::new(DASH)).count() > 1 {
        return Err(Error::usage(
            "standard input (`-`) can be read once only",
            "name a file for the others",
        ));
    }
    let lines = read_lines(first)?;
    if lines.is_empty() {
        let problem = format!("`{}` has no lines", first.display());
        return Err(Error::Data {
            problem,
            hint: Some("give a file with a sentence a line".into()),
        });
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
