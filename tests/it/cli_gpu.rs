//! Training on GPUs. A driver that computes in software, such as Mesa's lavapipe, is enough.
//!
//! Without a GPU, the tests are skipped with a message, unless `ATTENTIVE_GPU_TESTS` is `required`.

use std::fs;

use serde_json::Value;

use crate::cli_damage::{start, wait_for_updates};
use crate::cli_training::assert_predicted;
use crate::run::{Folder, Outcome, for_family};

/// A run in which everything is random that can be: dropout in all places, and the order of batches. Tiny,
/// since the GPU is usually one in software; `bench/gpu.py` has a larger one for real GPUs.
const CONFIG: &str = "
[data]
train = { builtin = 'grammar', pairs = 300 }
valid = { builtin = 'grammar', pairs = 20 }
[tokenizer]
kind = 'word'
vocabulary = 'separate'
[model]
d_model = 32
d_ff = 64
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1
dropout = 0.1
recurrent = { cell = 'lstm', d_hidden = 32 }
[train]
max_steps = 10
precision = 'f32'
batch_tokens = 256
micro_batches_per_update = 2
clip_norm = 1.0
log_every = 3
validate_every = 5
validate_sentences = 4
save_every = 2
schedule = { warmup_steps = 4 }
[decode]
beam_width = 2
";

const FAMILIES: [&str; 6] =
    ["transformer", "decoder_only", "encoder_only", "classifier", "tagger", "seq2seq"];
/// Twenty texts to translate.
const TEXTS: &str = "\
the old teacher gives the children a book .\n\
we sing slowly in front of the schools .\n\
a dog sees the cat .\n\
the women read a letter .\n\
he buys two apples .\n\
the small child sleeps .\n\
they do not work today .\n\
she gives him the red flower .\n\
I see a house .\n\
the boys run to the river .\n\
book the old teacher gives the children a book\n\
schools we sing slowly in front of the schools\n\
cat a dog sees the cat\n\
letter the women read a letter\n\
apples he buys two apples\n\
sleeps the small child sleeps\n\
today they do not work today\n\
flower she gives him the red flower\n\
house I see a house\n\
river the boys run to the river\n\
";
/// Those that translate.
const TRANSLATORS: [&str; 2] = ["transformer", "seq2seq"];

/// What `attentive devices` says about the first GPU, or null.
fn gpu() -> Value {
    let outcome = Folder::new().run("devices --json");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let devices: Value = serde_json::from_str(&outcome.stdout).unwrap();
    devices["gpus"][0].clone()
}

/// Whether there is a GPU.
pub(crate) fn has_gpu() -> bool {
    let found = !gpu().is_null();
    let required = std::env::var("ATTENTIVE_GPU_TESTS").is_ok_and(|it| it == "required");
    assert!(found || !required, "there is no GPU");
    if !found {
        eprintln!("skipped: there is no GPU, and no driver that stands in for one");
    }
    found
}

fn prepared(family: &str) -> Folder {
    let folder = Folder::new();
    let family_line = format!("[model]\nfamily = '{family}'");
    let config = for_family(CONFIG, family).replace("[model]", &family_line);
    let config = match family {
        "tagger" | "classifier" => config,
        _ => config.replace("dropout = 0.1", "dropout = 0.1\ntie_embeddings = 'decoder'"),
    };
    folder.write("c.toml", config);
    folder
}

fn train(folder: &Folder, options: &str) -> Outcome {
    folder.succeeds(&format!("train c.toml {options}"))
}

/// The losses of all updates and validations, in the order of the log.
fn losses(folder: &Folder, run: &str) -> Vec<f64> {
    let log = fs::read_to_string(folder.path(run).join("metrics.jsonl")).unwrap();
    let loss = |line: &str| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64();
    log.lines().map(|line| loss(line).unwrap()).collect()
}

/// What must be equal to the bit after the last update.
fn results(folder: &Folder, run: &str) -> Vec<Vec<u8>> {
    let files = ["model.safetensors", "optimizer.safetensors", "state.json"];
    let last = folder.path(run).join("checkpoints/step-00000010");
    files.map(|file| fs::read(last.join(file)).unwrap()).into()
}

#[test]
fn a_gpu_learns_what_a_cpu_learns() {
    if !has_gpu() {
        return;
    }
    for family in FAMILIES {
        let folder = prepared(family);
        train(&folder, "--output cpu");
        let outcome = train(&folder, "--output gpu --device gpu:0");
        let adapter = gpu();
        let name = adapter["name"].as_str().unwrap();
        let named = format!("f32 products with {name}");
        assert!(outcome.stderr.contains(&named), "{outcome:?}");
        let warning = format!("warning: {name}");
        let is_software = adapter["kind"] == "software";
        assert_eq!(outcome.stderr.contains(&warning), is_software, "{outcome:?}");

        let (cpu, gpu) = (losses(&folder, "cpu"), losses(&folder, "gpu"));
        assert_eq!((cpu.len(), gpu.len()), (6, 6), "{family}");
        for (cpu, gpu) in cpu.iter().zip(&gpu) {
            assert!((cpu - gpu).abs() < 1e-3, "{family}: {gpu}, not {cpu}");
        }

        // The CPU reads what the GPU has written.
        if TRANSLATORS.contains(&family) {
            folder.write("texts", TEXTS);
            let [cpu, gpu] = ["cpu", "gpu"].map(|run| {
                let outcome = folder.succeeds(&format!("translate {run} texts"));
                outcome.stdout
            });
            assert_eq!((cpu.lines().count(), &gpu), (20, &cpu), "{family}");
        }

        // A run goes on on another device, and says what this means.
        let outcome = train(&folder, "--output gpu --resume --set train.max_steps=11");
        assert!(outcome.stderr.contains("in the last bits"), "{outcome:?}");
        assert!(outcome.stderr.contains(name), "{outcome:?}");
    }
}

#[test]
fn a_killed_run_resumes_to_identical_bits_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    for family in FAMILIES {
        let folder = prepared(family);
        train(&folder, "--output whole --device gpu");
        let mut child = start(&folder, "train c.toml --output parts --device gpu");
        wait_for_updates(&folder, "parts", 1);
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "it had ended");
        let outcome = train(&folder, "--output parts --device gpu --resume");
        assert!(!outcome.stderr.contains("in the last bits"), "{outcome:?}");
        assert_eq!(losses(&folder, "parts"), losses(&folder, "whole"), "{family}");
        let same = results(&folder, "parts") == results(&folder, "whole");
        assert!(same, "{family}: the bits differ");
    }
}

/// A NaN is noticed when losses are read, and at the latest before a checkpoint is written.
#[test]
fn no_checkpoint_holds_a_nan_of_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = prepared("transformer");
    let options = "--output run --device gpu --set train.log_every=50 --set train.validate_every=0 --set \
                   train.save_every=4 --set train.optimizer.kind=sgd --set \
                   train.optimizer.learning_rate=1e30 --set train.clip_norm=0";
    let outcome = folder.run(&format!("train c.toml {options}"));
    assert_ne!(outcome.code, Some(0), "{outcome:?}");
    let updates: Vec<u64> = (1..=4).collect();
    let named = |step: &u64| outcome.stderr.contains(&format!("update {step}"));
    assert!(updates.iter().any(named), "{outcome:?}");
    let saved = fs::read_dir(folder.path("run").join("checkpoints"));
    let saved = saved.map_or(0, |saved| saved.count());
    assert_eq!(saved, 0, "{outcome:?}");
}

#[test]
fn threads_change_nothing_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = prepared("transformer");
    for threads in ["1", "2"] {
        train(&folder, &format!("--output {threads} --device gpu --threads {threads}"));
    }
    assert!(results(&folder, "1") == results(&folder, "2"));
}

/// If a GPU computes in RAM, as lavapipe does; memory of its own is not measured.
#[test]
#[cfg(target_os = "linux")]
fn the_prediction_of_memory_holds_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = prepared("transformer");
    if !["software", "integrated"].contains(&gpu()["kind"].as_str().unwrap()) {
        return;
    }
    for more in [
        "--set train.batch_tokens=2000",
        "--set model.d_model=256 --set model.d_ff=1024 --set model.n_encoder_layers=3 --set \
         train.batch_tokens=128",
    ] {
        let options = "--force --device gpu --set train.max_steps=2 --set train.validate_every=2";
        assert_predicted(&folder, &format!("train c.toml {options} {more}"));
    }
}

#[test]
fn a_profile_names_the_operations_of_a_gpu() {
    if !has_gpu() {
        return;
    }
    let outcome = prepared("transformer").run("train c.toml --profile=2 --device gpu");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("linear"), "{outcome:?}");
}

#[test]
fn training_and_translation_on_a_gpu_are_measured() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new();
    let outcome = folder.succeeds("bench --device gpu --model tiny --quick --steps 2 --json");
    assert!(outcome.stderr.contains("speeds of so little work"), "{outcome:?}");
    let found = outcome.stdout.lines();
    let found: Vec<Value> = found.map(|line| serde_json::from_str(line).unwrap()).collect();
    let [training, translation @ ..] = &found[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(training["seconds"].as_array().unwrap().len(), 2);
    assert_eq!(training["tokens"], 16);
    let settings = translation.iter().map(|one| {
        let number = |key: &str| one[key].as_u64().unwrap();
        (one["precision"].as_str().unwrap(), number("batch"), number("beam"))
    });
    let of = |precision| [(4, 1), (4, 5), (1, 1), (1, 5)].map(|(batch, beam)| (precision, batch, beam));
    let expected = ["f32", "bf16"].into_iter().flat_map(of);
    assert_eq!(Vec::from_iter(settings), Vec::from_iter(expected));
    for one in translation {
        assert!(one["gpu"].is_string() && one["bound"].is_null(), "{one}");
        assert_eq!(one["tokens"].as_u64(), one["sentences"].as_u64().map(|n| 4 * n), "{one}");
    }
}

#[test]
fn gpus_that_do_not_exist_are_refused() {
    let folder = prepared("transformer");
    let (found, hint) = if has_gpu() {
        ("there is no GPU with the number 99", "attentive devices")
    } else {
        ("no GPU was found", "install a driver")
    };
    folder.fails("train c.toml --device gpu:99", 2, &[found, hint]);
    assert!(!folder.path("runs").exists());
    folder.fails(
        "train c.toml --device gpu --set train.precision=bf16",
        2,
        &["config key `train.precision`: expected `f32` or `auto`", "GPUs compute in `f32`"],
    );
    folder.fails("train c.toml --device cuda:1", 2, &["`gpu:N` with the number of a GPU"]);
}

#[test]
fn devices_are_listed() {
    let outcome = Folder::new().run("devices");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("cpu    "), "{outcome:?}");
    if has_gpu() {
        assert!(outcome.stdout.contains("\ngpu:0  "), "{outcome:?}")
    } else {
        assert!(outcome.stderr.contains("docs/gpu.md"), "{outcome:?}")
    }
}
