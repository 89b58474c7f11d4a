//! `kill -9` at random moments in every family: runs resume to identical bits, and the served model is always
//! whole.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::thread::sleep;
use std::time::{Duration, Instant};

use attentive::checkpoint;

use crate::cli_damage::start;
use crate::run::{Folder, for_family};

/// Environment variable with the total number of kills; larger than the default for a long test.
const KILLS: &str = "ATTENTIVE_TEST_KILLS";

/// A run that spends much of its time on saving, validation and replacing the served weights.
const CONFIG: &str = r#"
[data]
train = { builtin = "grammar", pairs = 200 }
valid = { builtin = "grammar", pairs = 10 }
max_len = 48
[tokenizer]
kind = "word"
vocabulary = "separate"
[model]
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1
max_len = 48
dropout = 0.2
tie_embeddings = "decoder"
recurrent = { d_hidden = 16 }
[train]
max_steps = 12
batch_tokens = 600
micro_batches_per_update = 2
log_every = 1
validate_every = 2
validate_sentences = 2
save_every = 3
keep_last = 2
schedule = { warmup_steps = 2 }
"#;

/// Families, and further options.
const MODELS: [(&str, &str); 7] = [
    ("transformer", ""),
    ("transformer", "--set model.decoder_mixing=ssru"),
    ("seq2seq", ""),
    ("decoder_only", ""),
    ("encoder_only", ""),
    ("tagger", ""),
    ("classifier", ""),
];

/// Maximum number of kills of one run before it may end.
const KILLS_A_RUN: usize = 4;

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Everything that must be identical after the last update, and the number of logged lines.
fn results(folder: &Folder, run: &str) -> (Vec<Vec<u8>>, usize) {
    let read = |file: &str| fs::read(folder.path(run).join(file)).unwrap();
    let files = [
        "model.safetensors",
        "provenance.json",
        "checkpoints/last",
        "checkpoints/best",
        "checkpoints/step-00000012/model.safetensors",
        "checkpoints/step-00000012/optimizer.safetensors",
        "checkpoints/step-00000012/state.json",
    ];
    let log = String::from_utf8(read("metrics.jsonl")).unwrap();
    (files.map(read).into(), log.lines().count())
}

/// Checks that the served model loads, that is, that weights and provenance belong to the same checkpoint.
fn check_served(folder: &Folder, run: &str) {
    let dir = folder.path(run);
    if dir.join("checkpoints/last").exists() && dir.join("model.safetensors").exists() {
        checkpoint::load(&dir).unwrap();
    }
}

/// Kills runs of `family` with `options` `kills` times and compares each with an undisturbed run.
fn kill(family: &str, options: &str, kills: usize) {
    let folder = Folder::new();
    let config = for_family(CONFIG, family);
    let config = match family {
        "tagger" | "classifier" => config.replace("tie_embeddings = \"decoder\"\n", ""),
        _ => config,
    };
    folder.write("c.toml", config);
    let train = |out: &str| {
        format!("train c.toml --threads 1 --set model.family={family} {options} --resume --output {out}")
    };
    let begun = Instant::now();
    let outcome = folder.run(&train("whole"));
    assert_eq!(outcome.code, Some(0), "{family}: {outcome:?}");
    let whole = begun.elapsed();
    let expected = results(&folder, "whole");

    let mut killed = 0;
    for round in 0.. {
        let run = format!("parts-{round}");
        let mut moments = Vec::new();
        for _ in 0..KILLS_A_RUN.min(kills - killed) {
            let mut child = start(&folder, &train(&run));
            let moment = Duration::from_micros(random() % whole.as_micros() as u64);
            sleep(moment);
            let is_running = child.try_wait().unwrap().is_none();
            child.kill().unwrap();
            child.wait().unwrap();
            if !is_running {
                break;
            }
            killed += 1;
            moments.push(moment);
            check_served(&folder, &run);
        }
        let outcome = folder.run(&train(&run));
        let what = format!("{family}, killed after {moments:?}");
        assert_eq!(outcome.code, Some(0), "{what}: {outcome:?}");
        assert!(results(&folder, &run) == expected, "{what}");
        fs::remove_dir_all(folder.path(run)).unwrap();
        if killed == kills {
            break;
        }
    }
}

fn kill_all_models(kills: usize) {
    for (number, (family, options)) in MODELS.iter().enumerate() {
        // The first models take the remainder.
        let share = (kills + MODELS.len() - 1 - number) / MODELS.len();
        if share > 0 {
            kill(family, options, share);
        }
    }
}

#[test]
fn killed_runs_resume_to_identical_bits() {
    let kills = std::env::var(KILLS).map_or(15, |kills| kills.parse().unwrap());
    kill_all_models(kills);
}

#[test]
#[ignore = "takes some minutes"]
fn runs_killed_two_hundred_times_resume_to_identical_bits() {
    kill_all_models(200);
}
