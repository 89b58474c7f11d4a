//! What the program says about its commands and flags, by `--help`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::markdown::Page;
use crate::run::Folder;

/// The help of the program, which is asked once.
pub(crate) static PROGRAM: LazyLock<Program> = LazyLock::new(Program::ask);

/// The help of every command by its name, such as `plot curves`; the name of the program itself is empty.
pub(crate) struct Program(BTreeMap<String, Help>);

/// The help of a command.
pub(crate) struct Help {
    pub(crate) text: String,
    /// Flags, such as `--output` and `-o`, and what is said about them.
    pub(crate) flags: BTreeMap<String, String>,
    /// Commands within it, and what is said about them.
    pub(crate) commands: BTreeMap<String, String>,
}

impl Program {
    fn ask() -> Self {
        let mut program = Self(BTreeMap::new());
        program.add("", &Folder::new());
        program
    }

    fn add(&mut self, name: &str, folder: &Folder) {
        let outcome = folder.succeeds(&format!("{name} --help"));
        let help = Help::read(&outcome.stdout);
        for command in help.commands.keys() {
            self.add(format!("{name} {command}").trim(), folder);
        }
        self.0.insert(name.to_owned(), help);
    }

    /// All commands and their help.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&str, &Help)> {
        self.0.iter().map(|(name, help)| (name.as_str(), help))
    }

    /// The help of all commands as pages of Markdown.
    pub(crate) fn pages(&self) -> Vec<Page> {
        let pages = self.commands().map(|(name, help)| {
            // What is indented is no code.
            let lines = help.text.lines().map(|line| line.trim_start().to_owned() + "\n");
            Page::parse(&format!("attentive {name} --help"), &lines.collect::<String>())
        });
        pages.collect()
    }

    /// Whether it is the name of a command.
    pub(crate) fn has(&self, command: &str) -> bool {
        self.0.contains_key(command)
    }

    /// Whether any command has this flag.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.0.values().any(|help| help.flags.contains_key(flag))
    }

    /// What is wrong with these arguments of the program, if anything. Without `with_values`, only names are
    /// checked.
    ///
    /// The parser of the program itself judges them: it reads all arguments before a `--help` at their end.
    pub(crate) fn refusal(&self, arguments: &[String], with_values: bool) -> Option<String> {
        let mut command = String::new();
        let mut rest = arguments;
        while let [first, others @ ..] = rest
            && !self.0[&command].commands.is_empty()
            && !first.starts_with('-')
        {
            let inner = format!("{command} {first}").trim().to_owned();
            if !self.has(&inner) {
                let commands: Vec<_> = self.0[&command].commands.keys().map(String::as_str).collect();
                return Some(format!("`{inner}` is no command; there are {}", commands.join(", ")));
            }
            command = inner;
            rest = others;
        }
        let flags = &self.0[&command].flags;
        let named = rest.iter().take_while(|word| *word != "--").filter_map(|word| flag(word));
        if let Some(unknown) = named.into_iter().find(|name| !flags.contains_key(*name)) {
            return Some(format!("`attentive {command} --help` lists no `{unknown}`"));
        }
        // The value of a flag at the end may have been left out.
        let last = arguments.last().is_some_and(|last| flag(last) == Some(last));
        let given = &arguments[..arguments.len() - usize::from(last)];
        if !with_values || given.iter().any(|word| is_placeholder(word)) {
            return None;
        }
        let folder = Folder::new();
        let mut asked = folder.command("");
        let outcome = asked.args(given).arg("--help").output().unwrap();
        let error = String::from_utf8_lossy(&outcome.stderr);
        (!outcome.status.success()).then(|| error.lines().take(2).collect::<Vec<_>>().join(" "))
    }
}

/// The name of the flag that `word` is, if it is one.
pub(crate) fn flag(word: &str) -> Option<&str> {
    let name = word.split('=').next()?;
    let letters = name.strip_prefix("--").or_else(|| name.strip_prefix('-'))?;
    letters.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(name)
}

/// Whether a reader must replace `word`, such as `MODEL`, `NAME=DIR`, `$D` or `…`.
pub(crate) fn is_placeholder(word: &str) -> bool {
    let is_name =
        |part: &str| !part.is_empty() && part.chars().all(|one| one.is_ascii_uppercase() || one == '_');
    word.contains(['$', '…', '<']) || word.contains("...") || word.split(['=', '/', '.']).any(is_name)
}

impl Help {
    fn read(text: &str) -> Self {
        let lines = text.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = lines.take_while(|line| line.starts_with(' '));
        let commands = lines.filter_map(|line| line.trim().split_once("  "));
        let commands = commands.map(|(name, about)| (name.to_owned(), about.trim().to_owned()));
        Self {
            text: text.to_owned(),
            flags: flags(text),
            commands: commands.filter(|(name, _)| name != "help").collect(),
        }
    }

    /// The command lines of its examples. The help is wrapped, so that a line may continue the one before it.
    pub(crate) fn examples(&self) -> Vec<String> {
        let lines = self.text.lines().skip_while(|line| *line != "Examples:").skip(1);
        let mut examples: Vec<String> = Vec::new();
        for line in lines.take_while(|line| !line.is_empty()) {
            let first = line.split_whitespace().next().unwrap_or_default();
            let begins = ["attentive", "echo", "curl", "python", "cat", "head", "mpirun"].contains(&first);
            match examples.last_mut() {
                Some(last) if !begins => *last = format!("{last} {}", line.trim()),
                _ => examples.push(line.trim().to_owned()),
            }
        }
        // Some have an explanation beside them.
        let code = |example: &String| example.split("   ").next().unwrap_or_default().to_owned();
        examples.iter().map(code).collect()
    }
}

/// The flags that a help lists in its sections, and what is said about them besides their values.
fn flags(text: &str) -> BTreeMap<String, String> {
    let mut flags: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Vec<String> = Vec::new();
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        if indent == 0 && !line.is_empty() {
            last.clear();
        }
        let about = if indent <= 6 && flag(words.split([' ', ',']).next().unwrap_or_default()).is_some() {
            let (names, about) = words.split_once("  ").unwrap_or((words, ""));
            let names = names.split([' ', ',', '[', '=']).filter_map(flag);
            last = names.map(str::to_owned).collect();
            about.trim()
        } else {
            words
        };
        let is_about_values = about.starts_with(['[', '-']) || about == "Possible values:";
        for name in &last {
            *flags.entry(name.clone()).or_default() += if is_about_values { "" } else { about };
        }
    }
    flags
}

#[test]
fn the_help_of_commands_and_flags_is_found() {
    let train = &PROGRAM.0["train"];
    assert!(train.flags["--resume"].contains("Resume"), "{:?}", train.flags);
    assert!(PROGRAM.has("plot curves") && PROGRAM.has_flag("-h"));
    assert!(train.examples().iter().all(|example| example.contains("attentive")));
    let arguments = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let refusal = |text: &str| PROGRAM.refusal(&arguments(text), true);
    assert_eq!(refusal("translate runs/my --precision int8 --n-best"), None);
    for (wrong, named) in [
        ("tranlate", "`tranlate` is no command"),
        ("plot curve", "`plot curve` is no command"),
        ("translate runs/my --n-bets 3", "no `--n-bets`"),
        ("translate runs/my --precision int9", "invalid value 'int9'"),
    ] {
        let refused = refusal(wrong).unwrap();
        assert!(refused.contains(named), "{refused}");
    }
}

#[test]
fn a_flag_without_help_is_noticed() {
    let text = "Usage: x [OPTIONS]\n\nOptions:\n  -o, --output <FILE>\n          [default: y]\n\n      --json  Write JSON\n\nSearch:\n  \
                    --width <N>\n          The width\n\nMore:\n  - a list\n";
    let flags = flags(text);
    let flags: Vec<_> = flags.iter().map(|(flag, about)| (flag.as_str(), about.as_str())).collect();
    assert_eq!(flags, [("--json", "Write JSON"), ("--output", ""), ("--width", "The width"), ("-o", "")]);
}
