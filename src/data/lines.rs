//! Text files line by line, gzipped or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file that was read, and what identifies its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of the bytes as stored (compressed, if they are), in hexadecimal.
    pub sha256: String,
    /// Bytes as stored.
    pub bytes: u64,
}

/// The lines of a UTF-8 file, empty ones included, for text in one language.
///
/// Gzipped files are recognised by their content. Line ends may be LF or CRLF; a byte order mark is dropped.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read or decompressed, [`Error::Line`] for a line that is not UTF-8.
pub fn read_lines(path: &Path) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for_each_line(path, |_, line| {
        lines.push(line.to_owned());
        Ok(())
    })?;
    Ok(lines)
}

/// Calls `visit` with the number, from 1, and the text of each line.
pub(super) fn for_each_line(
    path: &Path,
    mut visit: impl FnMut(usize, &str) -> Result<()>,
) -> Result<SourceFile> {
    let unreadable = |error| Error::io("read", path)(error);
    let file = File::open(path).map_err(unreadable)?;
    let mut stored = BufReader::with_capacity(
        1 << 16,
        Hashed {
            inner: file,
            hash: Sha256::new(),
            bytes: 0,
        },
    );
    if stored
        .fill_buf()
        .map_err(unreadable)?
        .starts_with(&GZIP_MAGIC)
    {
        let decompressed = MultiGzDecoder::new(&mut stored);
        visit_lines(
            path,
            BufReader::with_capacity(1 << 16, decompressed),
            &mut visit,
        )?;
    } else {
        visit_lines(path, &mut stored, &mut visit)?;
    }
    let Hashed { hash, bytes, .. } = stored.into_inner();
    let sha256 = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(SourceFile {
        path: path.to_path_buf(),
        sha256,
        bytes,
    })
}

fn visit_lines(
    path: &Path,
    mut reader: impl BufRead,
    visit: &mut impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    for number in 1.. {
        buffer.clear();
        if reader
            .read_until(b'\n', &mut buffer)
            .map_err(Error::io("read", path))?
            == 0
        {
            break;
        }
        let mut line = buffer.as_slice();
        if number == 1 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = str::from_utf8(line).map_err(|error| {
            Error::line(
                path,
                number,
                format!("not valid UTF-8 after byte {}", error.valid_up_to()),
            )
        })?;
        visit(number, line)?;
    }
    Ok(())
}

/// Hashes what is read through it.
struct Hashed<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
