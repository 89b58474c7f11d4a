//! Output files that are replaced as a whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use attentive_base::{folder_of, platform};
use attentive_kernels::platform::stdout_was_closed;
use tempfile::{Builder, NamedTempFile};

use super::cleanup;

/// Prefixes of paths that refer to open files.
const STREAMS: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];

/// The place where output is written.
pub(super) enum Destination {
    /// Standard output.
    Stdout(io::Stdout),
    /// Nothing but memory, for the first process to write.
    Memory(Vec<u8>),
    /// Anything but a regular file, such as `/dev/stdout` or a FIFO: written directly.
    Stream(File),
    /// A regular file in a folder where no temporary file can be created: overwritten in place.
    InPlace {
        /// Open for writing.
        file: File,
        /// True once the old content has been truncated.
        begun: bool,
    },
    /// A regular file, or a path that does not exist yet: written to a temporary file beside it and renamed
    /// at the end.
    Replaced {
        /// Removed when dropped.
        temporary: NamedTempFile,
        /// The final path.
        path: PathBuf,
    },
}

impl Destination {
    /// Opens `path`, which need not exist. An existing file is not changed yet.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // These names may refer to a regular file, which is written at the shell's current offset.
        if STREAMS.iter().any(|stream| path.starts_with(stream)) {
            let own = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].map(Path::new);
            if stdout_was_closed() && own.contains(&path) {
                return Err(io::Error::other("it is closed"));
            }
            let file = OpenOptions::new().append(true).open(path)?;
            return Ok(Self::Stream(file));
        }
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let Some(found) = found else {
            return Self::replaced(path, None);
        };
        // Replacing a file requires permission to write to it.
        let file = OpenOptions::new().write(true).open(path)?;
        if !found.is_file() {
            return Ok(Self::Stream(file));
        }
        // A symbolic link keeps pointing to its target.
        let path = fs::canonicalize(path)?;
        match Self::replaced(&path, Some(found.permissions())) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let begun = false;
                Ok(Self::InPlace { file, begun })
            }
            outcome => outcome,
        }
    }

    fn replaced(path: &Path, permissions: Option<Permissions>) -> io::Result<Self> {
        let folder = folder_of(path);
        let mut builder = Builder::new();
        builder.prefix(".tmp-");
        if let Some(permissions) = platform::permissions_of_new_files() {
            builder.permissions(permissions);
        }
        let temporary = builder.tempfile_in(folder)?;
        cleanup::on_signal(temporary.path());
        if let Some(permissions) = permissions {
            temporary.as_file().set_permissions(permissions)?;
        }
        Ok(Self::Replaced { temporary, path: path.to_path_buf() })
    }

    /// Commits the written data as the content of the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::InPlace { mut file, begun } => begin(&mut file, begun),
            Self::Replaced { temporary, path } => {
                temporary.as_file().sync_all()?;
                temporary.persist(path)?;
                Ok(())
            }
            Self::Stdout(_) | Self::Memory(_) | Self::Stream(_) => Ok(()),
        }
    }
}

/// Truncates `file` unless writing has `begun`.
fn begin(file: &mut File, begun: bool) -> io::Result<()> {
    if begun { Ok(()) } else { file.set_len(0) }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(_) if stdout_was_closed() => Err(io::Error::other("it is closed")),
            Self::Stdout(out) => out.write(bytes),
            Self::Memory(all) => all.write(bytes),
            Self::Stream(file) => file.write(bytes),
            Self::InPlace { file, begun } => {
                begin(file, *begun)?;
                *begun = true;
                file.write(bytes)
            }
            Self::Replaced { temporary, .. } => temporary.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Memory(_) => Ok(()),
            Self::Stream(file) | Self::InPlace { file, .. } => file.flush(),
            Self::Replaced { temporary, .. } => temporary.flush(),
        }
    }
}
