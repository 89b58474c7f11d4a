//! Stored bytes: compressed or not, and their identity.

use attentive_base::error::{Error, Result};
use attentive_base::hexadecimal;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::{fmt, mem};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::reading::convertible_format::ConvertibleFormat;
use crate::reading::lines::{Lines, MAX_LINE_BYTES};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 1 << 16;

/// A file that was read, and the identity of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    pub path: PathBuf,
    /// SHA-256 of the stored (possibly compressed) bytes, in hexadecimal.
    pub sha256: String,
    /// Size of the stored file in bytes.
    pub bytes: u64,
}

impl SourceFile {
    /// Reads the file of lines at `path`, and returns its identity and the number of its lines.
    ///
    /// # Errors
    /// The errors of [`Lines`], but for a line that is too long.
    pub fn of_lines(path: &Path) -> Result<(Self, usize)> {
        let mut lines = Lines::open(path, MAX_LINE_BYTES)?;
        let n_lines = lines.count_all()?;
        let unread = || Error::Io {
            action: "read",
            path: path.to_path_buf(),
            source: io::Error::other("it ended before it was read"),
        };
        Ok((lines.finish().ok_or_else(unread)?, n_lines))
    }
}

/// A reader that hashes all that is read through it.
#[derive(Debug)]
pub struct Hashed<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
}

impl<R> Hashed<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    /// The identity of the file at `path`, which must have been read completely.
    pub(crate) fn finish(self, path: PathBuf) -> SourceFile {
        SourceFile { path, sha256: hexadecimal(self.hash.finalize()), bytes: self.bytes }
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// A reader that decompresses gzip and zstd and passes on any other content. It reads nothing in advance.
pub(crate) enum Unpacked<R> {
    /// Nothing has been read.
    Unread(BufReader<R>),
    /// Plain bytes.
    Plain(BufReader<R>),
    /// Gzipped bytes.
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    /// Bytes compressed with zstd.
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::Decoder<'static, BufReader<R>>>),
    /// The first read failed.
    Lost,
}

impl<R> fmt::Debug for Unpacked<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread(_) => "Unread",
            Self::Plain(_) => "Plain",
            Self::Gzip(_) => "Gzip",
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => "Zstd",
            Self::Lost => "Lost",
        })
    }
}

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self::Unread(BufReader::with_capacity(BUFFER_BYTES, inner))
    }

    #[cfg(feature = "zstd")]
    fn zstd(reader: BufReader<R>) -> io::Result<Self> {
        zstd::Decoder::with_buffer(reader).map(|decoder| Self::Zstd(Box::new(decoder)))
    }

    #[cfg(not(feature = "zstd"))]
    fn zstd(_: BufReader<R>) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this program was built without zstd"))
    }

    /// The underlying reader, unless the first read failed.
    pub(crate) fn into_inner(self) -> Option<R> {
        match self {
            Self::Unread(reader) | Self::Plain(reader) => Some(reader.into_inner()),
            Self::Gzip(decoder) => Some(decoder.into_inner().into_inner()),
            #[cfg(feature = "zstd")]
            Self::Zstd(decoder) => Some(decoder.finish().into_inner()),
            Self::Lost => None,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::Unread(_) = self
            && let Self::Unread(mut reader) = mem::replace(self, Self::Lost)
        {
            let start = reader.fill_buf()?;
            *self = if start.starts_with(&GZIP_MAGIC) {
                Self::Gzip(Box::new(MultiGzDecoder::new(reader)))
            } else if start.starts_with(&ZSTD_MAGIC) {
                Self::zstd(reader)?
            } else if let Some(foreign) = ConvertibleFormat::of(start) {
                return Err(foreign.into());
            } else {
                Self::Plain(reader)
            };
        }
        match self {
            Self::Plain(reader) | Self::Unread(reader) => reader.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            #[cfg(feature = "zstd")]
            Self::Zstd(decoder) => decoder.read(buffer),
            Self::Lost => Ok(0),
        }
    }
}
