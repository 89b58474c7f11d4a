//! Real text: Shakespeare's characters in `../shared/data`. Ignored by default, since it takes minutes.

use std::path::Path;

use serde_json::Value;

use crate::run::{Folder, Outcome, program};

/// The validation loss that nanoGPT's README reports for its recipe.
const NANOGPT: f64 = 1.88;

/// Other instructions round differently, so runs diverge, which changes the loss by about a hundredth.
const ROUNDING: f64 = 0.03;

#[test]
#[ignore = "needs ../shared/data/shakespeare and some minutes"]
fn the_recipe_learns_as_well_as_in_nanogpt() {
    let folder = Folder::new();
    let run = folder.path("run");
    let mut train = program();
    train
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(["train", "configs/shakespeare.toml", "--output"])
        .arg(&run);
    let outcome = Outcome::from(train.output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let log = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let records = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let validations: Vec<f64> = records
        .filter(|record: &Value| record["kind"] == "validation")
        .map(|record| record["loss"].as_f64().unwrap())
        .collect();
    println!("validation losses {validations:?}, nanoGPT {NANOGPT}");
    let last = validations.last().unwrap();
    assert!(*last <= NANOGPT + ROUNDING, "{last}, nanoGPT has {NANOGPT}");
    let sample = folder.succeeds("generate run --prompt ROMEO: --max-new-tokens 300");
    println!("{}", sample.stdout);
}
