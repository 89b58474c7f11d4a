//! Real text: Multi30k in `../shared/data`. Ignored by default, since it takes minutes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::{Folder, Outcome, program};

/// Label-smoothed training loss per target token of PyTorch with the recipe of
/// `tests/fixtures/multi30k-pytorch.toml`, averaged over the 100 updates up to the one named.
const PYTORCH: [(u64, f64); 3] = [(100, 8.74), (200, 7.07), (300, 6.68)];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data(name: &str) -> PathBuf {
    repository().join("../shared/data/multi30k").join(name)
}

fn translate(folder: &Folder, input: &str, batch_size: usize) -> Vec<String> {
    let outcome = folder.succeeds(&format!("translate run {input} --batch-size {batch_size} --beam-width 4"));
    outcome.stdout.lines().map(str::to_owned).collect()
}

/// Trains for 300 updates into `run`.
fn train(run: &Path) {
    let mut train = program();
    train
        .current_dir(repository())
        .args(["train", "tests/fixtures/multi30k-pytorch.toml", "--output"])
        .arg(run);
    for setting in ["train.max_steps=300", "train.log_every=1", "train.validate_every=0"] {
        train.args(["--set", setting]);
    }
    let outcome = Outcome::from(train.output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

/// Trains for 300 updates, compares the loss with PyTorch's, then translates in batches of different sizes.
#[test]
#[ignore = "needs ../shared/data/multi30k and some ten minutes"]
fn the_loss_matches_pytorch_and_translations_do_not_depend_on_batches() {
    let folder = Folder::new();
    let run = folder.path("run");
    train(&run);
    let log = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let updates: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (last, expected) in PYTORCH {
        let window = &updates[last as usize - 100..last as usize];
        assert_eq!(window[99]["step"], last);
        let mean = window.iter().map(|update| update["loss"].as_f64().unwrap()).sum::<f64>() / 100.0;
        println!("updates {}-{last}: loss {mean:.3}, PyTorch {expected}", last - 99);
        assert!((mean - expected).abs() <= 0.2, "update {last}: loss {mean}, PyTorch has {expected}");
    }

    let text = fs::read_to_string(data("test_2016_flickr.en")).unwrap();
    let lines: Vec<&str> = text.lines().take(200).collect();
    let shuffled: Vec<usize> = (0..200).map(|index| index * 77 % 200).collect();
    let other: Vec<&str> = shuffled.iter().map(|&line| lines[line]).collect();
    folder.write("lines", lines.join("\n") + "\n").write("shuffled", other.join("\n") + "\n");
    let alone = translate(&folder, "lines", 1);
    assert_eq!(alone.len(), 200);
    for batch_size in [7, 64] {
        assert!(translate(&folder, "lines", batch_size) == alone, "batches of {batch_size}");
    }
    let expected: Vec<String> = shuffled.iter().map(|&line| alone[line].clone()).collect();
    assert!(translate(&folder, "shuffled", 64) == expected, "shuffled");

    let (src, reference) = (data("test_2016_flickr.en"), data("test_2016_flickr.de"));
    let arguments =
        format!("evaluate run --beam-width 1 --src {} --ref {}", src.display(), reference.display());
    let outcome = folder.succeeds(&arguments);
    let signature = "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:attentive-";
    assert!(outcome.stdout.contains(signature), "{outcome:?}");
    println!("{}", outcome.stdout);
}
