//! Everything that can go wrong because of what a person gave us: what, where, what was expected and what to try.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::count::count;

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that a user can cause and mend.
///
/// [`Error::hint`] says what to try; [`Error::exit_code`] is what the program exits with. Both texts call an option by its
/// Rust path in backticks, such as `RunOptions::out`, which a program may replace by what its users know.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot {action} `{}`: {}", path.display(), io_cause(source))]
    Io {
        /// What was tried: "read", "write", "create", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },

    /// A configuration key has a wrong name, type or value.
    #[error("config key `{key}`: expected {expected}, found {found}")]
    Config {
        /// The key with its section, as in `train.batch_tokens`.
        key: String,
        /// What would be right.
        expected: String,
        /// What stands there.
        found: String,
        /// What to try, such as the nearest known key.
        hint: Option<String>,
    },

    /// A configuration that is not TOML at all.
    #[error("`{}` is not valid TOML: {problem}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What the parser says, with the line.
        problem: String,
    },

    /// A line of a data file cannot be used.
    #[error("`{}`, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },

    /// Two files that should be aligned line by line are not.
    #[error("aligned files differ in length: `{}` has {}, `{}` has {second_lines}", first.display(), count(*first_lines, "line"), second.display())]
    Unaligned {
        /// One file.
        first: PathBuf,
        /// Its lines.
        first_lines: usize,
        /// The other file.
        second: PathBuf,
        /// Its lines.
        second_lines: usize,
    },

    /// Data that can be read but not used, such as a corpus of nothing but empty lines.
    #[error("{problem}")]
    Data {
        /// What is wrong, with the file's name.
        problem: String,
        /// What to try.
        hint: Option<String>,
    },

    /// A model directory, or a file of it, is missing, damaged or does not fit the rest.
    #[error("`{}`: {problem}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to try.
        hint: Option<String>,
    },

    /// A run directory that must not be overwritten.
    #[error("the run directory `{}` exists already", path.display())]
    RunExists {
        /// The directory.
        path: PathBuf,
    },

    /// Training met a loss or gradient that is no finite number.
    #[error("{0}")]
    NotFinite(Box<NotFinite>),

    /// A request that cannot be met, such as more results than the beam is wide.
    #[error("{problem}")]
    Usage {
        /// What cannot be done.
        problem: String,
        /// What to try.
        hint: Option<String>,
    },

    /// The user asked the program to stop; everything is saved.
    #[error("stopped by signal {signal}; {saved}")]
    Interrupted {
        /// The signal's number: 1 for SIGHUP, 2 for SIGINT, 15 for SIGTERM.
        signal: i32,
        /// Where training stands and how to go on.
        saved: String,
    },
}

/// Where a loss or gradient stopped being finite.
#[derive(Debug)]
pub struct NotFinite {
    /// The update at which it happened, counted from 1.
    pub step: u64,
    /// The loss that was met.
    pub loss: f64,
    /// The first layer, in the order of computation, whose output or gradient is not finite.
    pub layer: String,
    /// The training lines of the batch, counted from 1; none where the training data are one stream.
    pub lines: Vec<usize>,
    /// The last good checkpoint, if one was saved.
    pub checkpoint: Option<PathBuf>,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        let lines: Vec<String> = self
            .lines
            .iter()
            .take(SHOWN)
            .map(|l| l.to_string())
            .collect();
        write!(
            f,
            "training met a loss of {} at update {}; the first layer that shows it is `{}`",
            self.loss, self.step, self.layer
        )?;
        if !lines.is_empty() {
            write!(f, "; the batch holds training lines {}", lines.join(", "))?;
        }
        if self.lines.len() > SHOWN {
            write!(f, " and {} more", self.lines.len() - SHOWN)?;
        }
        match &self.checkpoint {
            Some(path) => write!(f, "; the last good checkpoint is `{}`", path.display()),
            None => write!(f, "; no checkpoint had been saved yet"),
        }
    }
}

impl Error {
    /// An [`Error::Io`] for use in `map_err`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// An [`Error::Model`] without a hint.
    pub fn model(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Model {
            path: path.as_ref().to_path_buf(),
            problem: problem.into(),
            hint: None,
        }
    }

    /// An [`Error::Line`].
    pub fn line(path: impl AsRef<Path>, line: usize, problem: impl Into<String>) -> Self {
        Self::Line {
            path: path.as_ref().to_path_buf(),
            line,
            problem: problem.into(),
        }
    }

    /// An [`Error::Usage`].
    pub fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage {
            problem: problem.into(),
            hint: Some(hint.into()),
        }
    }

    /// Says what a request that is wrong is about, where several are possible. Other errors name it themselves.
    pub fn about(self, what: impl fmt::Display) -> Self {
        match self {
            Self::Usage { problem, hint } => Self::Usage {
                problem: format!("{what}: {problem}"),
                hint,
            },
            other => other,
        }
    }

    /// An [`Error::Data`] about a model with damaged weights, where `effect` is what shows it.
    pub fn damaged_model(effect: &str) -> Self {
        Self::Data {
            problem: format!("{effect}: its numbers are not finite"),
            hint: Some("take another checkpoint of the run".into()),
        }
    }

    /// What the user could try, where we know something that helps.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("check the path; relative paths start at the current directory".into()),
                io::ErrorKind::PermissionDenied => Some("check the permissions of the file and of its folder".into()),
                io::ErrorKind::StorageFull => Some("free some space".into()),
                _ => None,
            },
            Self::Config { hint, .. } | Self::Data { hint, .. } | Self::Model { hint, .. } | Self::Usage { hint, .. } => hint.clone(),
            Self::Unaligned { .. } => Some("line n of one file must be the translation of line n of the other; empty lines count".into()),
            Self::RunExists { .. } => Some("`Existing::Resume` continues it, `Existing::Force` deletes it and starts anew, `RunOptions::out` takes another directory".into()),
            Self::NotFinite(_) => Some("begin again, with another `RunOptions::out` or `Existing::Force`: lower `train.optimizer.learning_rate`, lengthen `train.schedule.warmup_steps`, or set `train.clip_norm`; resumed as it is, the run meets the same loss".into()),
            Self::Toml { .. } | Self::Line { .. } | Self::Interrupted { .. } => None,
        }
    }

    /// The program's exit code: 2 for a request or configuration that is wrong, 128 + n for signal n, 1 for all else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config { .. }
            | Self::Toml { .. }
            | Self::Usage { .. }
            | Self::RunExists { .. } => 2,
            Self::Interrupted { signal, .. } => 128u8.wrapping_add(*signal as u8),
            _ => 1,
        }
    }
}

fn io_cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "it is a directory, not a file".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a directory".into(),
        io::ErrorKind::StorageFull => "the disk is full".into(),
        _ => error.to_string(),
    }
}
