//! Running the program in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The program, not yet started: that of `ATTENTIVE_TEST_PROGRAM`, if it is set, with what runs it here, such as
/// `qemu-aarch64 PATH` or `wine PATH`.
pub(crate) fn program() -> Command {
    let given = std::env::var("ATTENTIVE_TEST_PROGRAM").unwrap_or_default();
    let mut words = given.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(env!("CARGO_BIN_EXE_attentive")));
    command.args(words);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A folder in which the program runs, removed after the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with `arguments`, separated by blanks, in this folder.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = program();
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs it and checks that it succeeds.
    pub(crate) fn succeeds(&self, arguments: &str) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome
    }

    /// Runs it and checks that it fails with exit code `code`, prints no data, and reports an error with
    /// these words.
    pub(crate) fn fails(&self, arguments: &str, code: i32, complaint: &[&str]) {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert_eq!(outcome.stdout, "", "{outcome:?}");
        // Notes and warnings may precede the error.
        let mut lines = outcome.stderr.lines();
        assert!(lines.any(|line| line.starts_with("error: ")), "{outcome:?}");
        for words in complaint {
            assert!(outcome.stderr.contains(words), "`{words}` is not in {outcome:?}");
        }
    }
}

/// `config` without the lines of `[model]` that a family does not read.
pub(crate) fn for_family(config: &str, family: &str) -> String {
    let unused: &[&str] = match family {
        "transformer" => &["recurrent = "],
        "seq2seq" => &["d_ff = ", "n_heads = "],
        "tagger" => &["d_ff = ", "n_heads = ", "n_decoder_layers = "],
        "decoder_only" => &["n_encoder_layers = ", "recurrent = "],
        "encoder_only" | "classifier" => &["n_decoder_layers = ", "recurrent = "],
        _ => panic!("an unknown family"),
    };
    let is_used = |line: &&str| !unused.iter().any(|unused| line.starts_with(unused));
    let lines: Vec<&str> = config.lines().filter(is_used).collect();
    lines.join("\n") + "\n"
}
