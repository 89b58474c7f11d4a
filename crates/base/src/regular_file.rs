//! Regular files, which are read within a size and a time. Pipes, devices and sockets, from which reading may
//! never end, are refused before anything is read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::platform;

/// The maximum size of a file that users write by hand, such as settings and keys, in bytes.
pub const BY_HAND: u64 = 16 << 20;

/// The maximum size of a description that programs write, such as a tokenizer or the index of a model, in
/// bytes.
pub const DESCRIPTION: u64 = 1 << 30;

/// What is wrong with a pipe, a device or a socket.
pub(crate) const NOT_REGULAR: &str = "it is not a regular file";

/// The time within which a file must be read.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of bytes that are read before the time is checked again.
const PART: u64 = 1 << 20;

/// Opens the regular file `path` for reading.
///
/// # Errors
/// Those of the system, among them one for a directory; [`io::ErrorKind::InvalidInput`] for a pipe, a device
/// or a socket.
pub fn open(path: &Path) -> io::Result<File> {
    open_with_metadata(path).map(|(file, _)| file)
}

fn open_with_metadata(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true);
    platform::open_at_once(&mut options);
    // Windows calls it a lack of permission to open a directory.
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR));
    }
    Ok((file, metadata))
}

/// Refuses anything at `path` but a regular file or a directory, without opening it.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::InvalidInput`] for a pipe, a device or a socket.
pub fn require(path: &Path) -> io::Result<()> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR))
    }
}

/// Reads all of the regular file `path`, a part of a run or a model, of at most [`DESCRIPTION`] bytes.
///
/// # Errors
/// Those of [`open`]; [`io::ErrorKind::FileTooLarge`] for a larger file, [`io::ErrorKind::TimedOut`] if it
/// takes longer than a minute.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, DESCRIPTION, PATIENCE)
}

/// Reads the regular file `path`, of at most `most` bytes.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, is not a regular file, or takes longer than a minute; [`Error::Data`]
/// if it is larger.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    read_within(path, most, PATIENCE).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            Error::data(format!("`{}` is larger than {most} bytes", path.display()), "is it the right file?")
        }
        _ => Error::io("read", path)(error),
    })
}

fn read_within(path: &Path, most: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let (file, metadata) = open_with_metadata(path)?;
    let too_large = || {
        let problem = format!("it is larger than {most} bytes");
        io::Error::new(io::ErrorKind::FileTooLarge, problem)
    };
    let len = metadata.len();
    if len > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let started = Instant::now();
    // Files such as those in /proc have no size, and others may grow.
    let mut file = file.take(most + 1);
    while file.by_ref().take(PART).read_to_end(&mut bytes)? > 0 {
        if started.elapsed() > patience {
            let problem = format!("it was not read within {} seconds", patience.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
        }
    }
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads the regular file `path` of at most `most` bytes as text.
///
/// # Errors
/// Those of [`read`]; [`Error::Io`] if it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|error| Error::io("read", path)(invalid(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_texts_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let read = |content: &[u8]| {
            fs::write(&path, content).unwrap();
            read_text(&path, 5).map_err(|error| error.to_string())
        };
        assert_eq!(read(b"12345").as_deref(), Ok("12345"));
        assert!(read(b"123456").unwrap_err().ends_with("is larger than 5 bytes"));
        let whole = read_within(&path, 5, PATIENCE).unwrap_err();
        assert_eq!(whole.kind(), io::ErrorKind::FileTooLarge);
        assert!(read(b"\xff").unwrap_err().contains("not UTF-8"));
        let folder = read_text(folder.path(), 5).unwrap_err().to_string();
        assert!(folder.contains("it is a directory, not a file"), "{folder}");
    }

    #[test]
    fn files_that_come_too_slowly_are_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        fs::write(&path, vec![b'x'; 2 * PART as usize]).unwrap();
        let error = read_within(&path, u64::MAX - 1, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("not read within 0 seconds"), "{error}");
    }

    /// None of them may block, even without a writer.
    #[test]
    #[cfg(unix)]
    fn pipes_devices_and_sockets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.is_ok_and(|made| made.success()));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&fifo, &link, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let error = read(path, 5).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("pipe")), "{error}");
        }
        assert!(read(&socket, 5).is_err());
    }
}
