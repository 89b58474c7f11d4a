//! Commands and flags in documents, recipes and help exist, and all that exist are documented.

use std::collections::BTreeSet;
use std::fs;

use crate::support::help::{PROGRAM, flag, is_placeholder};
use crate::support::markdown::{Block, Code, Page};
use crate::support::pages::{Mistakes, is_ours, present, recipes, root};
use crate::support::shell::{calls, lines};

/// Flags of other programs that documents name without a command: the flag, and the program.
const FOREIGN: [(&str, &str); 19] = [
    ("--factor", "bench/gpu.py"),
    ("--updates", "bench/gpu.py"),
    ("--compile", "bench/peers/compare.py"),
    ("--rounds", "bench/peers/compare.py"),
    ("--release", "cargo"),
    ("--parameters", "bench/scale/efficiency.py"),
    ("--seconds", "bench/scale/efficiency.py, bench/serve/compare.py"),
    ("--models", "bench/serve/compare.py"),
    ("--no-sweep", "bench/peers/translate.py"),
    ("--precisions", "bench/peers/translate.py"),
    ("--swept", "bench/peers/translate.py"),
    ("--soak", "scripts/serve_attacks.py"),
    ("--features", "cargo"),
    ("--gpu", "other trainers; a page says what there is instead"),
    ("-f", "iconv"),
    ("-p", "docker"),
    ("--bind-to", "mpirun"),
    ("--help", "every command"),
    ("--version", "every command"),
];

/// Flags that the help shows only with some features.
const HIDDEN: [(&str, &str); 1] = [("--process-timeout", "mpi")];

/// What is wrong with the arguments of a call, if anything.
fn refusal(arguments: &[String]) -> Option<String> {
    // `attentive COMMAND --help` is about any command.
    if arguments.first().is_some_and(|command| is_placeholder(command)) {
        return None;
    }
    let is_hidden =
        |word: &String| flag(word).is_some_and(|name| HIDDEN.iter().any(|hidden| hidden.0 == name));
    let shown: Vec<String> = arguments.iter().filter(|word| !is_hidden(word)).cloned().collect();
    let with_values = shown.len() == arguments.len();
    PROGRAM.refusal(&shown, with_values)
}

/// The arguments of the call that `code` within a line is, if it is one.
fn call(code: &str) -> Option<Vec<String>> {
    if code == "attentive" || code.starts_with("attentive ") {
        return calls(code).into_iter().next();
    }
    // `translate --n-best 5` is one, too.
    let (command, rest) = code.split_once(' ')?;
    let is_command = PROGRAM.has(command) && rest.starts_with('-');
    is_command.then(|| calls(&format!("attentive {code}"))).and_then(|calls| calls.into_iter().next())
}

/// What is wrong with a flag in `code` that stands without a command, if anything.
fn unknown_flag(code: &str) -> Option<String> {
    if !code.starts_with('-') {
        return None;
    }
    let words: Vec<String> = code.split_whitespace().map(str::to_owned).collect();
    let name = flag(&words[0])?;
    let is_known = |name: &str| {
        let exceptions = FOREIGN.iter().chain(&HIDDEN);
        PROGRAM.has_flag(name) || exceptions.clone().any(|known| known.0 == name)
    };
    if is_known(name) {
        return None;
    }
    let advice = "if another program has it, add it to FOREIGN in tests/it/docs_commands.rs";
    Some(format!("no command has the flag `{name}`; {advice}"))
}

/// What is wrong with `code` within a line of `page`, if anything.
fn mistake(page: &Page, code: &Code) -> Option<String> {
    match call(&code.text) {
        Some(arguments) => refusal(&arguments),
        None => is_ours(page, code).then(|| unknown_flag(&code.text))?,
    }
}

/// The calls in a block, with their lines.
fn calls_in(block: &Block) -> Vec<(usize, Vec<String>)> {
    let lines = lines(block).into_iter();
    let calls = lines.flat_map(|line| {
        let calls = calls(&line.text).into_iter();
        calls.map(|call| (line.number, call)).collect::<Vec<_>>()
    });
    calls.collect()
}

/// All calls on a page, with their lines.
pub(crate) fn calls_on(page: &Page) -> Vec<(usize, Vec<String>)> {
    let inside = page.codes.iter().filter_map(|code| Some((code.line, call(&code.text)?)));
    page.blocks.iter().flat_map(calls_in).chain(inside).collect()
}

#[test]
fn commands_in_documents_and_recipes_exist() {
    let mut mistakes = Mistakes::default();
    let mut count = 0;
    for page in present().iter().chain(&recipes()).chain(&PROGRAM.pages()) {
        for (line, arguments) in page.blocks.iter().flat_map(calls_in) {
            count += 1;
            if let Some(refused) = refusal(&arguments) {
                mistakes.add(&page.name, line, format!("`attentive {}`: {refused}", arguments.join(" ")));
            }
        }
        for code in &page.codes {
            if let Some(mistake) = mistake(page, code) {
                mistakes.add(&page.name, code.line, format!("`{}`: {mistake}", code.text));
            }
        }
    }
    mistakes.none();
    assert!(count > 50, "only {count} commands found");
}

#[test]
fn examples_in_the_help_exist() {
    let mut mistakes = Mistakes::default();
    for (command, help) in PROGRAM.commands() {
        let place = format!("attentive {command} --help");
        for example in help.examples() {
            let calls = calls(&example);
            for arguments in &calls {
                if let Some(refused) = refusal(arguments) {
                    mistakes.add_at(&place, format!("`{example}`: {refused}"));
                }
            }
        }
    }
    mistakes.none();
}

#[test]
fn wrong_commands_and_flags_are_noticed() {
    let page = Page::parse(
        "page",
        "`attentive trian my.toml`, `--no-such-flag`, `translate --strikt`, \
         `translate --early-stopping first`, `translate --formats text`, `score --metric blue`\n\
         \n```sh\nattentive translate runs/my --beam-widht 5\nattentive train x.toml --threads=none\n```\n",
    );
    let found = page.codes.iter().filter(|code| mistake(&page, code).is_some()).count();
    assert_eq!(found, page.codes.len(), "{:?}", page.codes);
    for (line, arguments) in calls_in(&page.blocks[0]) {
        assert!(refusal(&arguments).is_some(), "line {line}");
    }
    let right = "`attentive translate runs/my --n-best 3`, `--threads N`, `translate --strict`, `attentive \
                 COMMAND --help`, `-x`x";
    let page = Page::parse("page", right);
    for code in page.codes.iter().filter(|code| code.text != "-x") {
        assert_eq!(mistake(&page, code), None);
    }
}

#[test]
fn every_command_and_flag_has_help_and_every_command_a_page() {
    let mut mistakes = Mistakes::default();
    let pages = present();
    let named: BTreeSet<String> =
        pages.iter().flat_map(calls_on).flat_map(|(_, arguments)| prefixes(&arguments)).collect();
    for (command, help) in PROGRAM.commands() {
        let place = format!("attentive {command} --help");
        for (flag, about) in &help.flags {
            if about.is_empty() {
                mistakes.add_at(&place, format!("`{flag}` has no help: write a doc comment for it"));
            }
        }
        for (inner, about) in &help.commands {
            if about.is_empty() {
                mistakes.add_at(&place, format!("`{inner}` has no help: write a doc comment for it"));
            }
        }
        if !command.is_empty() && !named.contains(command) {
            mistakes.add_at("docs", format!("no page shows `attentive {command}`: add it to docs/guide.md"));
        }
    }
    mistakes.none();
}

/// The names of commands that the first words may be.
fn prefixes(arguments: &[String]) -> Vec<String> {
    (1..=arguments.len().min(2)).map(|n| arguments[..n].join(" ")).collect()
}

#[test]
fn flags_of_other_programs_are_not_ours() {
    for (name, program) in FOREIGN {
        for script in program.split(", ").filter(|program| program.contains('/')) {
            let text = fs::read_to_string(root().join(script)).unwrap();
            assert!(text.contains(name), "{script} has no {name}: remove it from FOREIGN");
        }
    }
}
