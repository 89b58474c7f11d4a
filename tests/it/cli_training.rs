//! Guarantees of training: the same weights on any number of threads, the predicted memory use, a profile.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::cli_model::CONFIG;
use crate::run::{Folder, Outcome};

/// Large enough for every kernel to use several threads.
const LARGE: &str = "--set model.d_model=64 --set model.d_ff=256 --set train.batch_tokens=2048 \
    --set data.train.pairs=2000 --set tokenizer.vocab_size=14 --set model.dropout=0.2 \
    --set model.attention_dropout=0.1 --set model.activation_dropout=0.1 --set train.validate_every=0";

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    folder
}

fn train(folder: &Folder, out: &str, more: &str) -> Outcome {
    folder.succeeds(&format!("train c.toml --output {out} {LARGE} {more}"))
}

#[test]
fn weights_do_not_depend_on_the_number_of_threads() {
    let folder = prepared();
    let weights = |matmul: &str, threads: &str| {
        let out = format!("{matmul}-{threads}");
        let options = format!("--threads {threads} --set train.max_steps=50 --set train.precision={matmul}");
        let outcome = train(&folder, &out, &options);
        assert!(outcome.stderr.contains(&format!("{matmul} products")));
        fs::read(folder.path(out).join("model.safetensors")).unwrap()
    };
    let [f32_one, f32_two] = ["1", "2"].map(|threads| weights("f32", threads));
    assert!(f32_one == f32_two, "f32: threads change the weights");
    let [bf16_one, bf16_two] = ["1", "2"].map(|threads| weights("bf16", threads));
    assert!(bf16_one == bf16_two, "bf16: threads change the weights");
    assert!(f32_one != bf16_one, "bf16 rounds nothing");
}

#[test]
fn zero_threads_are_refused() {
    let outcome = Folder::new().run("score --threads 0 a b");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--threads"), "{outcome:?}");
}

#[test]
fn a_budget_that_does_not_fit_is_refused_with_one_that_does() {
    let folder = prepared();
    let run = |megabytes: usize, budget: usize| {
        folder.run(&format!(
            "train c.toml --output fits --force {LARGE} --set train.max_steps=1 \
             --set train.max_memory_mb={megabytes} --set train.batch_tokens={budget}"
        ))
    };
    // The second budget is larger than the corpus.
    for (megabytes, budget) in [(98, 2048), (113, 1_000_000)] {
        let Outcome { code, stderr, .. } = run(megabytes, budget);
        assert_eq!(code, Some(2), "{stderr}");
        let found = format!("found {budget},");
        for words in ["`train.batch_tokens`", &found, "train.micro_batches_per_update"] {
            assert!(stderr.contains(words), "{words}: {stderr}");
        }
        assert!(!folder.path("fits").exists(), "a refused run leaves nothing");
        let named = stderr.split("at most ").nth(1).unwrap();
        let named: usize = named.split(',').next().unwrap().parse().unwrap();
        assert!(named < budget);
        let fitting = run(megabytes, named);
        assert_eq!(fitting.code, Some(0), "{named}: {fitting:?}");
        fs::remove_dir_all(folder.path("fits")).unwrap();
        let larger = run(megabytes, named + named / 4);
        assert_eq!(larger.code, Some(2), "{named}: {larger:?}");
    }
    let Outcome { code, stderr, .. } = run(1, 2048);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("weights, gradients, optimizer and data"), "{stderr}");
}

#[test]
fn batches_of_no_given_size_are_as_large_as_fits() {
    let folder = prepared();
    let fit = "--set train.batch_tokens=0 --set train.max_steps=4 --set train.validate_every=2";
    let batch_tokens = |out: &str| -> usize {
        let text = fs::read_to_string(folder.path(out).join("config.toml")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("batch_tokens = "));
        line.unwrap().parse().unwrap()
    };
    let outcome = train(&folder, "fits", &format!("{fit} --set train.max_memory_mb=150"));
    let found = batch_tokens("fits");
    assert!(outcome.stderr.contains(&format!("`train.batch_tokens` is {found}")), "{outcome:?}");
    // One token more is refused, if the free RAM does not change.
    let given = |tokens: usize, megabytes: usize| {
        let options = format!("--set train.max_memory_mb={megabytes} --set train.batch_tokens={tokens}");
        folder.run(&format!("train c.toml --output given {LARGE} {options} --set train.max_steps=4 --set train.validate_every=2 --force"))
    };
    let outcome = given(found + found / 10, 150);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("expected at most "), "{outcome:?}");
    // The whole corpus is one batch, if it fits, and the number stays when the run goes on.
    train(&folder, "whole", &format!("{fit} --set train.max_memory_mb=100000"));
    let whole = batch_tokens("whole");
    assert!(whole > found, "{whole} {found}");
    for part in ["--set train.max_steps=2 --set train.max_memory_mb=150", "--resume"] {
        train(&folder, "parts", &format!("{fit} {part}"));
    }
    let outcome = given(batch_tokens("parts"), 100_000);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let weights = |out: &str| fs::read(folder.path(out).join("model.safetensors")).unwrap();
    assert!(weights("parts") == weights("given"));
    let validations = |out: &str| -> Vec<String> {
        let log = fs::read_to_string(folder.path(out).join("metrics.jsonl")).unwrap();
        let losses = log.lines().filter(|line| line.contains("\"validation\""));
        losses.map(|line| line[..line.find("\"samples\"").unwrap()].to_owned()).collect()
    };
    assert_eq!(validations("parts").len(), 2);
    assert_eq!(validations("parts"), validations("given"));
}

/// The predicted peak in megabytes.
fn predicted(stderr: &str) -> f64 {
    let words: Vec<&str> = stderr.split_whitespace().collect();
    let place = words.windows(2).position(|pair| pair == ["MB", "of"]);
    words[place.unwrap() - 1].parse().unwrap()
}

/// Runs the program and checks that its peak is at most the prediction, and at least half of it.
#[cfg(target_os = "linux")]
pub(crate) fn assert_predicted(folder: &Folder, arguments: &str) {
    let mut command = folder.command(arguments);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0f64;
    // The high-water mark only rises; it vanishes when the program ends.
    while let Some(kilobytes) = high_water_mark(&status) {
        peak = peak.max(kilobytes * 1024.0 / 1e6);
        sleep(Duration::from_millis(2));
    }
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let predicted = predicted(&outcome.stderr);
    let what = format!("{peak} MB, not {predicted}: {arguments}");
    assert!(peak > 0.0 && peak <= predicted, "{what}");
    assert!(predicted <= 2.0 * peak, "{what}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_prediction_of_memory_holds() {
    let folder = prepared();
    for more in [
        "--set model.d_model=128 --set model.d_ff=512",
        "--set model.d_model=128 --set model.d_ff=512 --set train.precision=bf16",
        "--set model.norm_position=pre --set model.activation=gelu",
        "--set model.norm_position=pre --set model.positions=rotary --set model.d_model=128",
        "--set train.consistency=2.5 --set train.ema=0.001",
        "--set train.augmentation.typos=0.5",
        "--threads 6",
    ] {
        let shape = "--set train.max_steps=20 --set train.batch_tokens=8192";
        assert_predicted(&folder, &format!("train c.toml --force --output m {LARGE} {shape} {more}"));
    }
}

/// So many short sentences that they need more RAM than the model.
#[test]
#[cfg(target_os = "linux")]
fn the_prediction_of_memory_counts_the_corpus() {
    let folder = Folder::new();
    let builtin = "{ builtin = 'reverse', pairs = 200 }";
    folder
        .write("c.toml", CONFIG.replace(builtin, "{ tsv = 'pairs' }"))
        .write("pairs", "1 2 3 4\t4 3 2 1\n".repeat(400_000));
    assert_predicted(&folder, "train c.toml --set train.validate_every=0");
}

#[cfg(target_os = "linux")]
fn high_water_mark(status: &str) -> Option<f64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_profile_names_every_part_and_saves_nothing() {
    let folder = prepared();
    let outcome = folder.succeeds(&format!("train c.toml {LARGE} --profile=3"));
    assert!(outcome.stdout.starts_with("3 updates, "), "{outcome:?}");
    assert!(outcome.stderr.contains("products with"), "{outcome:?}");
    let memory = outcome.stdout.lines().last().unwrap();
    assert!(memory.starts_with("RAM: "), "{outcome:?}");
    assert!(memory.ends_with(" MB predicted"), "{outcome:?}");
    for part in ["linear", "attention", "projection and loss", "embedding", "optimizer", "data"] {
        assert!(outcome.stdout.contains(part), "{part}: {outcome:?}");
    }
    let shares = outcome.stdout.lines().filter_map(|line| {
        let (before, _) = line.split_once(" %")?;
        before.split_whitespace().last()?.parse::<f64>().ok()
    });
    let total: f64 = shares.sum();
    assert!((total - 100.0).abs() < 1.0, "{total} %: {outcome:?}");
    assert!(!folder.path("runs").exists());
}

#[test]
fn the_number_of_updates_to_profile_follows_an_equals_sign() {
    prepared().fails("train c.toml --profile 5", 2, &["'5'", "--profile=5"]);
}

#[test]
fn resuming_with_other_instructions_is_reported() {
    let folder = prepared();
    train(&folder, "m", "--set train.max_steps=2");
    let resume = |steps: u64| {
        let more = format!("--resume --set train.max_steps={steps}");
        train(&folder, "m", &more).stderr
    };
    // The checksum would otherwise reveal that the state was edited.
    let forget_checksums = |step: u64| {
        let path = folder.path(format!("m/checkpoints/step-{step:08}/provenance.json"));
        let text = fs::read_to_string(&path).unwrap();
        let mut provenance: serde_json::Value = serde_json::from_str(&text).unwrap();
        provenance.as_object_mut().unwrap().remove("sha256").unwrap();
        fs::write(&path, provenance.to_string()).unwrap();
    };
    assert!(!resume(3).contains("may differ"));
    forget_checksums(3);
    let state = folder.path("m/checkpoints/step-00000003/state.json");
    let written = fs::read_to_string(&state).unwrap();
    let mut elsewhere: serde_json::Value = serde_json::from_str(&written).unwrap();
    elsewhere["products"] = serde_json::json!({ "matmul": "bf16", "instructions": "AMX" });
    fs::write(&state, elsewhere.to_string()).unwrap();
    let stderr = resume(4);
    assert!(stderr.contains("bf16 products with AMX"), "{stderr}");
    assert!(stderr.contains("may differ"), "{stderr}");
}

#[test]
fn the_time_since_resuming_is_that_of_the_updates_since_then() {
    let folder = prepared();
    let new = train(&folder, "m", "--set train.max_steps=2").stderr;
    assert!(new.contains("note: 2 updates in "), "{new}");
    let resumed = train(&folder, "m", "--resume --set train.max_steps=5").stderr;
    let words = "note: 5 updates, 3 since resuming in ";
    assert!(resumed.contains(words), "{resumed}");
}
