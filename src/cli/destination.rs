//! The file behind an output, which is replaced as a whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Paths that stand for open files.
const STREAMS: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];

/// What bytes are written to.
pub(super) enum Destination {
    /// Standard output.
    Stdout(io::Stdout),
    /// What is not a regular file, such as `/dev/stdout` or a FIFO: bytes go there as they come.
    Stream(File),
    /// A regular file that lies in a folder in which no other can be created: it is overwritten in place.
    InPlace {
        /// Open for writing.
        file: File,
        /// Its old content has been cut off.
        begun: bool,
    },
    /// A regular file, or none yet: bytes go to a temporary file beside it, which takes its name at the end.
    Replaced {
        /// Removed when dropped.
        temporary: NamedTempFile,
        /// The name to take.
        path: PathBuf,
    },
}

impl Destination {
    /// The file `path`, which need not exist. Its content is not touched yet.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Behind these names there may be a regular file, which is written where the shell has left off.
        if STREAMS.iter().any(|stream| path.starts_with(stream)) {
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
        // Whoever may not write to the file may not replace it either.
        let file = OpenOptions::new().write(true).open(path)?;
        if !found.is_file() {
            return Ok(Self::Stream(file));
        }
        // A link goes on pointing to the file.
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
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = Builder::new();
        builder.prefix(".tmp-");
        // As any program creates a file: for all, less what the umask takes away.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder.tempfile_in(folder)?;
        if let Some(permissions) = permissions {
            temporary.as_file().set_permissions(permissions)?;
        }
        Ok(Self::Replaced {
            temporary,
            path: path.to_path_buf(),
        })
    }

    /// Makes what was written the content of the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::InPlace { mut file, begun } => begin(&mut file, begun),
            Self::Replaced { temporary, path } => {
                temporary.as_file().sync_all()?;
                temporary.persist(path)?;
                Ok(())
            }
            Self::Stdout(_) | Self::Stream(_) => Ok(()),
        }
    }
}

/// Cuts off the old content of `file`, unless writing has `begun`.
fn begin(file: &mut File, begun: bool) -> io::Result<()> {
    match begun {
        true => Ok(()),
        false => file.set_len(0),
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
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
            Self::Stream(file) | Self::InPlace { file, .. } => file.flush(),
            Self::Replaced { temporary, .. } => temporary.flush(),
        }
    }
}
