//! Several validation metrics, a script among them, with a best checkpoint each.

use std::fs;

use serde_json::Value;

use crate::cli_damage::weights;
use crate::cli_model::{CONFIG, stdout};
use crate::run::{Folder, Outcome};

/// Every fourth update is the best by this script: it scores a counter.
const SCRIPT: &str = "n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count; \
                      test \"$(wc -l < \"$2\")\" -eq \"$(wc -l < \"$3\")\" && echo \"scoring $1\" && echo $((n % 4))";

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    folder.write("score.sh", SCRIPT);
    folder
}

fn train(folder: &Folder, arguments: &str) -> Outcome {
    let base = "train c.toml --set train.validate_every=1 --set train.validate_sentences=4 --set \
                train.validation_script=[\"sh\",\"score.sh\"]";
    folder.run(&format!("{base} {arguments}"))
}

fn validations(folder: &Folder, run: &str) -> Vec<Value> {
    let log = fs::read_to_string(folder.path(run).join("metrics.jsonl")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == "validation").collect()
}

#[test]
fn each_metric_keeps_its_best_checkpoint() {
    let folder = prepared();
    let metrics = "--set train.keep_best_by=[\"script\",\"chrf\"] --set train.keep_last=1";
    let outcome = train(&folder, &format!("--output r {metrics}"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("best script so far"), "{outcome:?}");
    let found = validations(&folder, "r");
    let scripts: Vec<f64> = found.iter().map(|line| line["script"].as_f64().unwrap()).collect();
    assert_eq!(scripts, [1.0, 2.0, 3.0, 0.0, 1.0, 2.0]);
    assert!(found.iter().all(|line| line["chrf"]["name"] == "chrF2"), "{found:?}");
    let info: Value = serde_json::from_str(&stdout(&folder, "info r --json")).unwrap();
    let checkpoints = &info["checkpoints"];
    assert_eq!(checkpoints["best_by"]["script"], 3);
    // The metrics that are not the criterion of the run do not change what it serves.
    let best = checkpoints["best"].as_u64().unwrap();
    assert!(weights(&folder, "r") == weights(&folder, &format!("r/checkpoints/step-{best:08}")));
    assert!(stdout(&folder, "info r").contains("3 (best-script"), "{info}");
    let chosen: Value =
        serde_json::from_str(&stdout(&folder, "info r --checkpoint best-script --json")).unwrap();
    assert_eq!(chosen["provenance"]["step"], 3);
    folder.fails("info r --checkpoint best-bleu", 2, &["no best checkpoint by `bleu`", "best-script"]);

    // In two parts, to the bit.
    fs::remove_file(folder.path("count")).unwrap();
    for part in ["--set train.max_steps=4", "--resume"] {
        let outcome = train(&folder, &format!("--output parts {metrics} {part}"));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }
    assert!(weights(&folder, "r") == weights(&folder, "parts"));
    assert_eq!(info["checkpoints"], {
        let parts: Value = serde_json::from_str(&stdout(&folder, "info parts --json")).unwrap();
        parts["checkpoints"].clone()
    });

    // A metric that is not asked for any more has no checkpoint.
    let outcome = train(&folder, "--output parts --set train.keep_last=1 --resume --set train.max_steps=7");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let parts: Value = serde_json::from_str(&stdout(&folder, "info parts --json")).unwrap();
    assert!(parts["checkpoints"].get("best_by").is_none(), "{parts}");
    assert!(!folder.path("parts/checkpoints/step-00000003").exists() || best == 3);
}

#[test]
fn any_or_all_metrics_end_the_training() {
    let folder = prepared();
    // The script is best after 3 updates; the loss still falls then.
    let options = "--set train.keep_best_by=[\"script\"] --set train.patience=2";
    for (stop_on, last) in [("any", 5), ("all", 6), ("first", 6)] {
        fs::remove_file(folder.path("count")).unwrap_or_default();
        let outcome = train(&folder, &format!("--output {stop_on} {options} --set train.stop_on={stop_on}"));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let steps: Vec<Value> =
            validations(&folder, stop_on).iter().map(|line| line["step"].clone()).collect();
        assert_eq!(steps.last(), Some(&Value::from(last)), "{stop_on}: {steps:?}");
    }
}

#[test]
fn a_script_that_fails_stops_the_training_which_can_go_on() {
    let folder = prepared();
    folder.write("score.sh", "test -e fixed && echo 1 || { echo no model >&2; exit 3; }");
    let outcome = train(&folder, "--output r");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for expected in ["no model", "`train.validation_script`: `sh` failed (exit status: 3)", "resume"] {
        assert!(outcome.stderr.contains(expected), "{outcome:?}");
    }
    // The update is saved, and only its validation repeated.
    let outcome = train(&folder, "--output r --resume");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(folder.path("r/checkpoints/step-00000001").exists());
    folder.write("fixed", "");
    let outcome = train(&folder, "--output r --resume");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let steps: Vec<Value> = validations(&folder, "r").iter().map(|line| line["step"].clone()).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 6]);
    let outcome = train(&folder, "--output whole");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let losses = |run: &str| -> Vec<Value> {
        validations(&folder, run).iter().map(|line| line["loss"].clone()).collect()
    };
    assert_eq!(losses("r"), losses("whole"));
    assert!(weights(&folder, "r") == weights(&folder, "whole"));
}
