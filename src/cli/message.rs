//! What the program says beside its data, on standard error.

use std::fmt;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use attentive::error::Error;
use attentive::pipeline::Warning;

/// What the library calls an option in its errors, and what this command line calls it.
const FLAGS: [(&str, &str); 8] = [
    ("`RunOptions::out`", "`--out`"),
    ("`Existing::Resume`", "`--resume`"),
    ("`Existing::Force`", "`--force`"),
    ("`SearchOptions::n_best`", "`--n-best`"),
    ("`SearchOptions::beam_width`", "`--beam-width`"),
    ("`SampleOptions::top_p`", "`--top-p`"),
    ("the same call", "the same command"),
    ("(an override)", "(`--set`)"),
];

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

    fn style(self) -> Style {
        let colour = match self {
            Self::Error => AnsiColor::Red,
            Self::Hint => AnsiColor::Cyan,
            Self::Warning => AnsiColor::Yellow,
            Self::Note => AnsiColor::Green,
        };
        colour.on_default().bold()
    }

    /// A line for [`say`] and [`stderr`], with colours.
    pub(super) fn line(self, text: impl fmt::Display) -> String {
        let style = self.style();
        format!("{style}{}:{style:#} {text}", self.word())
    }
}

/// Says what went wrong and what to try.
pub(super) fn error(error: &Error) {
    say(Label::Error.line(with_flags(error.to_string())));
    if let Some(hint) = error.hint() {
        say(Label::Hint.line(with_flags(hint)));
    }
}

/// A text of the library with the flags of this command line in place of its options.
fn with_flags(text: String) -> String {
    FLAGS
        .iter()
        .fold(text, |text, (option, flag)| text.replace(option, flag))
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

/// Says what of an input was not taken as it stands.
pub(super) fn warnings(warnings: &[Warning]) {
    warnings.iter().for_each(warning);
}

/// Says what is worth knowing.
pub(super) fn note(text: impl fmt::Display) {
    say(Label::Note.line(text));
}

/// Writes a line to standard error. Where that is closed, nobody is left to tell.
pub(super) fn say(line: impl fmt::Display) {
    let _ = writeln!(stderr(), "{line}");
}

/// Standard error, which drops the colours where it is no terminal that shows them. `NO_COLOR` and `CLICOLOR_FORCE` decide
/// otherwise (no-color.org, bixense.com/clicolors).
pub(super) fn stderr() -> impl Write {
    anstream::stderr()
}

#[cfg(test)]
mod tests {
    use attentive::config::DecodeConfig;
    use attentive::decode::SearchOptions;

    use super::*;

    #[test]
    fn flags_stand_for_the_options_of_the_library() {
        let options = SearchOptions {
            n_best: 1000,
            ..SearchOptions::from(&DecodeConfig::default())
        };
        let error = options.check().unwrap_err();
        let hint = with_flags(error.hint().unwrap());
        assert!(hint.starts_with("`--n-best` is"), "{hint}");
        assert!(hint.ends_with("with `--beam-width`"), "{hint}");
        let exists = Error::RunExists {
            path: "runs/x".into(),
        };
        let hint = with_flags(exists.hint().unwrap());
        for flag in ["`--resume`", "`--force`", "`--out`"] {
            assert!(hint.contains(flag), "{hint}");
        }
    }
}
