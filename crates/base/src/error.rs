//! Errors caused by user input or the environment: what is wrong, where, what was expected, and what to try.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::count::count;
use crate::regular_file::NOT_REGULAR;
use crate::shown::shown;

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that a user can cause and fix.
///
/// [`Error::hint`] suggests a remedy; [`Error::exit_code`] is the exit code of the program. Both texts refer
/// to options by their Rust path in backticks, such as `RunOptions::out`, which a program may replace with
/// its own names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory could not be read or written.
    #[error("cannot {action} `{}`: {}", path.display(), io_cause(source))]
    Io {
        /// The attempted action: "read", "write", "create", …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },

    /// A configuration key has a wrong type or value.
    #[error("config key `{}`: expected {expected}, found {found}", shown(key))]
    Config {
        /// The key with its section, such as `train.batch_tokens`.
        key: String,
        /// The valid values.
        expected: String,
        /// The actual value.
        found: String,
        /// A suggestion, such as the nearest known key.
        hint: Option<String>,
    },

    /// A configuration key that does not exist.
    #[error("unknown config key `{}`{place}", shown(key))]
    UnknownKey {
        /// The key with its section.
        key: String,
        /// Its place in parentheses after a blank, or nothing.
        place: String,
        /// The nearest known key, or the known keys beside it.
        hint: String,
    },

    /// A configuration that is not valid TOML.
    #[error("`{}` is not valid TOML: {problem}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The parser's message, with the line.
        problem: String,
    },

    /// An unusable line of a data file.
    #[error("`{}`, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, starting at 1.
        line: usize,
        problem: String,
    },

    /// Two files that should be aligned line by line are not.
    #[error("aligned files differ in length: `{}` has {}, `{}` has {second_lines}", first.display(), count(*first_lines, "line"), second.display())]
    Unaligned {
        /// One file.
        first: PathBuf,
        first_lines: usize,
        /// The other file.
        second: PathBuf,
        second_lines: usize,
    },

    /// Data that can be read but not used, such as a corpus of empty lines.
    #[error("{problem}")]
    Data {
        /// The problem, including the file name.
        problem: String,
        /// A suggestion for fixing it.
        hint: Option<String>,
    },

    /// A model directory, or one of its files, is missing, damaged or inconsistent.
    #[error("`{}`: {problem}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        problem: String,
        /// A suggestion for fixing it.
        hint: Option<String>,
    },

    /// A run directory that must not be overwritten.
    #[error("the run directory `{}` already exists", path.display())]
    RunExists {
        /// The directory.
        path: PathBuf,
    },

    /// A loss or gradient became NaN or infinite during training.
    #[error("{0}")]
    NotFinite(Box<NotFinite>),

    /// A request that cannot be fulfilled, such as more results than the beam is wide.
    #[error("{problem}")]
    Usage {
        /// The reason why the request cannot be fulfilled.
        problem: String,
        /// A suggestion for fixing it.
        hint: Option<String>,
    },

    /// A device that failed while it computed, such as a GPU that was lost.
    #[error("{problem}")]
    Device {
        /// What happened.
        problem: String,
        /// A suggestion for going on.
        hint: String,
    },

    /// Another process that shares the work failed.
    #[error("{process}: {problem}")]
    Process {
        /// Its number, and where it runs.
        process: String,
        /// Its error.
        problem: String,
        /// The hint of its error.
        hint: Option<String>,
        /// The exit code of its error.
        exit_code: u8,
    },

    /// Another process that shares the work does not answer.
    #[error("{problem}")]
    Lost {
        /// The process, how long it has not answered, and what was being done.
        problem: String,
    },

    /// The user interrupted the program; everything has been saved.
    #[error("stopped by signal {signal}; {saved}")]
    Interrupted {
        /// Signal number: 1 for SIGHUP, 2 for SIGINT, 15 for SIGTERM.
        signal: i32,
        /// The state of training and how to resume it.
        saved: String,
    },
}

/// The place where a loss or gradient became NaN or infinite.
#[derive(Debug)]
pub struct NotFinite {
    /// Number of the update, starting at 1.
    pub step: u64,
    /// The loss of this update.
    pub loss: f64,
    /// The first layer, in the order of computation, whose output or gradient is NaN or infinite.
    pub layer: String,
    /// The training lines of the batch, starting at 1; empty if the training data are a stream.
    pub lines: Vec<usize>,
    /// The last good checkpoint, if any.
    pub checkpoint: Option<PathBuf>,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        let lines: Vec<String> = self.lines.iter().take(SHOWN).map(|l| l.to_string()).collect();
        write!(
            f,
            "the loss or a gradient became NaN or infinite at update {} (loss {}); the first affected layer \
             is `{}`",
            self.step, self.loss, self.layer
        )?;
        if !lines.is_empty() {
            write!(f, "; the batch consists of training lines {}", lines.join(", "))?;
        }
        if self.lines.len() > SHOWN {
            write!(f, " and {} more", self.lines.len() - SHOWN)?;
        }
        match &self.checkpoint {
            Some(path) => write!(f, "; the last good checkpoint is `{}`", path.display()),
            None => write!(f, "; no checkpoint has been saved yet"),
        }
    }
}

impl Error {
    /// Returns a function that wraps an I/O error in [`Error::Io`], for `map_err`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Returns an [`Error::Model`] without a hint.
    pub fn model(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Model { path: path.as_ref().to_path_buf(), problem: problem.into(), hint: None }
    }

    /// Returns an [`Error::Line`].
    pub fn line(path: impl AsRef<Path>, line: usize, problem: impl Into<String>) -> Self {
        Self::Line { path: path.as_ref().to_path_buf(), line, problem: problem.into() }
    }

    /// Returns an [`Error::Data`] with a suggestion for fixing it.
    pub fn data(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Data { problem: problem.into(), hint: Some(hint.into()) }
    }

    /// Returns an [`Error::Config`] without a hint.
    pub fn config(key: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Config { key: key.into(), expected: expected.into(), found: found.into(), hint: None }
    }

    /// Returns an [`Error::Usage`].
    pub fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { problem: problem.into(), hint: Some(hint.into()) }
    }

    /// Prefixes a usage error with its subject, `what`. Other errors already name their subject.
    pub fn about(self, what: impl fmt::Display) -> Self {
        match self {
            Self::Usage { problem, hint } => Self::Usage { problem: format!("{what}: {problem}"), hint },
            other => other,
        }
    }

    /// Returns an [`Error::Data`] about a model with damaged weights; `effect` is the observed symptom.
    pub fn damaged_model(effect: &str) -> Self {
        Self::Data {
            problem: format!("{effect}: its weights are NaN or infinite"),
            hint: Some("use another checkpoint of the run".into()),
        }
    }

    /// Returns a suggestion for the user, if there is a helpful one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => {
                    Some("check the path; relative paths are resolved against the current directory".into())
                }
                io::ErrorKind::PermissionDenied => {
                    Some("check the permissions of the file and of its folder".into())
                }
                io::ErrorKind::StorageFull => Some("free some space".into()),
                io::ErrorKind::InvalidInput if source.to_string() == NOT_REGULAR => {
                    Some("pipes and devices are not read here: write the content to a file".into())
                }
                _ => None,
            },
            Self::Config { hint, .. }
            | Self::Data { hint, .. }
            | Self::Model { hint, .. }
            | Self::Usage { hint, .. }
            | Self::Process { hint, .. } => hint.clone(),
            Self::UnknownKey { hint, .. } | Self::Device { hint, .. } => Some(hint.clone()),
            Self::Unaligned { .. } => Some(
                "line n of one file belongs to line n of the other, so both need the same number of lines; \
                                            empty lines count"
                    .into(),
            ),
            Self::RunExists { .. } => Some(
                "`Existing::Resume` continues it, `Existing::Force` deletes it and starts over, \
                                            `RunOptions::out` chooses another directory"
                    .into(),
            ),
            Self::NotFinite(_) => Some(
                "start over with another `RunOptions::out` or `Existing::Force`: lower \
                                        `train.optimizer.learning_rate`, lengthen \
                                        `train.schedule.warmup_steps`, or set `train.clip_norm`; a resumed \
                                        run fails in the same way"
                    .into(),
            ),
            Self::Lost { .. } => Some(
                "check whether it was stopped or its machine cannot be reached; `Processes::launched` sets \
                                       how long to wait, and `Existing::Resume` continues a run from its \
                                       last checkpoint"
                    .into(),
            ),
            Self::Toml { .. } | Self::Line { .. } | Self::Interrupted { .. } => None,
        }
    }

    /// Returns the exit code of the program: 2 for an invalid request or configuration, 128 + n for signal n,
    /// 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config { .. }
            | Self::UnknownKey { .. }
            | Self::Toml { .. }
            | Self::Usage { .. }
            | Self::RunExists { .. } => 2,
            Self::Interrupted { signal, .. } => 128u8.wrapping_add(*signal as u8),
            Self::Process { exit_code, .. } => *exit_code,
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
