//! `attentive config`.

use std::fs;
use std::path::Path;

use crate::run::Folder;

/// Sizes with which every family trains in a moment.
const SMALL: &str = "--set model.d_model=16 --set model.max_len=64 --set data.max_len=64 --set train.max_steps=3 \
                     --set train.batch_tokens=128 --set train.validate_every=3 --set train.precision=f32";

/// Trains a new configuration of `family` with data in the `files`, after it has been shown.
fn trains(family: &str, options: &str, files: &[(&str, &str)]) {
    let folder = Folder::new();
    for (name, line) in files {
        let lines: String = (0..60)
            .map(|i| format!("{line}\n").replace('#', ["one", "two", "three"][i % 3]))
            .collect();
        folder.write(&format!("train.{name}"), &lines);
        folder.write(&format!("valid.{name}"), &lines);
    }
    let new = folder.run(&format!(
        "config new --family {family} {options} -o my.toml"
    ));
    assert_eq!((new.code, new.stderr.as_str()), (Some(0), ""));
    let shown = folder.run("config show my.toml");
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let trained = folder.run(&format!("train my.toml {SMALL}"));
    assert_eq!(trained.code, Some(0), "{trained:?}");
    folder.fails(
        &format!("config new --family {family} -o my.toml"),
        2,
        &["`my.toml` exists"],
    );
}

#[test]
fn new_configurations_of_every_family_train() {
    let pairs = [("src", "number # is here"), ("tgt", "die Zahl # ist hier")];
    trains("transformer", "", &pairs);
    trains("seq2seq", "", &pairs);
    trains("decoder_only", "", &[("txt", "number # is here")]);
    trains("encoder_only", "", &[("txt", "number # is here")]);
    trains(
        "tagger",
        "",
        &[("tokens", "number # is here"), ("tags", "N M V A")],
    );
    trains("classifier", "", &[("tsv", "#\tnumber # is here")]);
    trains("classifier", "--source builtin", &[]);
}

#[test]
fn families_and_sources_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    folder.fails("config new --family lstm", 2, &["transformer", "seq2seq"]);
    folder.fails("config new --family encoder", 2, &["model.family"]);
    folder.fails(
        "config new --family decoder_only --source tsv",
        2,
        &["`text`"],
    );
}

#[test]
fn values_are_shown_with_their_origins() {
    let folder = Folder::new();
    let text = "[data]\ntrain = { builtin = \"grammar\", pairs = 50 }\n[model]\nd_model = 16\n[train]\nmax_steps = 2\nsave_every = 2\n";
    folder.write("base.toml", text);
    let shown = folder.run("config show base.toml --set model.n_heads=2");
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let has = |shown: &str, expected: &str| {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.lines().any(|line| words(line) == expected),
            "{expected}: {shown}"
        );
    };
    has(&shown.stdout, "d_model = 16 # base.toml:4");
    has(&shown.stdout, "n_heads = 2 # --set");
    has(&shown.stdout, "dropout = 0.1 # default");
    // What is shown is a configuration itself.
    folder.write("shown.toml", &shown.stdout);
    let again = folder.run("config show shown.toml").stdout;
    let values = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(|line| line.split(" # ").next().unwrap_or("").trim().to_owned());
        lines.collect()
    };
    assert_eq!(values(&again), values(&shown.stdout));
    let trained = folder.run("train base.toml --set tokenizer.vocab_size=60 --output base");
    assert_eq!(trained.code, Some(0), "{trained:?}");
    folder.write("fine.toml", text.replace("d_model = 16", "from = \"base\""));
    let fine = folder.run("config show fine.toml").stdout;
    has(&fine, "d_model = 16 # base model");
    has(&fine, "vocab_size = 60 # base model");
    has(
        &fine,
        "warmup_steps = 1 # default, depends on `model.from` and `train.max_steps`",
    );
    let resumed = folder.run("config show base.toml --set tokenizer.vocab_size=60 --resume base");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    has(&resumed.stdout, "warmup_steps = 1000 # resumed run");
    folder.fails(
        "config show base.toml --set train.batch_token=1",
        2,
        &["unknown config key `train.batch_token` (`--set`)"],
    );
}

#[test]
fn the_schema_and_the_reference_are_printed() {
    let folder = Folder::new();
    let schema = folder.run("config schema").stdout;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["type"], "object");
    let reference = folder.run("config reference").stdout;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    assert!(
        reference == fs::read_to_string(path).unwrap(),
        "see the test of the same text in src/config"
    );
}
