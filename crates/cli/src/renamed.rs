//! Commands and options that had other names in earlier versions. The old names are still accepted, with a
//! note.

use std::collections::BTreeSet;
use std::ffi::OsString;

/// Old and new name of a command.
const COMMAND: [&str; 2] = ["inspect", "explain"];

/// Options of the program that take a value and may come before the command.
const GLOBAL: [&str; 2] = ["--threads", "--process-timeout"];

/// Renamed options: the only command that has them, if there is one; old name; new name.
const OPTIONS: [(Option<&str>, &str, &str); 6] = [
    (None, "--alpha", "--length-penalty"),
    (None, "--stopping", "--early-stopping"),
    (None, "--out", "--output"),
    (Some("generate"), "--samples", "--n-best"),
    (Some("quantize"), "--to", "--precision"),
    (Some("rescore"), "--tokens", "--token-scores"),
];

/// Options with a renamed value: the only command, the current name of the option, the value, and the current
/// arguments.
const VALUES: [(Option<&str>, &str, &str, &[&str]); 10] = [
    (None, "--length-penalty", "gnmt", &["--length-penalty-formula", "gnmt"]),
    (None, "--length-penalty", "length", &["--length-penalty-formula", "length"]),
    (None, "--early-stopping", "exact", &["--early-stopping", "never"]),
    (None, "--early-stopping", "likely", &["--early-stopping", "heuristic"]),
    (None, "--early-stopping", "first", &["--early-stopping", "always"]),
    (Some("translate"), "--format", "jsonl", &["--json"]),
    (Some("translate"), "--format", "tsv", &["--scores"]),
    (Some("translate"), "--format", "text", &["--no-scores"]),
    (Some("rescore"), "--format", "jsonl", &["--json"]),
    (Some("rescore"), "--format", "tsv", &[]),
];

/// A command line with the current names.
pub(super) struct Line {
    /// The arguments, the program's name first.
    pub(super) arguments: Vec<OsString>,
    /// The notes, one for each old name.
    pub(super) notes: BTreeSet<String>,
}

impl Line {
    /// Replaces the old names in `arguments`, the first of which is the program's name.
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut given = arguments.into_iter();
        let mut line = Self { arguments: given.by_ref().take(1).collect(), notes: BTreeSet::new() };
        let mut command: Option<String> = None;
        while let Some(argument) = given.next() {
            if argument == "--" {
                line.arguments.push(argument);
                break;
            }
            let text = argument.to_str().unwrap_or_default();
            if command.as_deref() == Some("help") {
                line.command(argument);
            } else if let Some(command) = &command {
                line.option(command, argument, &mut given);
            } else if GLOBAL.contains(&text) {
                line.arguments.push(argument);
                line.arguments.extend(given.next());
            } else if text.starts_with('-') {
                line.arguments.push(argument);
            } else {
                command = Some(line.command(argument));
            }
        }
        line.arguments.extend(given);
        line
    }

    /// The arguments as text, for messages.
    pub(super) fn words(&self) -> Vec<String> {
        let words = self.arguments.iter();
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Adds the command and returns its current name.
    fn command(&mut self, given: OsString) -> String {
        let [old, new] = COMMAND;
        let name = match given.to_str() {
            Some(name) if name == old => {
                self.note(&format!("attentive {old}"), &format!("attentive {new}"));
                OsString::from(new)
            }
            _ => given,
        };
        self.arguments.push(name.clone());
        name.to_string_lossy().into_owned()
    }

    /// Adds an argument of `command`, with the value that follows it in `rest` if it is an option whose
    /// values have changed.
    fn option(&mut self, command: &str, given: OsString, rest: &mut impl Iterator<Item = OsString>) {
        let Some(text) = given.to_str() else {
            return self.arguments.push(given);
        };
        let (written, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let applies = |only: Option<&str>| only.is_none_or(|only| only == command);
        let found = OPTIONS.iter().find(|(only, old, _)| applies(*only) && *old == written);
        let name = found.map_or(written, |(_, _, new)| new);
        if !VALUES.iter().any(|(only, option, ..)| applies(*only) && *option == name) {
            if name != written {
                self.note(written, name);
            }
            let present = match attached {
                Some(value) => format!("{name}={value}"),
                None => name.to_owned(),
            };
            return self.arguments.push(present.into());
        }
        let value = attached.map(OsString::from).or_else(|| rest.next());
        let found = VALUES.iter().find(|(only, option, old, _)| {
            applies(*only) && *option == name && value.as_ref().is_some_and(|value| value == old)
        });
        let Some((_, _, old, new)) = found else {
            if name != written {
                self.note(written, name);
            }
            self.arguments.push(name.into());
            return self.arguments.extend(value);
        };
        match new {
            [] => {
                self.notes.insert(format!("`{written} {old}` is the default now; the option is still read"));
            }
            new => self.note(&format!("{written} {old}"), &new.join(" ")),
        }
        self.arguments.extend(new.iter().map(OsString::from));
    }

    fn note(&mut self, old: &str, new: &str) {
        self.notes.insert(format!("`{old}` is now `{new}`; the old name is still read"));
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    fn read(line: &str) -> (String, usize) {
        let line = Line::read(line.split(' ').map(Into::into));
        let arguments = line.arguments.iter().map(|argument| argument.to_str().unwrap());
        (arguments.collect::<Vec<_>>().join(" "), line.notes.len())
    }

    #[test]
    fn old_names_are_replaced() {
        for (old, new, notes) in [
            ("a help inspect", "a help explain", 1),
            ("a inspect m text --output x", "a explain m text --output x", 1),
            ("a --threads 2 inspect m", "a --threads 2 explain m", 1),
            ("a train c --out=d", "a train c --output=d", 1),
            ("a translate m --alpha 0.6", "a translate m --length-penalty 0.6", 1),
            ("a translate m --alpha=-1", "a translate m --length-penalty -1", 1),
            (
                "a translate m --length-penalty gnmt --alpha=1",
                "a translate m --length-penalty-formula gnmt --length-penalty 1",
                2,
            ),
            ("a evaluate m --stopping=likely", "a evaluate m --early-stopping heuristic", 1),
            ("a translate m --format jsonl", "a translate m --json", 1),
            ("a translate m --format text", "a translate m --no-scores", 1),
            ("a rescore m --format=tsv --tokens", "a rescore m --token-scores", 2),
            ("a generate m --samples 3", "a generate m --n-best 3", 1),
            ("a quantize m --to int8", "a quantize m --precision int8", 1),
        ] {
            assert_eq!(read(old), (new.to_owned(), notes));
        }
    }

    #[test]
    fn other_names_are_kept() {
        for line in [
            "a translate m --length-penalty 1 --early-stopping always -o out",
            "a export m --to hf",
            "a translate m -- --alpha inspect",
            "a translate inspect",
            "a translate m --length-penalty",
            "a --help",
        ] {
            assert_eq!(read(line), (line.to_owned(), 0));
        }
    }
}
