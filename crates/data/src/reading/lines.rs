//! Reads text line by line: from files, compressed or not, and from pipes as it arrives.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;

use crate::reading::convertible_format::unreadable;
use crate::reading::interruptible_file::InterruptibleFile;
use crate::reading::source_file::{Hashed, SourceFile, Unpacked};

/// The problem of a line after which the next one cannot be found.
pub(crate) const NO_END: &str = "a line without an end";

/// Maximum length of a sentence. Longer lines, usually missing line breaks or binary data, are dropped.
pub const MAX_LINE_BYTES: usize = 100_000;

/// Maximum length of a line in formats with more than a sentence per line, such as JSON.
pub const MAX_RECORD_BYTES: usize = 1 << 26;

/// Maximum length of a line in a text that is read as a whole, which may lack line breaks.
const MAX_TEXT_BYTES: usize = u32::MAX as usize;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Extra bytes around a line: a byte order mark, a line break, and one more byte to detect an overlong line.
const AROUND_LINE: usize = BYTE_ORDER_MARK.len() + b"\r\n".len() + 1;

/// A line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line without its line break.
    Text(&'a str),
    /// A line above the limit; its content was skipped.
    TooLong,
}

/// Reads UTF-8 text line by line with a length limit, buffering at most one line.
///
/// Content that is compressed with gzip or zstd is detected by its first bytes. Lines may end in LF or CRLF;
/// a byte order mark is skipped.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<Unpacked<R>>,
    path: PathBuf,
    limit: usize,
    count: usize,
    buffer: Vec<u8>,
    /// True if the rest of a line that is too long is still to be skipped.
    is_in_line: bool,
}

impl Lines<Hashed<InterruptibleFile>> {
    /// Opens the file at `path`, with lines of at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened.
    pub fn open(path: &Path, limit: usize) -> Result<Self> {
        let file = InterruptibleFile::open(path).map_err(Error::io("read", path))?;
        Ok(Self::new(Hashed::new(file), path, limit))
    }

    /// Returns the identity of the file, once all lines have been read.
    pub(crate) fn finish(self) -> Option<SourceFile> {
        let file = self.reader.into_inner().into_inner()?;
        Some(file.finish(self.path))
    }
}

impl<R: Read> Lines<R> {
    /// Reads from `reader`, with lines of at most `limit` bytes. Error messages refer to it as `name`.
    pub fn new(reader: R, name: &Path, limit: usize) -> Self {
        /// Large enough to take all lines that have arrived at once.
        const BUFFER_BYTES: usize = 1 << 20;
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, Unpacked::new(reader)),
            path: name.to_path_buf(),
            limit,
            count: 0,
            buffer: Vec::new(),
            is_in_line: false,
        }
    }

    /// Returns the path or name of the source.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of lines read so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the next line; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`] if reading or decompressing fails, [`Error::Line`] if the line is not UTF-8, or if the
    /// one before it, which was too long, has no end within 4 GiB; [`Error::Interrupted`] after a request to
    /// stop.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        let failed = |error| {
            let stopped = Interrupt::check().err();
            stopped.unwrap_or_else(|| unreadable(&self.path)(error))
        };
        if self.is_in_line {
            self.is_in_line = false;
            let mut rest = self.reader.by_ref().take(MAX_TEXT_BYTES as u64);
            if rest.skip_until(b'\n').map_err(failed)? == MAX_TEXT_BYTES {
                return Err(Error::line(&self.path, self.count, NO_END));
            }
        }
        self.buffer.clear();
        let most = self.limit.saturating_add(AROUND_LINE) as u64;
        let mut bounded = self.reader.by_ref().take(most);
        let read = bounded.read_until(b'\n', &mut self.buffer);
        if read.map_err(failed)? == 0 {
            return Ok(None);
        }
        self.count += 1;
        let is_whole = self.buffer.ends_with(b"\n");
        let mut line = self.buffer.as_slice();
        if self.count == 1 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.limit {
            self.is_in_line = !is_whole;
            return Ok(Some(Line::TooLong));
        }
        let text = str::from_utf8(line).map_err(|error| {
            let problem = format!("not valid UTF-8 after byte {}", error.valid_up_to());
            Error::line(&self.path, self.count, problem)
        })?;
        Ok(Some(Line::Text(text)))
    }

    /// Returns the next line, or an error if it exceeds the limit.
    fn next_text(&mut self) -> Result<Option<&str>> {
        let (limit, number) = (self.limit, self.count + 1);
        let path = self.path.clone();
        Ok(match self.next_line()? {
            None => None,
            Some(Line::Text(text)) => Some(text),
            Some(Line::TooLong) => {
                let problem = format!("longer than {limit} bytes");
                return Err(Error::line(path, number, problem));
            }
        })
    }

    /// Waits for the next line, and returns it with those that have already arrived after it, at most `most`
    /// in all. `None` at the end.
    ///
    /// Each line from a terminal or pipe can thus be answered immediately, while files are read in large
    /// chunks.
    ///
    /// # Errors
    /// See [`Lines::next_line`]; also [`Error::Line`] for a line above the limit.
    pub fn next_chunk(&mut self, most: usize) -> Result<Option<Vec<String>>> {
        let mut chunk = Vec::new();
        while chunk.len() < most {
            match self.next_text()? {
                Some(line) => chunk.push(line.to_owned()),
                None => break,
            }
            if !self.reader.buffer().contains(&b'\n') {
                break;
            }
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// Returns the remaining lines.
    ///
    /// # Errors
    /// See [`Lines::next_chunk`].
    pub fn rest(&mut self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        while let Some(line) = self.next_text()? {
            lines.push(line.to_owned());
        }
        Ok(lines)
    }

    /// Returns the number of bytes buffered for the current line.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.buffer.capacity()
    }

    /// Reads to the end and returns the total number of lines.
    pub(crate) fn count_all(&mut self) -> Result<usize> {
        while self.next_line()?.is_some() {}
        Ok(self.count)
    }
}

/// Returns the lines of a UTF-8 file, including empty ones, for monolingual text. See [`Lines`].
///
/// # Errors
/// See [`Lines::open`] and [`Lines::rest`].
pub fn read_lines(path: &Path) -> Result<Vec<String>> {
    Lines::open(path, MAX_RECORD_BYTES)?.rest()
}

/// Returns up to `most` of the first lines, without those that are too long.
///
/// # Errors
/// See [`Lines::open`] and [`Lines::next_line`].
pub fn first_lines(path: &Path, most: usize) -> Result<Vec<String>> {
    let mut lines = Lines::open(path, MAX_LINE_BYTES)?;
    let mut texts = Vec::new();
    while texts.len() < most
        && let Some(line) = lines.next_line()?
    {
        texts.extend(if let Line::Text(text) = line { Some(text.to_owned()) } else { None });
    }
    Ok(texts)
}

/// Like [`read_lines`], for any `reader`.
///
/// # Errors
/// See [`Lines::rest`].
pub fn read_lines_from(reader: impl Read, name: &Path) -> Result<Vec<String>> {
    Lines::new(reader, name, MAX_RECORD_BYTES).rest()
}

/// Returns the whole text of `reader`, which `name` names in errors, as it is: with its byte order mark and
/// its line breaks, but decompressed if it is compressed with gzip or zstd.
///
/// # Errors
/// [`Error::Io`] if reading or decompressing fails; [`Error::Data`] for more than [`MAX_RECORD_BYTES`] bytes,
/// and for text that is not UTF-8, with its place.
pub fn read_text_from(reader: impl Read, name: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let most = MAX_RECORD_BYTES as u64;
    let read = Unpacked::new(reader).take(most + 1).read_to_end(&mut bytes);
    read.map_err(unreadable(name))?;
    let refused = |problem: String, hint: &str| Error::data(format!("`{}` {problem}", name.display()), hint);
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(refused(format!("has more than {} MiB", MAX_RECORD_BYTES >> 20), "divide it"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        refused(format!("is not UTF-8 on line {line}"), "convert it, for example with `iconv -t UTF-8`")
    })
}

/// Opens a text that is read as a whole.
pub(crate) fn open_text(path: &Path) -> Result<Lines<Hashed<InterruptibleFile>>> {
    Lines::open(path, MAX_TEXT_BYTES)
}
