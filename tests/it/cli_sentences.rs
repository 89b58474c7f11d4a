//! `translate` sentence by sentence, and what a vocabulary cannot spell.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::cli_generate::language_models;
use crate::cli_model::{stdout, trained};
use crate::run::{Folder, Outcome};

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_sentences_of_a_line_are_translated_one_by_one() {
    let folder = trained();
    folder.write("lines", "1 2 .  3 4 5 !\t6 ?\n\n 7 8\n9 . 0\n");
    folder.write("sentences", "1 2 .\n3 4 5 !\n6 ?\n7 8\n9 .\n0\n");
    let alone = stdout(&folder, "translate runs/c sentences");
    let alone: Vec<&str> = alone.lines().collect();
    let joined =
        format!("{}  {}\t{}\n\n {}\n{} {}\n", alone[0], alone[1], alone[2], alone[3], alone[4], alone[5]);
    let command = "translate runs/c lines --split-sentences";
    assert_eq!(stdout(&folder, command), joined);
    for options in ["--batch-size 1", "--threads 1", "--n-best 1 --no-scores"] {
        assert_eq!(stdout(&folder, &format!("{command} {options}")), joined);
    }
    assert_ne!(stdout(&folder, "translate runs/c lines"), joined);

    // Scores are sums, and words are those of the line.
    let jsonl = "--json --n-best 2 --alignments";
    let whole = objects(&stdout(&folder, &format!("{command} {jsonl}")));
    let parts = objects(&stdout(&folder, &format!("translate runs/c sentences {jsonl}")));
    assert_eq!(whole.len(), 4);
    let of = |line: &Value, key: &str| line["translations"][0][key].clone();
    let sum: f64 = (0..3).map(|n| of(&parts[n], "score").as_f64().unwrap()).sum();
    assert_eq!(of(&whole[0], "score").as_f64().unwrap(), sum);
    let [last, all] = [&parts[2], &whole[0]].map(|line| of(line, "alignment").as_array().unwrap().clone());
    if let Some(last) = last.last() {
        let moved = last[0].as_u64().unwrap() + 7;
        assert_eq!(all.last().unwrap()[0], moved);
    }
    let tsv = stdout(&folder, &format!("{command} --scores"));
    assert!(tsv.lines().all(|line| line.split('\t').count() == 3), "{tsv}");
}

#[test]
fn demands_of_lines_with_several_sentences() {
    let folder = trained();
    folder.write("lines", "1 2 . 3 4\n5 6\n");
    folder.write("begin", "9 9\n0\n");
    let text = stdout(&folder, "translate runs/c lines --split-sentences --prefix begin");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("9 9") && lines[1].starts_with('0'), "{text}");
    folder.write("terms", "\n7\n");
    let command = "translate runs/c lines --split-sentences --beam-width 4 --constraints terms";
    assert_eq!(stdout(&folder, command).lines().count(), 2);
    folder.write("terms", "7\n\n");
    folder.fails(command, 1, &["line 1 has 2 sentences", "hint: "]);
}

#[test]
fn demands_of_lines_without_a_sentence_are_named_or_refused() {
    let folder = trained();
    folder.write("lines", "1 2\n\n \n🎉\n\n");
    folder.write("begin", "9\n9\n\n9\n\n");
    folder.write("terms", "\n\n7\n\n\n");
    let command = "translate runs/c lines --split-sentences --prefix begin --constraints terms \
                   --beam-width 4 --json";
    let outcome = folder.succeeds(command);
    let lines = objects(&outcome.stdout);
    let ignored = "so its prefix and phrases were ignored";
    let (blank, none) = (format!("blank, {ignored}"), format!("nothing to translate, {ignored}"));
    for (number, expected) in [(2, &blank), (3, &blank), (4, &none)] {
        let warning = format!("warning: line {number}: {expected}");
        assert!(outcome.stderr.contains(&warning), "{outcome:?}");
        assert_eq!(lines[number - 1]["warnings"][0], **expected);
    }
    assert!(!outcome.stderr.contains("line 5"), "{outcome:?}");
    let texts: Vec<&Value> = (lines[1..].iter().map(|line| &line["translations"][0]["text"])).collect();
    assert_eq!(texts, ["", " ", "🎉", ""]);
    folder.write("lines", " \n").write("begin", "9\n").write("terms", "\n");
    folder.fails(&format!("{command} --strict"), 1, &["line 1: blank, so its prefix", "`--strict`"]);
}

#[test]
fn what_cannot_be_spelled_is_named_or_refused() {
    let folder = trained();
    folder.write("lines", "\n3 🎉 x\n");
    let outcome = folder.succeeds("translate runs/c lines --json");
    assert!(outcome.stderr.contains("warning: line 2: not in the model's vocabulary"), "{outcome:?}");
    let lines = objects(&outcome.stdout);
    assert_eq!(lines[0]["warnings"], Value::Array(Vec::new()));
    let warning = lines[1]["warnings"][0].as_str().unwrap();
    assert!(warning.ends_with("`🎉`, `x`"), "{warning}");
    folder.fails("translate runs/c lines --strict", 1, &["line 2: ", "`🎉`, `x`", "`--strict`"]);
    folder.write("lines", "1 2 3 4\n");
    let command = "translate runs/c lines --max-new-tokens 1 --strict";
    folder.fails(command, 1, &["line 1: the translation was cut off"]);
    folder.write("lines", "\n\n");
    assert_eq!(stdout(&folder, "translate runs/c lines --strict"), "\n\n");
}

/// What the program writes with `input` on standard input.
fn piped(folder: &Folder, arguments: &str, input: &[u8]) -> Outcome {
    let mut command = folder.command(arguments);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap().into()
}

#[test]
fn standard_input_is_a_prompt() {
    let folder = language_models();
    let command = "generate runs/stream --greedy --max-new-tokens 5";
    let given = stdout(&folder, &format!("{command} --prompt First"));
    for input in ["First", "First\n", "First\r\n"] {
        assert_eq!(piped(&folder, command, input.as_bytes()).stdout, given);
    }
    let other = piped(&folder, &format!("{command} --prompt First"), b"Before");
    assert_eq!(other.stdout, given, "a prompt that is given counts");
    let two = piped(&folder, command, b"First\n\n").stdout;
    assert!(two.starts_with("First\n"), "{two:?}");
    // Nothing on standard input is no prompt.
    let none = stdout(&folder, &format!("{command} --prompt="));
    assert_eq!(piped(&folder, command, b"").stdout, none);
    let outcome = piped(&folder, command, b"\xff");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("not UTF-8"), "{outcome:?}");
}

#[test]
fn a_program_that_waits_for_its_prompt_says_so() {
    let folder = language_models();
    let command = "generate runs/stream --greedy --max-new-tokens 5";
    let started = |arguments: &str| {
        let mut command = folder.command(arguments);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let given = format!("{command} --prompt First");
    let mut waiting = started(command);
    let mut said = String::new();
    let stderr = waiting.stderr.as_mut().unwrap();
    BufReader::new(stderr).read_line(&mut said).unwrap();
    assert!(said.starts_with("note: reading the text to continue from standard input"), "{said}");
    let mut pipe = waiting.stdin.take().unwrap();
    pipe.write_all(b"First\n").unwrap();
    drop(pipe);
    let outcome: Outcome = waiting.wait_with_output().unwrap().into();
    assert_eq!(outcome.stdout, stdout(&folder, &given));
    // With a prompt, a silent pipe does not matter.
    let mut prompted = started(&given);
    let silent = prompted.stdin.take();
    let prompted: Outcome = prompted.wait_with_output().unwrap().into();
    assert_eq!((prompted.stdout, prompted.stderr), (outcome.stdout, String::new()));
    drop(silent);
}
