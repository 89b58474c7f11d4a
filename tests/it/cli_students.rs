//! Models that are trained for Marian and Firefox, and exported.

use std::fs;

use serde_json::Value;

use crate::run::Folder;

const STUDENT: &str = "
[data]
train = { src = 'train.en', tgt = 'train.de' }
valid = { src = 'val.en', tgt = 'val.de' }
[tokenizer]
kind = 'unigram'
vocab_size = 91
min_frequency = 1
[model]
d_model = 64
d_ff = 64
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1
decoder_mixing = 'ssru'
positions = 'sinusoidal_tensor2tensor'
norm_epsilon = 1e-6
output_bias = true
zero_start_embedding = true
[train]
max_steps = 40
batch_tokens = 300
validate_every = 20
validate_sentences = 5
save_every = 20
optimizer = { learning_rate = 0.003 }
schedule = { warmup_steps = 10 }
[decode]
beam_width = 1
max_new_factor = 2.0
max_new_extra = 0
";

/// Sentences of a few words, each of which has a translation.
fn sentences(words: [&str; 8]) -> String {
    let line = |number: usize| {
        let words: Vec<&str> = (0..2 + number % 4).map(|place| words[(number * 7 + place * 3) % 8]).collect();
        words.join(" ") + "\n"
    };
    (0..80).map(line).collect()
}

fn folder() -> Folder {
    let folder = Folder::new();
    let english = sentences(["dog", "cat", "house", "runs", "sees", "small", "the", "a"]);
    let german = sentences(["Hund", "Katze", "Haus", "rennt", "sieht", "klein", "das", "ein"]);
    for name in ["train", "val"] {
        folder.write(&format!("{name}.en"), &english).write(&format!("{name}.de"), &german);
    }
    folder.write("c.toml", STUDENT);
    folder
}

fn succeeds(folder: &Folder, arguments: &str) -> String {
    let outcome = folder.run(arguments);
    assert_eq!(outcome.code, Some(0), "{arguments}: {outcome:?}");
    outcome.stdout + &outcome.stderr
}

/// The translations of the validation set.
fn translated(folder: &Folder, model: &str) -> String {
    succeeds(folder, &format!("translate {model} val.en"))
}

const TO_FIREFOX: &str =
    "--to firefox --languages en-de --calibrate val.en --ref val.de --shortlist train.en train.de";

#[test]
fn a_student_is_exported_also_after_fine_tuning() {
    let folder = folder();
    let said = succeeds(&folder, "train c.toml --output student");
    assert!(said.contains("note: the model can be exported as Marian and as Firefox\n"), "{said}");
    let tuned = "[data]\ntrain = { src = 'val.en', tgt = 'val.de' }\n[model]\nfrom = 'student'\n[train]\nmax_steps = \
                 10\nbatch_tokens = 300\nvalidate_every = 0\n";
    folder.write("tune.toml", tuned);
    let said = succeeds(&folder, "train tune.toml --output tuned");
    assert!(said.contains("note: the model can be exported as Marian and as Firefox\n"), "{said}");
    for model in ["student", "tuned"] {
        let info: Value = serde_json::from_str(&folder.run(&format!("info {model} --json")).stdout).unwrap();
        let kinds: Vec<&Value> =
            info["export"].as_array().unwrap().iter().map(|export| &export["kind"]).collect();
        assert_eq!(kinds[1..], ["Marian", "Firefox"], "{info}");
        succeeds(&folder, &format!("export {model} --to marian --output {model}-marian"));
        succeeds(&folder, &format!("import {model}-marian --output {model}-back"));
        assert_eq!(translated(&folder, model), translated(&folder, &format!("{model}-back")));
    }
}

#[test]
fn a_model_for_firefox_has_all_its_files() {
    for (name, changes) in
        [("joint", ""), ("split", "--set tokenizer.vocabulary=separate --set model.tie_embeddings=decoder")]
    {
        let folder = folder();
        succeeds(&folder, &format!("train c.toml --output {name} {changes}"));
        let said = succeeds(&folder, &format!("export {name} {TO_FIREFOX} --output out"));
        assert!(said.contains("of 80 greedy translations; BLEU "), "{said}");
        let mut files: Vec<String> = fs::read_dir(folder.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let vocabularies: &[&str] = match name {
            "joint" => &["vocab.ende.spm"],
            _ => &["srcvocab.ende.spm", "trgvocab.ende.spm"],
        };
        let others = [
            "config.intgemm8bitalpha.yml",
            "lex.50.50.ende.s2t.bin",
            "metadata.json",
            "model.ende.intgemm.alphas.bin",
            "model_info.json",
        ];
        let mut expected: Vec<&str> = vocabularies.iter().copied().chain(others).collect();
        expected.sort_unstable();
        assert_eq!(files, expected);
        succeeds(&folder, "import out --output back");
        let (before, after) = (translated(&folder, name), translated(&folder, "back"));
        let same = before.lines().zip(after.lines()).filter(|(one, other)| one == other).count();
        assert!(same >= 60, "{name}: only {same} of 80 lines are the same with rounded weights");
    }
}

#[test]
fn what_a_model_for_firefox_lacks_is_named() {
    let folder = folder();
    succeeds(&folder, "train c.toml --output student --set train.max_steps=1");
    for (options, expected) in [
        ("--to firefox", "named by its languages"),
        ("--to firefox --languages english", "`english` is no pair of languages"),
        ("--to firefox --languages en-de", "there are none"),
        ("--to firefox --languages en-de --calibrate val.en", "this model has none"),
        ("--to marian --languages en-de", "`--languages` has no effect on a model for Marian"),
        ("--to hf --calibrate val.en", "`--calibrate` has no effect"),
    ] {
        folder.fails(&format!("export student {options} --output out"), 2, &[expected]);
        assert!(!folder.path("out").exists());
    }
    // Before anything is computed, and before other mistakes.
    folder.fails("export student --to firefox --output student", 2, &["`student` already exists"]);
    for (weights, expected) in [
        ("1", "1 weight for 2 models"),
        ("0.5,-1", "the weight -1 of a model"),
        ("nan,1", "the weight NaN of a model"),
        ("0.5,1e300", "of a model"),
        ("0,0", "no model has a weight"),
    ] {
        let ensemble = format!("translate student val.en --with student --log-weights={weights}");
        folder.fails(&ensemble, 2, &[expected]);
    }
    for (changes, expected) in [
        ("tokenizer.kind=bpe", "it merges by `bpe`"),
        ("model.decoder_mixing=attention", "`model.decoder_mixing` is not `ssru`"),
        ("model.d_ff=40", "a multiple of 64"),
        ("model.zero_start_embedding=false", "`model.zero_start_embedding` is false"),
    ] {
        succeeds(
            &folder,
            &format!("train c.toml --force --output other --set train.max_steps=1 --set {changes}"),
        );
        folder.fails(&format!("export other {TO_FIREFOX} --output out"), 2, &[expected]);
    }
}

const DISTILLATION: &str = "
licences = ['CC0']
[teacher]
models = ['teacher']
choice = 'best'
candidates = 3
[text]
parallel = { src = 'train.en', tgt = 'train.de' }
[filter]
without = ['duplicate']
drop_worst = 0.1
[student]
config = 'c.toml'
set = ['train.max_steps=4', 'train.validate_every=0']
undistilled = true
[test]
src = 'val.en'
tgt = 'val.de'
[firefox]
languages = ['en', 'de']
calibrate = { src = 'val.en', tgt = 'val.de' }
";

/// The student learns from translations that the teacher chose in each way, and is exported with its origin.
#[test]
fn a_student_is_distilled_for_firefox() {
    let folder = folder();
    succeeds(&folder, "train c.toml --output teacher");
    let distill = |plan: &str| {
        folder.write("plan.toml", plan);
        succeeds(&folder, "distill plan.toml --output out")
    };
    let said = distill(DISTILLATION);
    assert!(said.contains("stage `firefox` begins"), "{said}");
    // The validation set, which is the training set, is the test set, too.
    assert!(
        said.contains("different sentences of `val.en` are among those that the student learns from"),
        "{said}"
    );
    let best = fs::read_to_string(folder.path("out/translations/pairs.tsv")).unwrap();
    for model in ["student", "int8", "firefox"] {
        let origin = fs::read(folder.path("out").join(model).join("model/distillation.json")).unwrap();
        let origin: Value = serde_json::from_slice(&origin).unwrap();
        assert_eq!(origin["plan"]["filter"]["drop_worst"], 0.1, "{origin}");
        assert!(origin["teacher"][0]["provenance"].is_object(), "{origin}");
    }
    let info = succeeds(&folder, "info out/student/model");
    assert!(info.contains("  teacher   teacher\n  licences  CC0\n"), "{info}");
    let report = fs::read_to_string(folder.path("out/report/report.md")).unwrap();
    let expected = [
        "| student, int8 | student |",
        "| student | undistilled |",
        "BP = ",
        "kept ",
        "## In Firefox's engine",
        "lines of the calibration, and BLEU from ",
    ];
    for expected in expected {
        assert!(report.contains(expected), "{expected} in {report}");
    }
    let said = distill(DISTILLATION);
    assert!(!said.contains("begins") && said.contains("stage `firefox` is up to date"), "{said}");
    // A teacher of the opposite direction scores, too.
    let backward =
        DISTILLATION.replace("drop_worst", "backward = 'teacher'\nlanguages = ['en', 'de']\ndrop_worst");
    let said = distill(&backward);
    assert!(
        said.contains("stage `translations` is up to date") && said.contains("stage `corpus` begins"),
        "{said}"
    );
    for (choice, lines_of_each) in [("closest", 1), ("mbr", 1), ("all", 3)] {
        let plan = DISTILLATION.replace("'best'", &format!("'{choice}'"));
        let said = distill(&plan);
        assert!(said.contains("stage `report` is done"), "{said}");
        let pairs = fs::read_to_string(folder.path("out/translations/pairs.tsv")).unwrap();
        assert_eq!(pairs.lines().count(), best.lines().count() * lines_of_each, "{choice}");
        assert_ne!(pairs, best, "{choice}");
    }
}
