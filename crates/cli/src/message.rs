//! Messages on standard error.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use attentive_base::count::count;
use attentive_base::error::Error;
use attentive_pipeline::Warning;
use indicatif::ProgressBar;

use super::tips;

/// Names of options in the library's errors, and their names on the command line.
const FLAGS: [(&str, &str); 15] = [
    ("`RunOptions::out`", "`--output`"),
    ("`Existing::Resume`", "`--resume`"),
    ("`Existing::Force`", "`--force`"),
    ("`Strategy::Beam::n_best`", "`--n-best`"),
    ("`Strategy::Beam::width`", "`--beam-width`"),
    ("`Strategy::Sample::count`", "`--n-best`"),
    ("`Languages::source`", "`--source-lang`"),
    ("`Languages::target`", "`--target-lang`"),
    ("`Processes::launched`", "`--process-timeout`"),
    ("the device `cpu`", "`--device cpu`"),
    ("`train.device = \"gpu:0\"`", "`--device gpu:0`"),
    ("the same call", "the same command"),
    ("(an override)", "(`--set`)"),
    ("the overrides with which", "the `--set` options with which"),
    ("# an override\n", "# --set\n"),
];

/// The label at the start of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Label {
    /// The command failed.
    Error,
    /// A suggested remedy.
    Hint,
    /// The result may differ from what the user expects.
    Warning,
    /// Additional information.
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

    fn style(self) -> Style {
        let color = match self {
            Self::Error => AnsiColor::Red,
            Self::Hint => AnsiColor::Cyan,
            Self::Warning => AnsiColor::Yellow,
            Self::Note => AnsiColor::Green,
        };
        color.on_default().bold()
    }

    /// A line for [`say`] and [`stderr`], with colors.
    pub(super) fn line(self, text: impl fmt::Display) -> String {
        let style = self.style();
        format!("{style}{}:{style:#} {text}", self.word())
    }
}

/// Reports an error and its hint.
pub(super) fn error(error: &Error) {
    say(Label::Error.line(with_flags(error.to_string())));
    if let Some(hint) = tips::instead(error).or_else(|| error.hint()) {
        say(Label::Hint.line(with_flags(hint)));
    }
}

/// Replaces the library's option names in `text` by those of the command line.
pub(super) fn with_flags(text: String) -> String {
    FLAGS.iter().fold(text, |text, (option, flag)| text.replace(option, flag))
}

/// Replaces the key in the message of a configuration check, such as `decode.beam_width`, by the name of the
/// option.
pub(super) fn as_option(error: Error) -> Error {
    match error {
        Error::Config { key, expected, found, hint } => {
            let key = key.rsplit('.').next().unwrap_or(&key);
            let option = key.replace('_', "-");
            Error::Usage { problem: format!("`--{option}`: expected {expected}, found {found}"), hint }
        }
        other => other,
    }
}

/// Prints a warning.
pub(super) fn warning(text: impl fmt::Display) {
    say(Label::Warning.line(text));
}

/// The warning that `n` of these translations were cut off, if any were.
pub(super) fn cut_off(n: usize, translations: usize) -> Option<String> {
    let were = if n == 1 { "was" } else { "were" };
    let of = count(translations, "translation");
    (n > 0).then(|| format!("{n} of {of} {were} cut off at the length limit"))
}

/// Prints the warnings about an input.
pub(super) fn warnings(warnings: &[Warning]) {
    warnings.iter().for_each(warning);
}

/// Prints a note.
pub(super) fn note(text: impl fmt::Display) {
    say(Label::Note.line(text));
}

/// The progress that is shown on standard error.
static PROGRESS: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints all further messages above `progress`, which is shown on standard error; `None` if it is no longer
/// shown.
pub(super) fn beside(progress: Option<ProgressBar>) {
    *PROGRESS.lock().unwrap_or_else(PoisonError::into_inner) = progress;
}

/// Writes a line to standard error. Failures are ignored, since there is nowhere to report them.
pub(super) fn say(line: impl fmt::Display) {
    let write = || drop(writeln!(stderr(), "{line}"));
    let progress = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match progress {
        Some(progress) => progress.suspend(write),
        None => write(),
    }
}

/// Standard error, without colors unless it is a terminal that supports them. `NO_COLOR` and `CLICOLOR_FORCE`
/// override this (no-color.org, bixense.com/clicolors).
pub(super) fn stderr() -> impl Write {
    anstream::stderr()
}

#[cfg(test)]
mod tests {
    use attentive_config::EarlyStopping;
    use attentive_decode::Strategy;

    use super::*;

    #[test]
    fn library_options_are_replaced_by_flags() {
        let error = Strategy::beam(5, 1000, EarlyStopping::Never).check();
        let error = error.unwrap_err();
        let hint = with_flags(error.hint().unwrap());
        assert!(hint.starts_with("`--n-best` is"), "{hint}");
        assert!(hint.ends_with("with `--beam-width`"), "{hint}");
        let exists = Error::RunExists { path: "runs/x".into() };
        let hint = with_flags(exists.hint().unwrap());
        for flag in ["`--resume`", "`--force`", "`--output`"] {
            assert!(hint.contains(flag), "{hint}");
        }
    }
}
