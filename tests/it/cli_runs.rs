//! Run directories: locks, checksums, and recovery from damaged checkpoints.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cli_damage::{long, signal, start, wait_for_updates, weights};
use crate::cli_model::{stdout, trained};
use crate::cli_sums::DENSE;
use crate::run::{Folder, Outcome};

/// The program with `arguments`, started by bash after `setup`.
pub(crate) fn shell(folder: &Folder, setup: &str, arguments: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_attentive");
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{setup}; exec '{program}' {arguments}")]).current_dir(folder.path(""));
    command
}

fn copy(folder: &Folder, from: &str, to: &str) {
    let status = Command::new("cp").arg("-r").args([folder.path(from), folder.path(to)]).status();
    assert!(status.unwrap().success());
}

fn succeeds(outcome: &Outcome) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

/// Changes a bit in the middle of a file.
pub(crate) fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_run_directory_has_one_writer() {
    let folder = Folder::new();
    let mut child = start(&folder, &long(&folder, "parts", ""));
    wait_for_updates(&folder, "parts", 1);
    let owner = format!("`parts` is in use: process {} on ", child.id());
    for how in ["", "--resume", "--force"] {
        folder.fails(&long(&folder, "parts", how), 2, &[&owner, "hint: wait"]);
    }
    for how in ["--force", "--resume"] {
        let outcome = folder.run(&format!("demo --task reverse --output parts {how}"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(&owner), "{outcome:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = folder.run(&long(&folder, "parts", "--resume --set train.max_steps=8"));
    succeeds(&outcome);
    assert!(!folder.path("parts/.lock").exists());
}

#[test]
fn an_average_has_one_writer() {
    let folder = trained();
    let lock = File::create(folder.path(".tmp-mean.lock")).unwrap();
    lock.lock().unwrap();
    let average = "average runs/c --last 1 --output mean";
    folder.fails(average, 2, &["`mean` is in use"]);
    drop(lock);
    succeeds(&folder.run(average));
    assert!(!folder.path(".tmp-mean.lock").exists());
}

#[test]
fn a_failed_start_leaves_no_folder() {
    let folder = Folder::new();
    let missing = "--set data.train={src='none',tgt='none'} --set data.valid={src='none',tgt='none'}";
    folder.fails(&long(&folder, "new/parts", missing), 1, &["`none`"]);
    assert!(!folder.path("new").exists());
}

/// SIGHUP is ignored under `nohup`, and must stay ignored.
#[test]
#[cfg(target_os = "linux")]
fn sighup_saves_and_stops_unless_it_is_ignored() {
    let folder = Folder::new();
    folder.write("c.toml", "");
    succeeds(&folder.run(&long(&folder, "whole", "")));
    let mask = fs::read_to_string("/proc/self/status").unwrap();
    let mask = mask.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 == 1;
    for (setup, out, code) in [(":", "parts", 129), ("trap '' HUP", "nohup", 0)] {
        if ignored && code != 0 {
            continue;
        }
        let mut command = shell(&folder, setup, &long(&folder, out, ""));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_updates(&folder, out, 3);
        signal(&child, "-HUP");
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        if code != 0 {
            assert!(outcome.stderr.contains("same command with `--resume`"), "{outcome:?}");
            succeeds(&folder.run(&long(&folder, out, "--resume")));
        }
        assert!(weights(&folder, out) == weights(&folder, "whole"), "{out}");
    }
}

/// A run is enough to go on with it: its own settings, without those that it began with.
#[test]
fn a_run_is_resumed_by_its_directory() {
    let folder = trained();
    let settings = "--set seed=7 --set train.optimizer.learning_rate=0.002";
    succeeds(&folder.run(&format!("train c.toml --output whole {settings}")));
    succeeds(&folder.run(&format!("train c.toml --output parts {settings} --set train.max_steps=4")));
    succeeds(&folder.run("train parts --resume --set train.max_steps=6"));
    assert!(weights(&folder, "parts") == weights(&folder, "whole"));
    succeeds(&folder.run("average parts --last 2 --output mean"));
    // The best checkpoint has a ring.
    succeeds(&folder.run("plot curves parts --output curves.svg"));
    let svg = fs::read_to_string(folder.path("curves.svg")).unwrap();
    assert!(svg.contains("r=\"7\" fill=\"none\""), "{svg}");
    // It has ended, and keeps its settings.
    succeeds(&folder.run("train parts --resume"));
    let config = fs::read_to_string(folder.path("parts/config.toml")).unwrap();
    assert!(config.contains("seed = 7") && config.contains("max_steps = 6"), "{config}");
    for (line, words) in [
        ("train parts", "`attentive train parts --resume` continues the run there"),
        ("train parts --resume --output other", "leave out `--output`"),
        ("train parts --resume --set seed=8", "expected 7, as when the run in `parts` began"),
        ("train parts --resume --set train.batch_tokens=9", "`model.from=\"parts\"`"),
        ("train nothing --resume", "nothing"),
        ("train parts --force", "`attentive train parts/config.toml --force --output parts`"),
        ("train mean --resume", "no checkpoints from which a run could go on"),
        ("train mean", "`model.from=\"mean\"`"),
    ] {
        let outcome = folder.run(line);
        assert!(outcome.code != Some(0) && outcome.stderr.contains(words), "{line}: {outcome:?}");
    }
}

/// The learning rate has fallen to an end, and would jump up again.
#[test]
fn a_learning_rate_that_falls_to_its_end_does_not_rise_again() {
    let folder = trained();
    let wsd = "--set train.schedule.kind=wsd --set train.schedule.cooldown_steps=2";
    succeeds(&folder.run(&format!("train c.toml --output r {wsd} --set train.max_steps=4")));
    succeeds(&folder.run("train r --resume"));
    folder.fails(
        "train r --resume --set train.max_steps=8",
        2,
        &["`train.max_steps`", "falling since update 3"],
    );
    let cooldown = "train r --resume --set train.schedule.cooldown_steps=1";
    folder.fails(cooldown, 2, &["`train.schedule.cooldown_steps`", "falling since update 3"]);
    // Before the fall, it may begin later, but not earlier.
    succeeds(&folder.run(&format!("train c.toml --output s {wsd} --set train.max_steps=6")));
    fs::remove_dir_all(folder.path("s/checkpoints/step-00000006")).unwrap();
    folder.fails("train s --resume --set train.max_steps=5", 2, &["begun to fall before update 4"]);
    succeeds(&folder.run("train s --resume --set train.max_steps=8"));
}

/// Damages the run in a directory.
type Damage = dyn Fn(&Path);

/// Ways to damage the newest checkpoint of four updates, the pointer to it, or the served provenance, and the
/// update that a resumed run then falls back to.
const DAMAGE: [(&str, Option<u64>, &Damage); 9] = [
    ("weights", Some(3), &|run| flip(&newest(run, "model.safetensors"))),
    ("optimizer", Some(3), &|run| flip(&newest(run, "optimizer.safetensors"))),
    ("state", Some(3), &|run| {
        let path = newest(run, "state.json");
        let text = fs::read_to_string(&path).unwrap();
        let changed = text.replace("\"batch\": ", "\"batch\": 1");
        assert_ne!(text, changed);
        fs::write(path, changed).unwrap();
    }),
    ("provenance", Some(3), &|run| fs::write(newest(run, "provenance.json"), "{").unwrap()),
    ("half of it", Some(3), &|run| fs::remove_file(newest(run, "optimizer.safetensors")).unwrap()),
    ("all of it", Some(3), &|run| fs::remove_dir_all(newest(run, "")).unwrap()),
    ("a pointer without a number", Some(4), &|run| {
        fs::write(run.join("checkpoints/last"), "\0\0").unwrap();
    }),
    ("no pointer", Some(4), &|run| fs::remove_file(run.join("checkpoints/last")).unwrap()),
    ("the served provenance", None, &|run| fs::write(run.join("provenance.json"), "{").unwrap()),
];

fn newest(run: &Path, file: &str) -> std::path::PathBuf {
    run.join("checkpoints/step-00000004").join(file)
}

#[test]
fn a_run_resumes_from_the_newest_whole_checkpoint() {
    let folder = trained();
    succeeds(&folder.run("train c.toml --output parts --set train.max_steps=4"));
    for (number, (what, fallback, damage)) in DAMAGE.iter().enumerate() {
        let run = format!("parts-{number}");
        copy(&folder, "parts", &run);
        damage(&folder.path(&run));
        let outcome = folder.run(&format!("train c.toml --resume --output {run}"));
        succeeds(&outcome);
        let warned = outcome.stderr.contains("warning: ");
        assert_eq!(warned, fallback.is_some(), "{what}: {outcome:?}");
        if let Some(step) = fallback {
            let words = format!("resuming from the newest intact checkpoint, of update {step}");
            assert!(outcome.stderr.contains(&words), "{what}: {outcome:?}");
        }
        for file in ["model.safetensors", "optimizer.safetensors", "state.json"] {
            let last = |run: &str| {
                let checkpoint = folder.path(run).join("checkpoints/step-00000006");
                fs::read(checkpoint.join(file)).unwrap()
            };
            assert!(last(&run) == last("runs/c"), "{what}: {file}");
        }
        assert!(weights(&folder, &run) == weights(&folder, "runs/c"), "{what}");
    }
}

#[test]
fn the_served_provenance_is_written_again() {
    let folder = trained();
    let path = folder.path("runs/c/provenance.json");
    let whole = fs::read(&path).unwrap();
    for how in ["--resume", "--force"] {
        fs::write(&path, "{").unwrap();
        succeeds(&folder.run(&format!("train c.toml {how}")));
        assert!(fs::read(&path).unwrap() == whole, "damaged, {how}");
        fs::remove_file(&path).unwrap();
        succeeds(&folder.run(&format!("train c.toml {how}")));
        assert!(fs::read(&path).unwrap() == whole, "missing, {how}");
    }
}

#[test]
fn a_run_without_a_whole_checkpoint_is_refused() {
    let folder = trained();
    for step in fs::read_dir(folder.path("runs/c/checkpoints")).unwrap() {
        let weights = step.unwrap().path().join("model.safetensors");
        if weights.exists() {
            flip(&weights);
        }
    }
    let outcome = folder.run("train c.toml --resume");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for words in ["error: ", "no checkpoint is intact", "SHA-256"] {
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
    succeeds(&folder.run("train c.toml --force"));
}

#[test]
fn a_trained_model_without_checkpoints_is_kept() {
    let folder = trained();
    let before = weights(&folder, "runs/c");
    fs::remove_dir_all(folder.path("runs/c/checkpoints")).unwrap();
    let outcome = folder.run("train c.toml --resume");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for words in ["no checkpoint to resume from", "`--output`", "`--force`"] {
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
    assert!(weights(&folder, "runs/c") == before);
    succeeds(&folder.run("train c.toml --force"));
}

#[test]
fn every_file_has_its_checksum() {
    let folder = trained();
    succeeds(&folder.run("average runs/c --last 2 --output mean"));
    let checkpoint = "runs/c/checkpoints/step-00000006";
    for (dir, files) in [
        ("runs/c", &DENSE[..]),
        ("mean", &DENSE),
        (checkpoint, &["model.safetensors", "optimizer.safetensors", "state.json"]),
    ] {
        let text = fs::read(folder.path(dir).join("provenance.json")).unwrap();
        let provenance: Value = serde_json::from_slice(&text).unwrap();
        let sums = provenance["sha256"].as_object().unwrap();
        assert_eq!(sums.len(), files.len(), "{dir}");
        for file in files {
            let hash = Sha256::digest(fs::read(folder.path(dir).join(file)).unwrap());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(sums[*file], hash.as_str(), "{dir}: {file}");
        }
    }
    flip(&folder.path("runs/c/model.safetensors"));
    let complaint = ["`runs/c/model.safetensors`", "SHA-256", "hint: "];
    folder.fails("translate runs/c src", 1, &complaint);
    // Resuming repairs it.
    succeeds(&folder.run("train c.toml --resume"));
    stdout(&folder, "translate runs/c src");
    // Earlier versions wrote no checksums.
    for dir in ["runs/c", checkpoint] {
        let path = folder.path(dir).join("provenance.json");
        let mut provenance: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        provenance.as_object_mut().unwrap().remove("sha256");
        fs::write(path, provenance.to_string()).unwrap();
    }
    stdout(&folder, "translate runs/c src");
    succeeds(&folder.run("train c.toml --resume --set train.max_steps=7"));
}

#[test]
fn files_honor_the_umask() {
    let folder = trained();
    let run = |arguments: &str| {
        let outcome = shell(&folder, "umask 022", arguments).output().unwrap();
        succeeds(&outcome.into());
    };
    run("train c.toml --output open");
    run("average open --last 1 --output open/mean");
    run("translate open src -o open/out");
    let mut folders = vec![folder.path("open")];
    let mut files = 0;
    while let Some(dir) = folders.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o777;
            if metadata.is_dir() {
                assert_eq!(mode, 0o755, "{entry:?}");
                folders.push(entry.path());
            } else {
                assert_eq!(mode, 0o644, "{entry:?}: {mode:o}");
                files += 1;
            }
        }
    }
    assert!(files > 15, "{files} files");
}

/// Reading a FIFO would wait for ever.
#[test]
fn special_files_are_refused() {
    let folder = trained();
    for file in [
        "config.toml",
        "tokenizer.json",
        "model.safetensors",
        "provenance.json",
        "metrics.jsonl",
        "checkpoints/last",
        "checkpoints/step-00000006/state.json",
    ] {
        let path = folder.path("runs/c").join(file);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let command = match file {
            "metrics.jsonl" => "plot curves runs/c --output curves.svg",
            "checkpoints/last" => "average runs/c --last 1 --output mean",
            "checkpoints/step-00000006/state.json" => "train c.toml --resume",
            _ => "translate runs/c src",
        };
        let outcome = shell(&folder, "ulimit -t 60", command).output().unwrap();
        let Outcome { code, stderr, .. } = outcome.into();
        assert!(stderr.contains("not a regular file"), "{file}: {stderr}");
        // A run has earlier checkpoints.
        let expected = if command.contains("resume") { 0 } else { 1 };
        assert_eq!(code, Some(expected), "{file}: {stderr}");
        if path.exists() {
            let _ = fs::remove_file(&path);
        }
        fs::write(&path, content).unwrap();
    }
}

#[test]
fn a_model_without_provenance_is_named() {
    let folder = trained();
    fs::remove_file(folder.path("runs/c/provenance.json")).unwrap();
    let complaint = ["`runs/c/provenance.json`: no such file", "hint: copy the whole model directory again"];
    folder.fails("translate runs/c src", 1, &complaint);
}

#[test]
fn numbers_out_of_range_are_refused_or_capped() {
    let folder = trained();
    let complaint = ["`decode.beam_width`", "at most 1000, found 100000"];
    folder.fails("train c.toml --output r --set decode.beam_width=100000", 2, &complaint);
    let complaint = ["`--beam-width`", "at most 1000, found 100000"];
    folder.fails("translate runs/c src --beam-width 100000", 2, &complaint);
    let complaint = ["`--length-penalty`: expected a number, 0 or more, found -5"];
    folder.fails("translate runs/c src --length-penalty -5", 2, &complaint);
    let outcome = folder.run("score src src --threads 100000");
    succeeds(&outcome);
    assert!(outcome.stderr.starts_with("warning: `--threads 100000`: using "), "{outcome:?}");
}
