//! A run that serves the mean of its last checkpoints.

use std::fs;

use serde_json::Value;

use crate::cli_damage::{long, signal, start, wait_for_updates, weights};
use crate::cli_model::{CONFIG, trained};
use crate::cli_runs::flip;
use crate::run::{Folder, Outcome};

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    folder
}

fn provenance(folder: &Folder, model: &str) -> Value {
    let text = fs::read_to_string(folder.path(model).join("provenance.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_end_of_a_run_serves_the_mean_of_its_last_checkpoints() {
    let folder = prepared();
    folder.succeeds("train c.toml --output best");
    let outcome = folder.succeeds("train c.toml --output r --set train.average_last=3");
    let line = "average of the checkpoints after updates 3, 4, 6: loss ";
    assert!(outcome.stderr.contains(line), "{outcome:?}");
    folder.succeeds("average r --last 3 --output mean");
    assert!(weights(&folder, "r") == weights(&folder, "mean"));
    assert!(weights(&folder, "r") != weights(&folder, "best"));
    let (served, mean) = (provenance(&folder, "r"), provenance(&folder, "mean"));
    assert_eq!(served["averaged_steps"], serde_json::json!([3, 4, 6]));
    for key in ["averaged_steps", "sha256", "step", "data"] {
        assert_eq!(served[key], mean[key], "{key}");
    }
    assert!(mean.get("scores").is_none());
    let scores = |model: &str| -> Vec<Value> {
        let scores = provenance(&folder, model)["scores"].clone();
        scores.as_array().unwrap().clone()
    };
    let (of_mean, of_best) = (scores("r"), scores("best"));
    assert_eq!(of_mean.len(), of_best.len());
    assert_ne!(of_mean[0], of_best[0]);
}

#[test]
fn going_on_with_an_averaged_run_changes_no_bit() {
    let folder = prepared();
    let mean = "--set train.average_last=2";
    folder.succeeds(&format!("train c.toml --output whole {mean}"));
    // Update 5 is saved because training stops there, and counts no more when it goes on.
    let first = format!("train c.toml --output parts {mean} --set train.max_steps=5");
    folder.succeeds(&first);
    assert_eq!(provenance(&folder, "parts")["averaged_steps"], serde_json::json!([4, 5]));
    folder.succeeds(&format!("train c.toml --output parts --resume {mean}"));
    assert_eq!(provenance(&folder, "parts"), provenance(&folder, "whole"));
    assert!(weights(&folder, "parts") == weights(&folder, "whole"));
    // The key is free to change: without it the best is served again.
    folder.succeeds("train c.toml --output whole --resume");
    folder.succeeds("train c.toml --output plain");
    assert!(weights(&folder, "whole") == weights(&folder, "plain"));
    assert_eq!(provenance(&folder, "whole"), provenance(&folder, "plain"));
}

#[test]
fn a_signal_serves_the_mean_of_what_there_is() {
    let folder = Folder::new();
    let more = "--set train.average_last=4 --set train.keep_last=4";
    folder.succeeds(&long(&folder, "whole", more));
    let child = start(&folder, &long(&folder, "parts", more));
    wait_for_updates(&folder, "parts", 9);
    signal(&child, "-INT");
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stderr.contains("average of the checkpoint"), "{outcome:?}");
    let steps = provenance(&folder, "parts")["averaged_steps"].clone();
    let count = steps.as_array().unwrap().len();
    assert!(count > 0, "{steps}");
    folder.succeeds(&format!("average parts --last {count} --output mean"));
    assert!(weights(&folder, "parts") == weights(&folder, "mean"));
    folder.succeeds(&long(&folder, "parts", &format!("--resume {more}")));
    assert!(weights(&folder, "parts") == weights(&folder, "whole"));
    assert_eq!(provenance(&folder, "parts"), provenance(&folder, "whole"));
}

#[test]
fn patience_and_epochs_end_with_the_mean_too() {
    let folder = prepared();
    for (out, limit) in [
        ("patient", "--set train.patience=1 --set train.best_by=bleu"),
        ("epochs", "--set train.max_epochs=1"),
    ] {
        let arguments = format!(
            "train c.toml --output {out} --set train.max_steps=200 --set train.average_last=2 {limit}"
        );
        let outcome = folder.succeeds(&arguments);
        assert!(!outcome.stderr.contains("200 updates in"), "{outcome:?}");
        let steps = provenance(&folder, out)["averaged_steps"].clone();
        assert_eq!(steps.as_array().unwrap().len(), 2, "{out}");
    }
}

#[test]
fn as_many_checkpoints_are_kept_as_are_averaged() {
    let folder = prepared();
    folder.fails(
        "train c.toml --set train.average_last=4",
        2,
        &["`train.keep_last`", "at least `train.average_last` = 4"],
    );
    assert!(!folder.path("runs").exists());
}

/// What lies beyond the update that a run goes on from would count as a checkpoint of the run later on.
#[test]
fn checkpoints_beyond_the_start_are_deleted() {
    let folder = trained();
    let checkpoint = |run: &str, step| folder.path(format!("{run}/checkpoints/step-{step:08}"));
    // Update 5 is saved only because training stops there; the other run saves less often when it goes on.
    for (run, stop, how) in [("stopped", 5, ""), ("seldom", 4, "--set train.save_every=6")] {
        let first = format!("train c.toml --output {run} --set train.max_steps={stop}");
        folder.succeeds(&first);
        flip(&checkpoint(run, stop).join("model.safetensors"));
        folder.succeeds(&format!("train c.toml --output {run} --resume {how}"));
        assert!(!checkpoint(run, stop).exists(), "{run}");
        let average = format!("average {run} --last 2 --output {run}-mean");
        folder.succeeds(&average);
    }
    folder.succeeds("average runs/c --last 2 --output mean");
    assert!(weights(&folder, "stopped-mean") == weights(&folder, "mean"));
    // Killed before update 6 became the last.
    folder.succeeds("train c.toml --output killed --set train.max_steps=4");
    fs::rename(checkpoint("runs/c", 6), checkpoint("killed", 6)).unwrap();
    let resume = "train c.toml --output killed --resume --set train.max_steps=5";
    let outcome = folder.succeeds(resume);
    let warning = "warning: the checkpoint of update 6 is deleted";
    assert!(outcome.stderr.contains(warning), "{outcome:?}");
    assert!(!checkpoint("killed", 6).exists());
}
