//! `attentive tune`.

use std::fs;

use serde_json::Value;

use crate::cli_model::{stdout, trained};
use crate::run::Folder;

const TUNE: &str = "tune runs/c --src src --ref ref --beam-width 4";

/// A folder with the model `runs/c`, `src` and `ref`.
fn prepared() -> Folder {
    let folder = trained();
    folder.write("ref", "3 2 1\n7 6 5 4\n\n2 1 0 9 8\n3\n");
    folder
}

fn config(folder: &Folder) -> toml::Table {
    fs::read_to_string(folder.path("runs/c/config.toml")).unwrap().parse().unwrap()
}

#[test]
fn the_best_search_becomes_the_model_s() {
    let folder = prepared();
    let before = config(&folder);
    let shown: Value = serde_json::from_str(&stdout(&folder, &format!("{TUNE} --json --dry-run"))).unwrap();
    assert_eq!(config(&folder), before, "a dry run");
    assert!(!folder.path("runs/c/tuning.json").exists());
    let text = stdout(&folder, TUNE);
    for part in ["BLEU by length penalty, of 5 sentences", "the model's", "beam width", "gnmt", "nrefs:1"] {
        assert!(text.contains(part), "`{part}` in {text}");
    }
    let report: Value =
        serde_json::from_slice(&fs::read(folder.path("runs/c/tuning.json")).unwrap()).unwrap();
    let best = &report["searches"][report["chosen"].as_u64().unwrap() as usize];
    let same = &shown["searches"][shown["chosen"].as_u64().unwrap() as usize];
    assert_eq!(best["score"], same["score"]);
    let decode = config(&folder)["decode"].clone();
    assert_eq!(decode["beam_width"].as_integer(), best["beam_width"].as_i64());
    assert_eq!(decode["length_penalty"].as_float(), best["length_penalty"].as_f64());
    assert_eq!(decode["length_penalty_formula"].as_str(), best["length_penalty_formula"].as_str());
    assert_eq!(decode["early_stopping"].as_str(), best["early_stopping"].as_str());
    // The checksum of the configuration is the new one, and a second call finds nothing better.
    stdout(&folder, "translate runs/c src");
    let again: Value = serde_json::from_str(&stdout(&folder, &format!("{TUNE} --json --dry-run"))).unwrap();
    assert_eq!(again["searches"][0]["score"], best["score"]);
    // A run whose search was tuned goes on with it.
    folder.succeeds("train runs/c --resume --set train.max_steps=8");
    assert_eq!(config(&folder)["decode"], decode);
}

#[test]
fn few_sentences_and_beams_of_one_are_mentioned() {
    let folder = prepared();
    let outcome = folder.run(&format!("{TUNE} --dry-run"));
    assert!(outcome.stderr.contains("5 sentences are few"), "{outcome:?}");
    folder.fails("tune runs/c --src src --ref ref --beam-width 1", 2, &["`--beam-width 1`", "8 is usual"]);
    folder.fails("tune runs/c --src src --ref c.toml", 1, &["`src` has 5 lines"]);
}
