//! Interrupted runs and damaged files.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::cli_model::{CONFIG, trained};
use crate::cli_sums::forget_sums;
use crate::run::{Folder, Outcome};

/// A run with dropout that is long enough to be stopped midway, with pauses for validation and saving.
pub(crate) const LONG: &str = "--set model.dropout=0.3 --set model.attention_dropout=0.1 --set \
                               model.d_model=64 --set train.max_steps=60 --set train.save_every=7 --set \
                               train.validate_every=25 --set train.log_every=1 --set \
                               train.micro_batches_per_update=2 --set data.train.pairs=1000";

pub(crate) fn long(folder: &Folder, out: &str, more: &str) -> String {
    folder.write("c.toml", CONFIG);
    format!("train c.toml --output {out} {LONG} {more}")
}

pub(crate) fn start(folder: &Folder, arguments: &str) -> Child {
    let mut command = folder.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the run in `out` has logged `lines` lines.
pub(crate) fn wait_for_updates(folder: &Folder, out: &str, lines: usize) {
    let log = folder.path(out).join("metrics.jsonl");
    let start = Instant::now();
    while fs::read_to_string(&log).map_or(0, |text| text.lines().count()) < lines {
        assert!(start.elapsed() < Duration::from_secs(120), "no update in two minutes");
        sleep(Duration::from_millis(2));
    }
}

pub(crate) fn weights(folder: &Folder, run: &str) -> Vec<u8> {
    fs::read(folder.path(run).join("model.safetensors")).unwrap()
}

pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_killed_run_resumes_to_identical_files() {
    let folder = Folder::new();
    folder.succeeds(&long(&folder, "whole", ""));
    let mut moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos() as usize;
    let mut kills = Vec::new();
    for round in 0..3 {
        let updates = round * 18 + moment % 18;
        moment /= 18;
        kills.push(updates);
        let mut child = start(&folder, &long(&folder, "parts", "--resume"));
        wait_for_updates(&folder, "parts", updates.max(1));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    folder.succeeds(&long(&folder, "parts", "--resume"));
    assert!(weights(&folder, "parts") == weights(&folder, "whole"), "killed after {kills:?} updates");
    let logged =
        |run: &str| fs::read_to_string(folder.path(run).join("metrics.jsonl")).unwrap().lines().count();
    assert_eq!(logged("parts"), logged("whole"));
}

/// A kill while a checkpoint is saved or a run begins leaves one file new and the next one old or missing.
#[test]
fn a_kill_between_two_files_is_repaired() {
    let folder = trained();
    let whole = weights(&folder, "runs/c");
    let file = |name: &str| folder.path("runs/c").join(name);
    fs::remove_file(file("checkpoints/best")).unwrap();
    fs::remove_file(file("model.safetensors")).unwrap();
    fs::create_dir(file("checkpoints/.tmp-step-00000008")).unwrap();
    let log = file("metrics.jsonl");
    let logged = fs::read(&log).unwrap();
    fs::write(&log, [logged.as_slice(), b"{\"step\":1,\"src\":\"\xc3"].concat()).unwrap();
    folder.succeeds("train c.toml --resume");
    assert!(weights(&folder, "runs/c") == whole);
    assert!(fs::read(&log).unwrap() == logged);
    assert!(!file("checkpoints/.tmp-step-00000008").exists());

    fs::create_dir(folder.path("begun")).unwrap();
    fs::copy(file("tokenizer.json"), folder.path("begun/tokenizer.json")).unwrap();
    fs::copy(file("provenance.json"), folder.path("begun/provenance.json")).unwrap();
    folder.succeeds("train c.toml --resume --output begun");
    assert!(weights(&folder, "begun") == whole);
}

#[test]
fn force_replaces_a_run_and_nothing_else() {
    let folder = trained();
    folder.write("runs/c/notes.txt", "mine");
    let missing = "train c.toml --force --set data.train={src='none',tgt='none'}";
    folder.fails(missing, 1, &["cannot read `none`"]);
    assert!(folder.path("runs/c/model.safetensors").exists(), "the old run is gone, and there is no new one");
    folder.succeeds("train c.toml --force --set train.max_steps=1");
    assert!(folder.path("runs/c/notes.txt").exists());
    assert!(!folder.path("runs/c/checkpoints/step-00000006").exists());
    fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/config.toml", "mine").write("other/thesis.txt", "mine");
    for how in ["--force", "--resume", ""] {
        folder.fails(&format!("train c.toml --output other {how}"), 2, &["`other`"]);
    }
    assert_eq!(fs::read_dir(folder.path("other")).unwrap().count(), 2);
}

#[test]
fn a_signal_saves_and_stops() {
    let folder = Folder::new();
    folder.succeeds(&long(&folder, "whole", ""));
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let run = format!("parts{name}");
        let child = start(&folder, &long(&folder, &run, ""));
        wait_for_updates(&folder, &run, 3);
        signal(&child, name);
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(outcome.stderr.contains("same command with `--resume`"), "{outcome:?}");
        folder.succeeds(&long(&folder, &run, "--resume"));
        assert!(weights(&folder, &run) == weights(&folder, "whole"), "{name}");
    }
}

/// A limit on file sizes simulates a full disk: the same call fails at the same place.
#[test]
fn a_failed_save_keeps_the_previous_checkpoint() {
    let folder = trained();
    folder.succeeds("train c.toml --output parts --set train.max_steps=2");
    let before = weights(&folder, "parts");
    let script = format!(
        "ulimit -f 8; trap '' XFSZ; exec '{}' train c.toml --output parts --resume",
        env!("CARGO_BIN_EXE_attentive")
    );
    let limited = Command::new("bash").args(["-c", &script]).current_dir(folder.path("")).output();
    let outcome = Outcome::from(limited.unwrap());
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot write `parts/checkpoints/step-"), "{outcome:?}");
    assert!(weights(&folder, "parts") == before);
    assert_eq!(fs::read_to_string(folder.path("parts/checkpoints/last")).unwrap(), "2\n");
    folder.succeeds("train c.toml --output parts --resume");
    assert!(weights(&folder, "parts") == weights(&folder, "runs/c"));
}

#[test]
fn the_cause_of_a_nan_loss_is_reported() {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    let outcome = folder.run(
        "train c.toml --output r --set train.optimizer.learning_rate=1e30 --set train.save_every=1 --set \
         train.log_every=1",
    );
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
    for words in [
        "NaN or infinite at update 2 (loss NaN); ",
        "the first affected layer is `encoder.layers.0`; ",
        "training lines ",
        "the last good checkpoint is `r/checkpoints/step-00000001`",
        "hint: start over",
    ] {
        assert!(outcome.stderr.contains(words), "`{words}` is not in {outcome:?}");
    }
    assert!(folder.path("r/checkpoints/step-00000001/model.safetensors").is_file());
}

/// Shapes are compared before RAM is allocated, which would be 17 GB per matrix here.
#[test]
#[cfg(target_os = "linux")]
fn a_configuration_that_does_not_match_the_weights_is_refused_at_once() {
    let folder = trained();
    let path = folder.path("runs/c/config.toml");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(&path, config.replace("d_model = 16", "d_model = 65536")).unwrap();
    forget_sums(&folder, "runs/c");
    for command in ["translate runs/c src", "info runs/c", "average runs/c --last 2 --output mean"] {
        let limited = format!("ulimit -v 4000000; exec '{}' {command}", env!("CARGO_BIN_EXE_attentive"));
        let output = Command::new("bash").args(["-c", &limited]).current_dir(folder.path("")).output();
        let outcome = Outcome::from(output.unwrap());
        assert_eq!((outcome.code, &*outcome.stdout), (Some(1), ""), "{outcome:?}");
        let words = "has shape [14, 16], expected [14, 65536] by the configuration";
        assert!(outcome.stderr.contains(words), "{command}: {outcome:?}");
    }
}

#[test]
fn damaged_models_are_named_by_file() {
    let folder = trained();
    let damage = |file: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>, words: &[&str]| {
        let path = folder.path("runs/c").join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, change(whole.clone())).unwrap();
        let outcome = folder.run("translate runs/c src");
        assert!(matches!(outcome.code, Some(1 | 2)), "{file}: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{file}");
        for words in words.iter().chain(&[file]) {
            assert!(outcome.stderr.contains(words), "`{words}` is not in {outcome:?}");
        }
        fs::write(&path, whole).unwrap();
    };
    let cut = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len() / 2);
        bytes
    };
    damage("model.safetensors", &cut, &["truncated or damaged"]);
    damage("model.safetensors", &|_| Vec::new(), &["0 bytes"]);
    damage("tokenizer.json", &cut, &["error: "]);
    damage("provenance.json", &cut, &["damaged"]);
    let edit = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replacen(from, to, 1).into_bytes()
    };
    damage("config.toml", &edit("d_ff = 32", "d_ff = 'wide'"), &["model.d_ff"]);
    damage("config.toml", &edit("[model]", "[model"), &["not valid TOML"]);
}

#[test]
fn files_that_do_not_belong_together_are_named() {
    let folder = trained();
    let path = folder.path("runs/c/config.toml");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(&path, config.replacen("d_ff = 32", "d_ff = 48", 1)).unwrap();
    folder.fails("translate runs/c src", 1, &["config.toml", "SHA-256"]);
    forget_sums(&folder, "runs/c");
    folder.fails("translate runs/c src", 1, &["feed_forward.inner.weight", "[32, 16]", "[48, 16]"]);
    fs::remove_file(folder.path("runs/c/model.safetensors")).unwrap();
    folder.fails("translate runs/c src", 1, &["model.safetensors", "no such file"]);
    folder.fails("translate src src", 1, &["expected a model directory, found a file"]);
    assert!(Path::new(&folder.path("src")).exists());
}

#[test]
fn corpora_are_checked_and_skipped_lines_counted() {
    let folder = Folder::new();
    folder
        .write("c.toml", CONFIG)
        .write("a", format!("1 2\n\n3 \u{0}4\n{}\n5 6\n", "7 ".repeat(500_000)))
        .write("b", "2 1\n3\n4 3\n7\n6 5\n")
        .write("short", "2 1\n");
    let on = |src: &str, tgt: &str| {
        let files = format!("{{src='{src}',tgt='{tgt}'}}");
        format!(
            "train c.toml --force --output r --set data.train={files} --set data.valid={files} --set \
             train.max_steps=1"
        )
    };
    let outcome = folder.succeeds(&on("a", "b"));
    assert!(outcome.stderr.contains("2 of 5 lines kept"), "{outcome:?}");
    folder.fails(&on("a", "short"), 1, &["`a` has 5 lines, `short` has 1"]);
    folder.fails(&on("a", "none"), 1, &["cannot read `none`: no such file"]);
    folder.fails(&on("a", "."), 1, &["directory"]);
}
