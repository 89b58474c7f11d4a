//! The content of a corpus, read so that a request to stop is noticed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use attentive_base::interrupt::Interrupt;

/// The time after which a reader that waits looks for a request to stop.
const PAUSE: Duration = Duration::from_millis(50);

/// The bytes of a file. After a request to stop the work of this thread (see [`Interrupt::during`]), reading
/// fails.
#[derive(Debug)]
pub enum InterruptibleFile {
    /// A regular file.
    File(File),
    /// A pipe or a device, of which another thread opens and reads the next part: both may wait forever.
    Waiting {
        /// The parts, or the error that ended reading.
        parts: Mutex<Receiver<io::Result<Vec<u8>>>>,
        /// The part that is being read, and the number of bytes that have been.
        part: (Vec<u8>, usize),
        /// True once the end has come.
        has_ended: bool,
    },
}

impl InterruptibleFile {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if metadata.is_file() {
            return File::open(path).map(Self::File);
        }
        let (sender, parts) = sync_channel(1);
        let path = path.to_path_buf();
        let thread = thread::Builder::new().name("pipe".into());
        thread.spawn(move || pass_on(path, &sender))?;
        Ok(Self::Waiting { parts: Mutex::new(parts), part: (Vec::new(), 0), has_ended: false })
    }
}

/// Sends the content of the file at `path`, a part at a time, until its end or until nobody receives it.
fn pass_on(path: PathBuf, parts: &SyncSender<io::Result<Vec<u8>>>) {
    const PART: usize = 64 << 10;
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return drop(parts.send(Err(error))),
    };
    loop {
        let mut part = vec![0; PART];
        let read = file.read(&mut part).map(|len| part.truncate(len));
        let is_last = read.is_err() || part.is_empty();
        if parts.send(read.map(|()| part)).is_err() || is_last {
            return;
        }
    }
}

impl Read for InterruptibleFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if Interrupt::check().is_err() {
                return Err(io::Error::other("reading was stopped"));
            }
            let (parts, part, start, has_ended) = match self {
                Self::File(file) => return file.read(buffer),
                Self::Waiting { parts, part: (part, start), has_ended } => (parts, part, start, has_ended),
            };
            if *start < part.len() {
                let count = (&part[*start..]).read(buffer)?;
                *start += count;
                return Ok(count);
            }
            let parts = parts.get_mut().unwrap_or_else(PoisonError::into_inner);
            match parts.recv_timeout(PAUSE) {
                Ok(Ok(next)) if next.is_empty() => {
                    *has_ended = true;
                    return Ok(0);
                }
                Ok(next) => (*part, *start) = (next?, 0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if *has_ended => return Ok(0),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that reads it has ended"));
                }
            }
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::process::Command;

    use super::*;

    fn fifo(folder: &Path) -> PathBuf {
        let path = folder.join("fifo");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|made| made.success()));
        path
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(folder.path());
        let mut content = InterruptibleFile::open(&path).unwrap();
        let text = "x".repeat(200_000);
        let written = text.clone();
        let writer = thread::spawn(move || fs::write(path, written));
        let mut read = String::new();
        content.read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
        assert_eq!(content.read(&mut [0; 8]).unwrap(), 0);
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_request_to_stop_ends_a_wait_without_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let mut content = InterruptibleFile::open(&fifo(folder.path())).unwrap();
        let interrupt = Interrupt::none();
        let elsewhere = interrupt.clone();
        let asking = thread::spawn(move || elsewhere.request(2));
        interrupt.during(|| content.read(&mut [0; 8]).unwrap_err());
        asking.join().unwrap();
    }
}
