//! A log that never blocks the server.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The maximum number of bytes that wait to be written.
const MAX_WAITING_BYTES: usize = 4 << 20;

/// A log whose lines are written by its own thread. A line is dropped and counted if there is no room for it,
/// since the log is not read, or if it cannot be written, since the disk is full or the pipe is closed.
#[derive(Clone, Debug)]
pub struct Log(Arc<Lines>);

#[derive(Debug, Default)]
struct Lines {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// True while a line is being written.
    is_writing: bool,
}

impl Log {
    /// Creates a log that is written to `out`.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub fn to(out: impl Write + Send + 'static) -> io::Result<Self> {
        let lines = Arc::new(Lines::default());
        let writer = Arc::clone(&lines);
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(move || {
            // A line whose writing panics is lost, the next ones are not.
            let mut out = out;
            while catch_unwind(AssertUnwindSafe(|| writer.write(&mut out))).is_err() {
                writer.dropped.fetch_add(1, Relaxed);
            }
        })?;
        Ok(Self(lines))
    }

    /// Returns the number of lines dropped so far.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Relaxed)
    }

    /// Waits at most `patience` until everything has been written. Returns false if something is left.
    pub fn flush(&self, patience: Duration) -> bool {
        let waiting = self.0.lock();
        let is_left = |waiting: &mut Waiting| waiting.is_writing || !waiting.lines.is_empty();
        let waited = self.0.changed.wait_timeout_while(waiting, patience, is_left);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Each call of `write` is a line.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut waiting = self.0.lock();
        if waiting.bytes + line.len() > MAX_WAITING_BYTES {
            self.0.dropped.fetch_add(1, Relaxed);
        } else {
            waiting.bytes += line.len();
            waiting.lines.push_back(line.to_vec());
            self.0.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines as they arrive, forever.
    fn write(&self, out: &mut impl Write) {
        let mut is_torn = false;
        loop {
            let line = self.next();
            // A line that was not written to its end must not run into the next one.
            let begun = if is_torn { out.write_all(b"\n") } else { Ok(()) };
            is_torn = begun.and_then(|()| out.write_all(&line)).is_err();
            if is_torn {
                self.dropped.fetch_add(1, Relaxed);
            }
        }
    }

    /// Waits for the next line and returns it.
    fn next(&self) -> Vec<u8> {
        let mut waiting = self.lock();
        loop {
            if let Some(line) = waiting.lines.pop_front() {
                waiting.bytes -= line.len();
                waiting.is_writing = true;
                return line;
            }
            waiting.is_writing = false;
            self.changed.notify_all();
            let woken = self.changed.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A writer that waits before each write to be told if it succeeds.
    struct Told(mpsc::Receiver<bool>, Arc<Mutex<Vec<u8>>>);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.0.recv().unwrap_or(false) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_dropped_and_counted() {
        let (tell, told) = mpsc::channel();
        let written = Arc::default();
        let mut log = Log::to(Told(told, Arc::clone(&written))).unwrap();
        for line in ["a\n", "b\n", "c\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        assert!(!log.flush(Duration::from_millis(1)), "nothing is written yet");
        // `b` fails; the next write ends its line.
        for word in [true, false, true, true] {
            tell.send(word).unwrap();
        }
        assert!(log.flush(PATIENCE));
        assert_eq!(written.lock().unwrap().as_slice(), b"a\n\nc\n");
        assert_eq!(log.dropped(), 1);
    }

    #[test]
    fn a_writer_that_is_stuck_keeps_nobody_waiting() {
        let (tell, told) = mpsc::channel();
        let mut log = Log::to(Told(told, Arc::default())).unwrap();
        let line = vec![b'x'; MAX_WAITING_BYTES / 4];
        (0..20).for_each(|_| log.write_all(&line).unwrap());
        assert!(!log.flush(Duration::from_millis(1)));
        // Four lines wait, and one may be with the writer.
        assert!((15..=16).contains(&log.dropped()), "{}", log.dropped());
        drop(tell);
        assert!(log.flush(PATIENCE));
        assert_eq!(log.dropped(), 20);
    }
}
