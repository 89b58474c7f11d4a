//! What a tired or hostile user gives: output that is closed, lines and keys without an end, weights that are
//! no numbers.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli_damage::signal;
use crate::cli_model::{CONFIG, trained};
use crate::run::{Folder, Outcome, program};

/// Runs a line of the shell, in which `$A` is the program.
fn shell(folder: &Folder, line: &str) -> Outcome {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("A", env!("CARGO_BIN_EXE_attentive")).current_dir(folder.path(""));
    command.output().unwrap().into()
}

#[test]
fn output_that_is_closed_is_an_error() {
    let folder = trained();
    folder.write("hyp", "a\n");
    for command in ["translate runs/c src", "info runs/c", "score hyp hyp", "config schema"] {
        let outcome = shell(&folder, &format!("$A {command} >&-"));
        assert_eq!(outcome.code, Some(1), "{command}: {outcome:?}");
        assert!(outcome.stderr.contains("`standard output`: it is closed"), "{command}: {outcome:?}");
        let outcome = shell(&folder, &format!("$A {command} > /dev/null"));
        assert_eq!(outcome.code, Some(0), "{command}: {outcome:?}");
    }
    let outcome = shell(&folder, "$A translate runs/c src --output /dev/stdout >&-");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let outcome = shell(&folder, "$A translate runs/c src --output out >&-");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!fs::read(folder.path("out")).unwrap().is_empty());
}

#[test]
fn a_line_without_an_end_is_refused_at_its_limit() {
    let folder = trained();
    for command in ["translate runs/c", "embed runs/c"] {
        let outcome = shell(&folder, &format!("yes a | tr -d '\\n' | timeout 60 $A {command}"));
        assert_eq!(outcome.code, Some(1), "{command}: {outcome:?}");
        assert!(outcome.stderr.contains("line 1: longer than 67108864 bytes"), "{command}: {outcome:?}");
    }
}

#[test]
fn a_file_without_an_end_is_refused_at_its_limit() {
    let folder = trained();
    for command in [
        "score /dev/zero src",
        "evaluate runs/c --src /dev/zero --ref src",
        "rescore runs/c --src /dev/zero --tgt src",
    ] {
        let outcome = shell(&folder, &format!("ulimit -v 4000000; timeout 60 $A {command} --threads 1"));
        assert_eq!(outcome.code, Some(1), "{command}: {outcome:?}");
        assert!(outcome.stderr.contains("longer than 67108864 bytes"), "{command}: {outcome:?}");
    }
}

#[test]
fn endless_names_and_values_are_refused_at_once_and_shown_in_part() {
    let folder = Folder::new();
    let long = "x".repeat(5_000_000);
    for text in [
        format!("{long} = 1\n"),
        format!("d_model{long} = 1\n"),
        format!("[model]\n{long} = 1\n"),
        format!("[{long}]\na = 1\n"),
        format!("[model.{long}]\na = 1\n"),
        format!("\"a.{long}\" = 1\n"),
        format!("[model]\nfamily = \"{long}\"\n"),
        format!("[train]\ndevice = \"{long}\"\n"),
        format!("[train]\noptimizer = \"{long}\"\n"),
        format!("[tokenizer]\nkind = \"{long}\"\n"),
        format!("[model]\nfreeze = \"{long}\"\n"),
    ] {
        folder.write("c.toml", &text);
        let outcome = shell(&folder, "ulimit -t 5; $A train c.toml");
        let start: String = text.chars().take(30).collect();
        assert_eq!(outcome.code, Some(2), "{start}: {}", outcome.stderr.len());
        assert!(outcome.stderr.len() < 3000, "{start}: {} bytes", outcome.stderr.len());
        assert!(outcome.stderr.contains('…'), "{start}: {}", outcome.stderr);
    }
}

#[test]
fn weights_that_are_no_numbers_give_no_vectors() {
    let folder = trained();
    let path = folder.path("runs/c/model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for number in bytes[header..].chunks_exact_mut(4) {
        number.copy_from_slice(&f32::NAN.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    crate::cli_sums::forget_all_sums(&folder, "runs/c");
    for command in ["embed", "translate"] {
        let outcome = folder.run(&format!("{command} runs/c src"));
        assert_eq!(outcome.code, Some(1), "{command}: {outcome:?}");
        assert!(outcome.stderr.contains("NaN or infinite"), "{command}: {outcome:?}");
    }
}

/// A corpus that never comes can be given up by one signal.
#[test]
fn the_first_signal_ends_the_wait_for_a_corpus() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    folder.write("other", "1\n");
    let config = CONFIG.replace("{ builtin = 'reverse', pairs = 200 }", "{ src = 'pipe', tgt = 'other' }");
    folder.write("c.toml", config);
    for (with_writer, name) in [(false, "-INT"), (true, "-INT"), (true, "-TERM")] {
        let mut child = program()
            .args(["train", "c.toml", "--force"])
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It has opened the pipe when it can be written to.
        let writer = with_writer.then(|| {
            let mut pipe = fs::OpenOptions::new().write(true).open(folder.path("pipe")).unwrap();
            pipe.write_all(b"1 2\n1").unwrap();
            pipe
        });
        // Without a writer, nothing tells when it waits; handlers are installed before anything is read.
        while !handles_signals(child.id()) {
            std::thread::sleep(Duration::from_millis(2));
        }
        signal(&child, name);
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        let code = child.wait().unwrap().code();
        drop(writer);
        assert_eq!(code, Some(if name == "-INT" { 130 } else { 143 }), "{said}");
        assert!(said.contains("nothing had been computed yet"), "{said}");
    }
}

/// Whether the process handles SIGINT itself.
fn handles_signals(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> 1 & 1 == 1))
}

#[test]
fn parts_of_weights_that_are_missing_are_named() {
    let folder = Folder::new();
    let kind = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hf/gpt2");
    for file in ["config.json", "tokenizer.json", "generation_config.json"] {
        fs::create_dir_all(folder.path("m")).unwrap();
        fs::copy(format!("{kind}/{file}"), folder.path("m").join(file)).unwrap();
    }
    let part = "model-00001-of-00002.safetensors";
    fs::copy(format!("{kind}/model.safetensors"), folder.path("m").join(part)).unwrap();
    folder.fails("import m --output out", 1, &["model.safetensors.index.json`: the index", part]);
    let index = r#"{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}"#;
    folder.write("m/model.safetensors.index.json", index);
    folder.fails("import m --output out", 1, &["model-00002-of-00002.safetensors`: the part", "is missing"]);
}

#[test]
fn options_of_other_commands_are_named_as_such() {
    let folder = Folder::new();
    folder.write("text", "");
    for (command, option, other) in [
        ("embed x", "--cache-precision bf16", "`translate`"),
        ("tag x", "--beam-width 3", "`translate`"),
        ("info x", "--temperature 1", "`generate`"),
    ] {
        let outcome = folder.run(&format!("{command} {option}"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("has no such option; "), "{outcome:?}");
        assert!(
            outcome.stderr.contains(other) && !outcome.stderr.contains("--process-timeout"),
            "{outcome:?}"
        );
    }
}
