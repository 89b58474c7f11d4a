//! The commands of pages run, one after the other, in an empty folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use attentive::config::BuiltinTask;
use attentive::data::builtin;

use crate::run::{Folder, Outcome};
use crate::support::http::get;
use crate::support::markdown::Block;
use crate::support::pages::{page, root};
use crate::support::process::{Process, copy};
use crate::support::serving::until;
use crate::support::shell::{Line, calls, commands, files_written, lines, without_comment};

/// Makes small models in a few updates.
const SMALL: &str = "--set model.d_model=16 --set model.d_ff=32 --set model.n_heads=2 --set \
                     model.n_encoder_layers=1 --set model.n_decoder_layers=1 --set tokenizer.vocab_size=200 \
                     --set train.batch_tokens=256 --set decode.max_new_extra=4 --set \
                     train.schedule.warmup_steps=2 --set train.validate_every=2 --set \
                     train.validate_sentences=4 --set train.log_every=1";

/// What is done with a command.
enum Deed {
    /// Nothing, for this reason.
    Skip(&'static str),
    /// It runs with further arguments.
    Add(String),
    /// Another command runs in its place.
    Instead(String),
}

/// What is done with commands that begin so; the first of these that fits counts. All others run as they are,
/// so a command that cannot work in a test must be listed here.
fn deeds() -> Vec<(&'static str, Deed)> {
    let recipe = root().join("configs/demo-grammar.toml");
    let recipe = recipe.display();
    let demo = format!(
        "attentive train {recipe} --set data.train.pairs=200 --set data.valid.pairs=20 --set \
         train.max_steps=4 {SMALL} --output attentive-demo-grammar"
    );
    let few = Deed::Add(format!("--set train.max_steps=8 {SMALL}"));
    let corpus = "mkdir -p data/en-it; for part in train valid test; do gzip -c ../$part.en > data/en-it/$part.en.gz; \
                  gzip -c ../$part.de > data/en-it/$part.it.gz; done; echo made";
    vec![
        ("cargo install", Deed::Skip("the program is there already")),
        ("tar xf", Deed::Skip("a package")),
        ("sudo", Deed::Skip("tests change nothing outside their folders")),
        ("pip install", Deed::Skip("a package")),
        ("git clone", Deed::Skip("this is the checkout")),
        ("cd attentive", Deed::Skip("this is the checkout")),
        // The demo itself takes minutes; its recipe is trained for some updates.
        ("attentive demo", Deed::Instead(demo)),
        ("attentive train", few),
        // A small corpus stands for the one of the tutorial.
        ("python3 ../scripts/debian_corpus.py data it", Deed::Instead(corpus.to_owned())),
    ]
}

/// Commands that write to standard error and nothing to standard output.
const QUIET: [&str; 1] = ["attentive train"];

/// Commands that say nothing.
const SILENT: [&str; 2] = ["mkdir", "cd"];

/// A reader of a page, who runs its commands.
struct Reader {
    /// Those that have begun to serve; the last one is asked. They end before their folder does.
    servers: Vec<Process>,
    folder: Folder,
    /// Where the reader is.
    place: PathBuf,
    /// Lines that set variables of the shell.
    variables: String,
    deeds: Vec<(&'static str, Deed)>,
}

impl Reader {
    /// A reader in a folder that holds what the pages tell readers to have.
    fn new() -> Self {
        let folder = Folder::new();
        for (names, seed, pairs) in
            [(&["train"][..], 1, 300), (&["valid", "val"], 2, 20), (&["test", "test_2016_flickr"], 3, 20)]
        {
            let examples: Vec<_> = builtin::generate(BuiltinTask::Grammar, seed, pairs).collect();
            let src: Vec<_> = examples.iter().map(|example| example.src.text.as_str()).collect();
            let tgt: Vec<_> = examples.iter().map(|example| example.tgt.text.as_str()).collect();
            for name in names {
                folder.write(&format!("{name}.en"), src.join("\n") + "\n");
                folder.write(&format!("{name}.de"), tgt.join("\n") + "\n");
            }
        }
        // A small model of the same kind stands for the published one.
        copy(&root().join("tests/fixtures/hf/marian"), &folder.path("opus-mt-en-de"));
        Self { place: folder.path(""), folder, variables: String::new(), deeds: deeds(), servers: Vec::new() }
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

    /// Writes the file that a block of TOML shows, if its first line is a comment that begins with its name.
    fn save(&self, block: &Block) {
        let first = block.text.lines().next().unwrap_or_default();
        let comment = first.strip_prefix("# ").unwrap_or_default();
        let name = comment.split([' ', ':', ',']).next();
        let name = name.filter(|name| name.ends_with(".toml"));
        if let (Some(name), "toml") = (name, block.language.as_str()) {
            fs::write(self.place.join(name), &block.text).unwrap();
        }
    }

    /// Does what a line of the page `place` says.
    fn run(&mut self, place: &str, line: &Line) {
        let code = without_comment(&line.text);
        let deed = self.deeds.iter().find(|(with, _)| begins(code, with));
        let (code, is_ours) = match deed.map(|(_, deed)| deed) {
            Some(Deed::Skip(reason)) => {
                println!("{place}: `{code}` does not run: {reason}");
                return;
            }
            Some(Deed::Add(more)) => (format!("{code} {more}"), false),
            Some(Deed::Instead(other)) => (other.clone(), true),
            None => (code.to_owned(), false),
        };
        if let Some(arguments) =
            calls(&code).into_iter().find(|arguments| arguments.first().is_some_and(|first| first == "serve"))
        {
            println!("{place}: `{code}`");
            return self.serve(&arguments);
        }
        let code = match self.servers.last() {
            Some(server) => code.replace("localhost:8080", &server.address.to_string()),
            None => code,
        };
        println!("{place}: `{code}`");
        let outcome = self.shell(&code);
        let advice = "correct the page, or say in tests/it/docs_run.rs what a test does with the command";
        assert_eq!(outcome.code, Some(0), "{place}: `{code}` fails: {advice}\n{outcome:?}");
        let has_output = is_ours || self.keep(&code) || self.has_output(&code, &outcome);
        assert!(has_output, "{place}: `{code}` has no output: {advice}\n{outcome:?}");
    }

    fn serve(&mut self, arguments: &[String]) {
        let mut command = self.folder.command("");
        command.args(arguments).current_dir(&self.place);
        let server = Process::over(command, "127.0.0.1:0");
        until("ready", || get(server.address, "/readyz").status == 200);
        self.servers.push(server);
    }

    /// Keeps what a line changes in the shell itself: the folder, or variables.
    fn keep(&mut self, code: &str) -> bool {
        let words = commands(code).concat();
        if let [command, folder] = &words[..]
            && command == "cd"
        {
            self.place.push(folder);
            return true;
        }
        let is_setting = words.len() == 1 && words[0].contains('=');
        if is_setting {
            self.variables += &format!("{code}\n");
        }
        is_setting
    }

    /// Whether a command that has succeeded has written what it should.
    fn has_output(&self, code: &str, outcome: &Outcome) -> bool {
        let has_content = |name: &String| {
            let path = self.place.join(name);
            path.is_dir() || fs::metadata(path).is_ok_and(|file| file.len() > 0)
        };
        let written = [files_written(code), outputs(code)].concat();
        if SILENT.iter().any(|silent| begins(code, silent)) {
            true
        } else if QUIET.iter().any(|quiet| begins(code, quiet)) {
            !outcome.stderr.trim().is_empty()
        } else if written.is_empty() {
            !outcome.stdout.trim().is_empty()
        } else {
            written.iter().all(has_content)
        }
    }

    /// Runs a line where the reader is, with the program in the path.
    fn shell(&self, code: &str) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_attentive")).parent().unwrap();
        let path = env::var_os("PATH").unwrap();
        let folders = [program.to_owned()].into_iter().chain(env::split_paths(&path));
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &format!("{}{code}", self.variables)]);
        shell.env("PATH", env::join_paths(folders).unwrap());
        shell.current_dir(&self.place).stdin(Stdio::null());
        shell.output().unwrap().into()
    }
}

/// Whether `code` begins with the words `with`.
fn begins(code: &str, with: &str) -> bool {
    let rest = code.strip_prefix(with);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// The files and folders that calls of the program write with `--output`.
fn outputs(code: &str) -> Vec<String> {
    let after = calls(code).into_iter().flat_map(|arguments| {
        let pairs = arguments.windows(2).filter(|pair| ["-o", "--output"].contains(&pair[0].as_str()));
        pairs.map(|pair| pair[1].clone()).collect::<Vec<_>>()
    });
    after.collect()
}

#[test]
fn the_readme_runs() {
    Reader::new().follow("README.md");
}

#[test]
fn the_tutorial_runs() {
    Reader::new().follow("docs/tutorial.md");
}

#[test]
#[should_panic(expected = "README.md:8: `attentive translate nothing` fails")]
fn a_command_that_fails_is_noticed() {
    let line = Line { number: 8, text: "attentive translate nothing # no such model".into() };
    Reader::new().run("README.md:8", &line);
}

#[test]
#[should_panic(expected = "README.md:9: `true` has no output")]
fn a_command_without_output_is_noticed() {
    let line = Line { number: 9, text: "true".into() };
    Reader::new().run("README.md:9", &line);
}
