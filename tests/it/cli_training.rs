//! What training promises beside a model: the same weights on any number of threads, the memory it said, a profile.

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
    let outcome = folder.run(&format!("train c.toml --out {out} {LARGE} {more}"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome
}

#[test]
fn the_number_of_threads_changes_no_weight() {
    let folder = prepared();
    let weights = |matmul: &str, threads: &str| {
        let out = format!("{matmul}-{threads}");
        let options =
            format!("--threads {threads} --set train.max_steps=50 --set train.matmul={matmul}");
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
fn no_thread_at_all_is_refused() {
    let outcome = Folder::new().run("score --threads 0 a b");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--threads"), "{outcome:?}");
}

#[test]
fn a_budget_that_does_not_fit_is_refused_with_one_that_does() {
    let folder = prepared();
    let refused = format!("train c.toml {LARGE} --set train.max_memory_mb=70");
    let Outcome { code, stderr, .. } = folder.run(&refused);
    assert_eq!(code, Some(2), "{stderr}");
    for words in ["`train.batch_tokens`", "found 2048", "train.accumulate"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    let budget = stderr.split("at most ").nth(1).unwrap();
    let budget: usize = budget.split(',').next().unwrap().parse().unwrap();
    assert!(budget < 2048);
    let fitting = format!(
        "--set train.max_memory_mb=70 --set train.max_steps=1 --set train.batch_tokens={budget}"
    );
    train(&folder, "fits", &fitting);
    assert!(
        !folder.path("runs").exists(),
        "nothing is left of a refused run"
    );
    let hopeless = format!("train c.toml {LARGE} --set train.max_memory_mb=1");
    let Outcome { code, stderr, .. } = folder.run(&hopeless);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("weights, gradients and optimiser"),
        "{stderr}"
    );
}

/// Megabytes that the program said it would take at most.
fn predicted(stderr: &str) -> f64 {
    let words: Vec<&str> = stderr.split_whitespace().collect();
    let place = words.windows(2).position(|pair| pair == ["MB", "of"]);
    words[place.unwrap() - 1].parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn the_prediction_of_memory_holds() {
    let folder = prepared();
    for more in [
        "--set model.d_model=128 --set model.d_ff=512",
        "--set model.norm_position=pre --set model.activation=gelu",
    ] {
        let arguments = format!(
            "train c.toml --force --out m {LARGE} {more} --set train.max_steps=20 --set train.batch_tokens=8192"
        );
        let mut command = folder.command(&arguments);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0.0f64;
        // The high-water mark only rises; it vanishes when the program ends.
        while let Some(kilobytes) = high_water_mark(&status) {
            peak = peak.max(kilobytes * 1024.0 / 1e6);
            sleep(Duration::from_millis(2));
        }
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        let predicted = predicted(&outcome.stderr);
        assert!(
            peak > 0.0 && peak <= predicted,
            "{peak} MB, not {predicted}: {more}"
        );
        assert!(
            predicted <= 2.0 * peak,
            "{peak} MB, not {predicted}: {more}"
        );
    }
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
    let outcome = folder.run(&format!("train c.toml {LARGE} --profile=3"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("3 updates, "), "{outcome:?}");
    for part in [
        "linear",
        "attention",
        "projection and loss",
        "embedding",
        "optimiser",
        "data",
    ] {
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
