//! Checkpoints of a run as models.

use std::fs;

use serde_json::{Value, json};

use crate::cli_damage::weights;
use crate::cli_model::{stdout, trained};
use crate::run::Folder;

fn info(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&stdout(folder, &format!("info {arguments} --json"))).unwrap()
}

fn folder_of(step: u64) -> String {
    format!("runs/c/checkpoints/step-{step:08}")
}

#[test]
fn a_checkpoint_is_chosen_by_its_update_its_role_or_its_folder() {
    let folder = trained();
    let checkpoints = info(&folder, "runs/c")["checkpoints"].clone();
    assert_eq!(checkpoints["steps"], json!([2, 3, 4, 6]));
    assert_eq!(checkpoints["last"], 6);
    let best = checkpoints["best"].as_u64().unwrap();
    let lines = stdout(&folder, "info runs/c");
    assert!(lines.contains("checkpoints of updates"), "{lines}");
    assert!(lines.contains("2, 3"), "{lines}");
    for step in [2, 3, 4, 6] {
        let chosen = info(&folder, &format!("runs/c --checkpoint {step}"));
        assert_eq!(chosen["provenance"]["step"], step);
        assert_eq!(chosen, info(&folder, &folder_of(step)));
        assert!(chosen.get("checkpoints").is_none());
    }
    let step_of = |which: &str| {
        let chosen = info(&folder, &format!("runs/c --checkpoint {which}"));
        chosen["provenance"]["step"].as_u64()
    };
    assert_eq!(step_of("last"), Some(6));
    assert_eq!(step_of("best"), Some(best));
}

#[test]
fn commands_use_the_chosen_weights() {
    let folder = trained();
    folder.write("tgt", "3 2 1\n7 6 5 4\n\n2 1 0 9 8\n3\n");
    for command in [
        "translate MODEL src --scores",
        "rescore MODEL --src src --tgt tgt",
        "evaluate MODEL --src src --ref tgt --json --output out",
    ] {
        let of = |model: &str| {
            let text = stdout(&folder, &command.replace("MODEL", model));
            // The time differs.
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.retain(|line| !line.contains("\"seconds\""));
            lines
        };
        let chosen = of("runs/c --checkpoint 2");
        assert_eq!(chosen, of(&folder_of(2)), "{command}");
        assert_eq!(of("runs/c"), of("runs/c --checkpoint best"), "{command}");
        assert_ne!(chosen, of("runs/c"), "{command}");
    }
    stdout(&folder, "explain runs/c --checkpoint 2 1 --output page.html");
    stdout(&folder, "compare runs/c runs/c/checkpoints/step-00000002 --src src --ref tgt");
    let own = "average runs/c --checkpoint 2 --output two";
    assert_eq!(stdout(&folder, own), "");
    assert!(weights(&folder, "two") == weights(&folder, &folder_of(2)));
    stdout(&folder, "average runs/c --checkpoint best,3,2 --output mean");
    let averaged = info(&folder, "mean")["provenance"]["averaged_steps"].clone();
    assert_eq!(averaged.as_array().unwrap().len(), 3);
}

/// The folder may be named through a link, or from within.
#[cfg(unix)]
#[test]
fn the_run_of_a_checkpoint_is_found_from_anywhere() {
    let folder = trained();
    std::os::unix::fs::symlink(folder.path(folder_of(4)), folder.path("four")).unwrap();
    let linked = info(&folder, "four");
    assert_eq!(linked["provenance"]["step"], 4);
    let within = |dir: &str, model: &str| {
        let output =
            folder.command(&format!("info {model} --json")).current_dir(folder.path(dir)).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(within(&folder_of(4), "."), linked);
    assert_eq!(within("runs/c", "checkpoints/step-00000004"), linked);
}

#[test]
fn training_may_start_from_a_checkpoint() {
    let folder = trained();
    folder.succeeds(
        "train c.toml --output next --set model.from=runs/c/checkpoints/step-00000002 --set \
         train.max_steps=1",
    );
    let first = info(&folder, "next/checkpoints/step-00000000");
    let hash = |info: &Value| info["provenance"]["sha256"]["model.safetensors"].clone();
    assert_eq!(hash(&first), hash(&info(&folder, &folder_of(2))));
}

#[test]
fn a_missing_checkpoint_is_an_error_that_lists_the_others() {
    let folder = trained();
    folder.fails(
        "translate runs/c src --checkpoint 5",
        2,
        &["`runs/c` has no checkpoint of update 5: it has checkpoints of updates 2, 3", "last)"],
    );
    folder.fails(
        "info runs/c --checkpoint newest",
        2,
        &["expected the number of an update, `last`, `best`, or `best-` and a metric"],
    );
    folder.fails("info runs/d --checkpoint 2", 1, &["runs/d"]);
    folder.fails("average runs/c --checkpoint 2,2 --output mean", 2, &["update 2 is chosen twice"]);
    folder.fails(
        &format!("average {} --output mean", folder_of(2)),
        2,
        &["is a checkpoint itself", "its run"],
    );
    stdout(&folder, "average runs/c --last 2 --output mean");
    folder.fails("info mean --checkpoint last", 2, &["`mean` has no checkpoints"]);
    fs::remove_file(folder.path("runs/c/checkpoints/best")).unwrap();
    folder.fails("info runs/c --checkpoint best", 2, &["no best checkpoint", "6 (last)"]);
    // A damaged checkpoint is refused like any other model.
    let path = folder.path(folder_of(3)).join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    folder.fails("translate runs/c src --checkpoint 3", 1, &["SHA-256"]);
}
