//! Readers that close a pipe early end the program quietly.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::run::{Folder, Outcome};

/// Starts `command`, reads `n_lines` lines of its output, closes it, and waits for the end.
fn read_and_leave(mut command: Command, n_lines: usize) -> (Vec<String>, Outcome) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines =
        BufReader::new(child.stdout.take().unwrap()).lines().take(n_lines).collect::<Result<_, _>>().unwrap();
    (lines, child.wait_with_output().unwrap().into())
}

#[test]
fn closing_the_output_early_is_not_an_error() {
    let folder = Folder::new();
    let text = "a few words\n".repeat(50_000);
    folder.write("hyp", &text).write("ref", &text);
    let (lines, outcome) =
        read_and_leave(folder.command("score hyp ref --sentence-level --metric bleu --json"), 1);
    assert!(lines[0].starts_with("{\"line\":1,"), "{lines:?}");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
}

#[test]
fn output_without_a_reader_is_not_an_error() {
    let folder = Folder::new();
    folder.write("text", "a few words\n");
    for arguments in ["score text text", "completions bash", "--help", "--version"] {
        let (_, outcome) = read_and_leave(folder.command(arguments), 0);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{arguments}");
    }
}
