//! What the program says beside its data, on standard error.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use attentive::error::Error;

/// The word that a message begins with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Label {
    /// The command failed.
    Error,
    /// What to try then.
    Hint,
    /// The result may not be what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Label {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Hint => "hint",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }

    /// The parameters of the terminal's escape sequence.
    fn colour(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Hint => "1;36",
            Self::Warning => "1;33",
            Self::Note => "1;32",
        }
    }

    /// A line of standard error.
    pub(super) fn line(self, text: impl fmt::Display) -> String {
        if colours() {
            format!("\x1b[{}m{}:\x1b[0m {text}", self.colour(), self.word())
        } else {
            format!("{}: {text}", self.word())
        }
    }
}

/// Says what went wrong and what to try.
pub(super) fn error(error: &Error) {
    say(Label::Error.line(error));
    if let Some(hint) = error.hint() {
        say(Label::Hint.line(hint));
    }
}

/// Names the option where a check of the configuration names its key, such as `decode.beam_width`.
pub(super) fn as_option(error: Error) -> Error {
    match error {
        Error::Config {
            key,
            expected,
            found,
            hint,
        } => {
            let key = key.rsplit('.').next().unwrap_or(&key);
            let option = key.replace('_', "-");
            Error::Usage {
                problem: format!("`--{option}`: expected {expected}, found {found}"),
                hint,
            }
        }
        other => other,
    }
}

/// Says what may not be as meant.
pub(super) fn warning(text: impl fmt::Display) {
    say(Label::Warning.line(text));
}

/// Says what is worth knowing.
pub(super) fn note(text: impl fmt::Display) {
    say(Label::Note.line(text));
}

/// Writes a line to standard error. Where that is closed, nobody is left to tell.
pub(super) fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Colours are for people: on a terminal that can show them, unless `NO_COLOR` says otherwise (no-color.org).
fn colours() -> bool {
    io::stderr().is_terminal()
        && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|value| value != "dumb")
}
