//! Where text comes from: files, and standard input as it arrives.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use attentive::data;
use attentive::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;

const STDIN: &str = "standard input";
/// The path that means standard input.
pub(super) const DASH: &str = "-";
const BUFFER_BYTES: usize = 1 << 20;

/// Lines from a file or from standard input, in chunks.
pub(super) struct Lines {
    reader: BufReader<Box<dyn Read>>,
    path: PathBuf,
    /// Lines read so far.
    count: usize,
}

impl Lines {
    /// The lines of file `path`; of standard input without one, or if it is `-`.
    pub(super) fn open(path: Option<&Path>) -> Result<Self> {
        let (reader, path): (Box<dyn Read>, _) = match path {
            Some(path) if path != Path::new(DASH) => {
                (open_file(path).map_err(Error::io("read", path))?, path)
            }
            _ => (Box::new(io::stdin()), Path::new(STDIN)),
        };
        Ok(Self::new(reader, path))
    }

    fn new(reader: Box<dyn Read>, path: &Path) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, reader),
            path: path.to_path_buf(),
            count: 0,
        }
    }

    /// Where they come from.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines have been read.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The next lines: waits for one, then takes what has arrived with it, up to `limit`. None at the end.
    ///
    /// So a person at a terminal or a program at the other end of a pipe gets an answer to each line, and a file is read
    /// in large pieces.
    pub(super) fn next_chunk(&mut self, limit: usize) -> Result<Option<Vec<String>>> {
        let mut chunk = Vec::new();
        while chunk.len() < limit {
            match self.next_line()? {
                Some(line) => chunk.push(line),
                None => break,
            }
            if !self.reader.buffer().contains(&b'\n') {
                break;
            }
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// The next line without its line break.
    fn next_line(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = self
            .reader
            .read_until(b'\n', &mut bytes)
            .map_err(Error::io("read", &self.path))?;
        if read == 0 {
            return Ok(None);
        }
        self.count += 1;
        if bytes.ends_with(b"\n") {
            bytes.pop();
        }
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
        let line = String::from_utf8(bytes).map_err(|error| {
            Error::line(
                &self.path,
                self.count,
                format!(
                    "not valid UTF-8 after byte {}",
                    error.utf8_error().valid_up_to()
                ),
            )
        })?;
        Ok(Some(match line.strip_prefix('\u{feff}') {
            Some(rest) if self.count == 1 => rest.to_owned(),
            _ => line,
        }))
    }
}

/// A file, decompressed if it begins like a gzipped one.
fn open_file(path: &Path) -> io::Result<Box<dyn Read>> {
    const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    if file.fill_buf()?.starts_with(&GZIP_MAGIC) {
        Ok(Box::new(MultiGzDecoder::new(file)))
    } else {
        Ok(Box::new(file))
    }
}

/// All lines of file `path`, or of standard input if it is `-`.
pub(super) fn read_lines(path: &Path) -> Result<Vec<String>> {
    if path != Path::new(DASH) {
        return data::read_lines(path);
    }
    let mut lines = Lines::open(None)?;
    let mut all = Vec::new();
    while let Some(chunk) = lines.next_chunk(usize::MAX)? {
        all.extend(chunk);
    }
    Ok(all)
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(text: &'static [u8]) -> Lines {
        Lines::new(Box::new(text), Path::new("text"))
    }

    #[test]
    fn chunks_have_at_most_as_many_lines_as_asked_for() {
        let mut lines = lines(b"\xef\xbb\xbfa\r\nb\n\nlast");
        assert_eq!(
            lines.next_chunk(2).expect("read"),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(lines.count(), 2);
        assert_eq!(lines.next_chunk(2).expect("read"), Some(vec!["".into()]));
        assert_eq!(
            lines.next_chunk(2).expect("read"),
            Some(vec!["last".into()])
        );
        assert_eq!(lines.next_chunk(2).expect("read"), None);
    }

    #[test]
    fn a_chunk_does_not_wait_for_lines_that_have_not_come() {
        let first: &[u8] = b"a\nb\nhalf";
        let mut lines = Lines::new(Box::new(first.chain(&b" a line\n"[..])), Path::new("pipe"));
        assert_eq!(
            lines.next_chunk(100).expect("read"),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(
            lines.next_chunk(100).expect("read"),
            Some(vec!["half a line".into()])
        );
    }

    #[test]
    fn gzipped_files_are_read_as_text() {
        let folder = tempfile::tempdir().expect("tempdir");
        let path = folder.path().join("packed");
        let file = File::create(&path).expect("create");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packed.write_all(b"a\nb\n").expect("write");
        packed.finish().expect("finish");
        let chunk = Lines::open(Some(&path)).expect("open").next_chunk(9);
        assert_eq!(chunk.expect("read"), Some(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn text_that_is_not_utf8_is_named() {
        let error = lines(b"fine\nb\xffd\n").next_chunk(9).expect_err("invalid");
        assert!(
            error
                .to_string()
                .starts_with("`text`, line 2: not valid UTF-8 after byte 1"),
            "{error}"
        );
    }
}
