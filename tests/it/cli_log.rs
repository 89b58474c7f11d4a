//! The log of training.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::cli_model::CONFIG;
use crate::run::{Folder, Outcome};

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    folder
}

fn train(folder: &Folder, arguments: &str) -> Outcome {
    folder.succeeds(&format!("train c.toml {arguments}"))
}

/// The logged updates of a run.
fn updates(folder: &Folder, run: &str) -> Vec<Value> {
    let log = fs::read_to_string(folder.path(run).join("metrics.jsonl")).unwrap();
    let entries = log.lines().map(|line| serde_json::from_str(line).unwrap());
    entries.filter(|entry: &Value| entry["kind"] == "step").collect()
}

fn number(entry: &Value, key: &str) -> f64 {
    entry[key].as_f64().unwrap_or_else(|| panic!("no `{key}` in {entry}"))
}

#[test]
fn a_line_is_the_mean_over_the_updates_since_the_last_one() {
    let folder = prepared();
    train(&folder, "--output each --set train.log_every=1");
    train(&folder, "--output some --set train.log_every=3");
    let (each, some) = (updates(&folder, "each"), updates(&folder, "some"));
    let steps: Vec<f64> = some.iter().map(|entry| number(entry, "step")).collect();
    assert_eq!((each.len(), steps), (6, vec![1.0, 3.0, 6.0]));
    for (mean, covered) in some.iter().zip([0..1, 1..3, 3..6]) {
        let covered = &each[covered];
        let sum = |key: &str| covered.iter().map(|entry| number(entry, key)).sum::<f64>();
        assert_eq!(number(mean, "updates"), covered.len() as f64);
        assert_eq!(number(mean, "tgt_tokens"), sum("tgt_tokens"));
        let close = |key: &str, expected: f64| {
            let found = number(mean, key);
            assert!((found - expected).abs() < 1e-9, "{key}: {found}, {expected}");
        };
        for key in ["loss", "nll", "accuracy"] {
            let weighted = covered.iter().map(|entry| number(entry, key) * number(entry, "tgt_tokens"));
            close(key, weighted.sum::<f64>() / sum("tgt_tokens"));
        }
        close("perplexity", number(mean, "nll").exp());
        close("gradient_norm", sum("gradient_norm") / covered.len() as f64);
        let last = covered.last().unwrap();
        assert_eq!(mean["learning_rate"], last["learning_rate"]);
        assert!(number(mean, "tokens_per_second") > 0.0);
    }
    // A plain mean is another one.
    assert_ne!(each[1]["tgt_tokens"], each[2]["tgt_tokens"]);
}

#[test]
fn a_resumed_run_logs_the_same_means() {
    let folder = prepared();
    train(&folder, "--output whole --set train.log_every=3");
    let parts = "--output parts --set train.log_every=3";
    train(&folder, &format!("{parts} --set train.max_steps=4"));
    train(&folder, &format!("{parts} --resume"));
    let without_speed = |run: &str| {
        let mut entries = updates(&folder, run);
        for entry in &mut entries {
            entry.as_object_mut().unwrap().remove("tokens_per_second");
        }
        entries
    };
    assert_eq!(without_speed("parts"), without_speed("whole"));
    folder.run("plot curves parts --output curves.svg");
    assert!(folder.path("curves.svg").exists());
}

/// The event files of a run, in the order of their names.
fn event_files(folder: &Folder, run: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path(run).join("tensorboard")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// `scripts/tensorboard_events.py` reads such files with TensorBoard.
#[test]
fn event_files_are_written_on_demand_and_continued_by_new_ones() {
    let folder = prepared();
    train(&folder, "--output plain");
    assert!(!folder.path("plain/tensorboard").exists());
    let events = "--output run --set train.tensorboard=true";
    train(&folder, &format!("{events} --set train.max_steps=4"));
    let first = event_files(&folder, "run");
    assert_eq!(first.len(), 1);
    let before = fs::read(&first[0]).unwrap();
    let has = |bytes: &[u8], name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    for name in ["brain.Event:2", "train/loss", "train/learning_rate", "validation/bleu"] {
        assert!(has(&before, name), "{name}");
    }
    train(&folder, &format!("{events} --resume"));
    let both = event_files(&folder, "run");
    assert_eq!((both.len(), &both[0]), (2, &first[0]));
    assert!(fs::read(&both[0]).unwrap() == before);
    assert!(has(&fs::read(&both[1]).unwrap(), "validation/loss"));
    // They belong to the run.
    train(&folder, &format!("{events} --force"));
    assert_eq!(event_files(&folder, "run").len(), 1);
}
