//! The commands of the README and of the tutorial run, one after the other, in an empty folder.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use attentive::config::BuiltinTask;
use attentive::data::builtin;

use crate::run::{Folder, Outcome};
use crate::support::markdown::Block;
use crate::support::pages::{page, root};
use crate::support::process::{Process, copy};
use crate::support::shell::{Line, calls, files_written, lines, without_comment};

/// Makes small models in a few updates.
const SMALL: &str = "--set model.d_model=16 --set model.d_ff=32 --set model.n_heads=2 --set model.n_encoder_layers=1 \
    --set model.n_decoder_layers=1 --set tokenizer.vocab_size=200 --set train.batch_tokens=256 --set decode.max_new_extra=4 \
    --set train.schedule.warmup_steps=2 --set train.validate_every=4 --set train.validate_sentences=4";

/// What is done with a command.
enum Deed {
    /// Nothing, for this reason.
    Skip(&'static str),
    /// It runs with further arguments.
    Add(String),
    /// Another command runs in its place.
    Instead(String),
}

/// What is done with commands that begin so; the first of these that fits counts. All others run as they are, and a command that
/// does not work in a test must be listed here.
fn deeds() -> Vec<(&'static str, Deed)> {
    let recipe = root().join("configs/demo-grammar.toml");
    let recipe = recipe.display();
    let demo = format!(
        "attentive train {recipe} --set data.train.pairs=200 --set data.valid.pairs=20 --set train.max_steps=4 {SMALL} \
         --output attentive-demo-grammar"
    );
    vec![
        ("cargo install", Deed::Skip("the program is there already")),
        ("git clone", Deed::Skip("this is the checkout")),
        ("cd attentive", Deed::Skip("this is the checkout")),
        // The demo itself takes minutes; its recipe is trained for some updates.
        ("attentive demo", Deed::Instead(demo)),
        (
            "attentive train my.toml --resume",
            Deed::Add(format!("--set train.max_steps=8 {SMALL}")),
        ),
        (
            "attentive train",
            Deed::Add(format!("--set train.max_steps=4 {SMALL}")),
        ),
    ]
}

/// Commands that write to standard error and nothing to standard output.
const QUIET: [&str; 1] = ["attentive train"];

/// A page whose commands run.
struct Walk {
    folder: Folder,
    deeds: Vec<(&'static str, Deed)>,
    /// Those that have begun to serve; the last one is asked.
    servers: Vec<Process>,
}

impl Walk {
    /// A folder that holds what the pages tell readers to have.
    fn new() -> Self {
        let folder = Folder::new();
        for (name, seed, pairs) in [("train", 1, 300), ("valid", 2, 20), ("test", 3, 20)] {
            let examples: Vec<_> = builtin::generate(BuiltinTask::Grammar, seed, pairs).collect();
            let src: Vec<_> = examples
                .iter()
                .map(|example| example.src.text.as_str())
                .collect();
            let tgt: Vec<_> = examples
                .iter()
                .map(|example| example.tgt.text.as_str())
                .collect();
            folder.write(&format!("{name}.en"), src.join("\n") + "\n");
            folder.write(&format!("{name}.de"), tgt.join("\n") + "\n");
        }
        // A small model of the same kind stands for the published one.
        copy(
            &root().join("tests/fixtures/hf/marian"),
            &folder.path("opus-mt-en-de"),
        );
        Self {
            folder,
            deeds: deeds(),
            servers: Vec::new(),
        }
    }
    /// Does what a reader of `name` does.
    fn follow(&mut self, name: &str) {
        for block in &page(name).blocks {
            self.save(block);
            for line in lines(block) {
                let place = format!("{name}:{}", line.number);
                self.run(&place, &line);
            }
        }
    }

    /// Writes the file that a block of TOML shows, if its first line is a comment with its name.
    fn save(&self, block: &Block) {
        let first = block
            .text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "));
        let name = first.filter(|name| name.ends_with(".toml") && !name.contains(' '));
        if let (Some(name), "toml") = (name, block.language.as_str()) {
            self.folder.write(name, &block.text);
        }
    }

    /// What runs in place of `code`, if anything does.
    fn shortened(&self, code: &str) -> Option<String> {
        let begins = |with: &str| {
            code.strip_prefix(with)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        let deed = self
            .deeds
            .iter()
            .find(|(with, _)| begins(with))
            .map(|(_, deed)| deed);
        match deed {
            Some(Deed::Skip(reason)) => {
                println!("`{code}` does not run: {reason}");
                None
            }
            Some(Deed::Add(more)) => Some(format!("{code} {more}")),
            Some(Deed::Instead(other)) => Some(other.clone()),
            None => Some(code.to_owned()),
        }
    }

    fn run(&mut self, place: &str, line: &Line) {
        let Some(code) = self.shortened(without_comment(&line.text)) else {
            return;
        };
        if let Some(["serve", options @ ..]) = calls(&code)
            .first()
            .map(|call| call.iter().map(String::as_str).collect::<Vec<_>>())
            .as_deref()
        {
            self.servers
                .push(Process::start(&self.folder, &options.join(" ")));
            return;
        }
        let code = match self.servers.last() {
            Some(server) => code.replace("localhost:8080", &server.address.to_string()),
            None => code,
        };
        let outcome = self.shell(&code);
        let advice =
            "correct the page, or say in tests/it/docs_run.rs what a test does with the command";
        assert_eq!(
            outcome.code,
            Some(0),
            "{place}: `{code}` fails: {advice}\n{outcome:?}"
        );
        let files = files_written(&code);
        let is_quiet = QUIET.iter().any(|quiet| code.starts_with(quiet));
        let is_silent = match (&files[..], is_quiet) {
            ([], true) => outcome.stderr.trim().is_empty(),
            ([], false) => outcome.stdout.trim().is_empty(),
            (files, _) => files
                .iter()
                .any(|file| fs::read(self.folder.path(file)).unwrap().is_empty()),
        };
        assert!(
            !is_silent,
            "{place}: `{code}` has no output: {advice}\n{outcome:?}"
        );
    }

    /// Runs a line in the folder, with the program in the path.
    fn shell(&self, code: &str) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_attentive")).parent().unwrap();
        let path = env::var_os("PATH").unwrap();
        let folders = [program.to_owned()]
            .into_iter()
            .chain(env::split_paths(&path));
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", code]);
        shell.env("PATH", env::join_paths(folders).unwrap());
        shell.current_dir(self.folder.path("")).stdin(Stdio::null());
        shell.output().unwrap().into()
    }
}

#[test]
fn the_readme_runs() {
    Walk::new().follow("README.md");
}

#[test]
#[should_panic(expected = "README.md:8: `attentive translate nothing` fails")]
fn a_command_that_fails_is_noticed() {
    let line = Line {
        number: 8,
        text: "attentive translate nothing # no such model".into(),
    };
    Walk::new().run("README.md:8", &line);
}

#[test]
#[should_panic(expected = "README.md:9: `true` has no output")]
fn a_command_without_output_is_noticed() {
    let line = Line {
        number: 9,
        text: "true".into(),
    };
    Walk::new().run("README.md:9", &line);
}
