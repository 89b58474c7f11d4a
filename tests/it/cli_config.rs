//! `attentive config`.

use std::fs;
use std::path::Path;

use crate::run::Folder;

/// Sizes with which every family trains in a moment.
const SMALL: &str = "--set model.d_model=16 --set model.max_len=64 --set data.max_len=64 --set \
                     train.max_steps=3 --set train.batch_tokens=128 --set train.validate_every=3 --set \
                     train.precision=f32";

/// Trains a new configuration of `family` with data in the `files`, after it has been shown.
fn trains(family: &str, options: &str, files: &[(&str, &str)]) {
    let folder = Folder::new();
    for (name, line) in files {
        let lines: String =
            (0..60).map(|i| format!("{line}\n").replace('#', ["one", "two", "three"][i % 3])).collect();
        folder.write(&format!("train.{name}"), &lines);
        folder.write(&format!("valid.{name}"), &lines);
    }
    let new = folder.run(&format!("config new --family {family} {options} -o my.toml"));
    assert_eq!((new.code, new.stderr.as_str()), (Some(0), ""));
    let text = fs::read_to_string(folder.path("my.toml")).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{family}: {line}");
    }
    folder.succeeds("config show my.toml");
    folder.succeeds(&format!("train my.toml {SMALL}"));
    folder.fails(&format!("config new --family {family} -o my.toml"), 2, &["`my.toml` exists"]);
}

#[test]
fn new_configurations_of_every_family_train() {
    let pairs = [("src", "number # is here"), ("tgt", "die Zahl # ist hier")];
    trains("transformer", "", &pairs);
    trains("seq2seq", "", &pairs);
    trains("decoder_only", "", &[("txt", "number # is here")]);
    trains("encoder_only", "", &[("txt", "number # is here")]);
    trains("tagger", "", &[("tokens", "number # is here"), ("tags", "N M V A")]);
    trains("classifier", "", &[("tsv", "#\tnumber # is here")]);
    trains("classifier", "--source builtin", &[]);
}

#[test]
fn presets_are_published_models() {
    let presets = [
        ("transformer-base", "512", "6", false),
        ("transformer-big", "1024", "6", false),
        ("transformer-base-prenorm", "512", "6", false),
        ("transformer-big-prenorm", "1024", "6", false),
        ("student-tiny", "256", "2", true),
        ("student-base-memory", "384", "4", true),
        ("student-base", "512", "2", true),
    ];
    for (preset, width, layers, is_student) in presets {
        let folder = Folder::new();
        let new = folder.run(&format!("config new --preset {preset} --source builtin -o my.toml"));
        assert_eq!(new.code, Some(0), "{preset}: {new:?}");
        let shown = folder.run("config show my.toml");
        assert_eq!(shown.code, Some(0), "{preset}: {shown:?}");
        for (key, value) in [("d_model", width), ("n_decoder_layers", layers), ("n_encoder_layers", "6")] {
            assert!(shown.stdout.contains(&format!("{key} = {value}")), "{preset}: {}", shown.stdout);
        }
        assert_eq!(shown.stdout.contains("decoder_mixing = \"ssru\""), is_student, "{preset}");
        // The architecture is what can be exported, whatever its size.
        let small = "--set train.max_steps=1 --set train.validate_sentences=5 --set model.d_model=64 --set \
                     model.d_ff=64 --set model.n_encoder_layers=1 --set model.n_decoder_layers=1 --set \
                     tokenizer.vocab_size=60 --set train.batch_tokens=256 --set data.train.pairs=50 --set \
                     train.micro_batches_per_update=1 --set model.n_heads=4";
        let trained = folder.run(&format!("train my.toml --output r {small}"));
        assert_eq!(trained.code, Some(0), "{preset}: {trained:?}");
        assert_eq!(trained.stderr.contains("Firefox"), is_student, "{preset}: {trained:?}");
    }
    Folder::new().fails("config new --preset student-tiny --family seq2seq", 2, &["--preset", "--family"]);
}

#[test]
fn families_and_sources_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    folder.fails(
        "config new --family lstm",
        2,
        &["expected one of `transformer`", "did you mean `seq2seq`?"],
    );
    folder.fails("config new --family encoder", 2, &["`--family`: expected"]);
    for (arguments, expected) in [
        (
            "--family decoder_only --source tsv",
            "`--source`: expected `text`, since language models learn from plain text, found `tsv`",
        ),
        (
            "--family classifier --source text",
            "`--source`: expected `tsv`, `csv`, `jsonl`, or `src` and `tgt`, with texts and their labels, found \
             `text`",
        ),
    ] {
        let refused = folder.run(&format!("config new {arguments}"));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
        assert!(refused.stderr.contains("leave out `--source`"), "{refused:?}");
        assert!(!refused.stderr.contains("--set"), "{refused:?}");
    }
}

#[test]
fn values_are_shown_with_their_origins() {
    let folder = Folder::new();
    let text = "[data]\ntrain = { builtin = \"grammar\", pairs = 50 }\n[model]\nd_model = \
                16\n[train]\nmax_steps = 2\nsave_every = 2\n";
    folder.write("base.toml", text);
    let shown = folder.run("config show base.toml --set model.n_heads=2");
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let has = |shown: &str, expected: &str| {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.lines().any(|line| words(line) == expected), "{expected}: {shown}");
    };
    has(&shown.stdout, "d_model = 16 # base.toml:4");
    has(&shown.stdout, "n_heads = 2 # --set");
    has(&shown.stdout, "dropout = 0.1 # default");
    // What is shown is a configuration itself.
    folder.write("shown.toml", &shown.stdout);
    let again = folder.run("config show shown.toml").stdout;
    let values = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.split(" # ").next().unwrap_or("").trim().to_owned());
        lines.collect()
    };
    assert_eq!(values(&again), values(&shown.stdout));
    folder.succeeds("train base.toml --set tokenizer.vocab_size=60 --output base");
    folder.write("fine.toml", text.replace("d_model = 16", "from = \"base\""));
    let fine = folder.run("config show fine.toml").stdout;
    has(&fine, "d_model = 16 # base model");
    has(&fine, "vocab_size = 60 # base model");
    has(&fine, "warmup_steps = 1 # default, depends on `model.from` and `train.max_steps`");
    let resumed = folder.succeeds("config show base.toml --set tokenizer.vocab_size=60 --resume base");
    has(&resumed.stdout, "warmup_steps = 1000 # resumed run");
    folder.fails(
        "config show base.toml --set train.batch_token=1",
        2,
        &["unknown config key `train.batch_token` (`--set`)"],
    );
}

#[test]
fn stored_configurations_are_shown_as_models_read_them() {
    let folder = Folder::new();
    let data = "[data]\ntrain = { builtin = \"grammar\", pairs = 50 }\n";
    // Without keys that have their default. The base model is not here.
    let text = format!("format = 1\n{data}[model]\nfrom = \"gone/base\"\nd_model = 16\n");
    folder.write("config.toml", &text);
    folder.fails("config show config.toml", 2, &["gone/base"]);
    fs::create_dir_all(folder.path("run/checkpoints/step-2")).unwrap();
    folder.write("run/config.toml", &text);
    folder.write("run/provenance.json", "{}");
    let shown = folder.run("config show run");
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in
        ["d_model = 16 # stored, line 6", "from = \"gone/base\" # stored, line 5", "dropout = 0.1 # default"]
    {
        let mut lines = shown.stdout.lines();
        assert!(lines.any(|line| words(line) == expected), "{expected}: {}", shown.stdout);
    }
    for path in ["run/config.toml", "run/checkpoints/step-2"] {
        let same = folder.run(&format!("config show {path}"));
        assert_eq!(same.stdout, shown.stdout, "{path}: {same:?}");
    }
    let set = folder.run("config show run --set decode.beam_width=7");
    assert!(set.stdout.lines().any(|line| words(line) == "beam_width = 7 # --set"), "{set:?}");
    folder.fails("config show run --resume run", 2, &["`--resume` needs a configuration file"]);
    fs::create_dir_all(folder.path("empty")).unwrap();
    folder.fails("config show empty", 2, &["`empty` is a directory without `config.toml`"]);
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
        "see the test of the same text in crates/config/src/"
    );
}

#[test]
fn a_new_configuration_fits_the_corpus() {
    let folder = Folder::new();
    let lines = |count: usize| (0..count).map(|n| format!("{n} a\t{n} b\n")).collect::<String>();
    folder.write("small.tsv", lines(50)).write("large.tsv", lines(60_001)).write("valid.csv", "1 a,1 b\n");
    let new = |options: &str| folder.succeeds(&format!("config new --family transformer {options}"));
    let small = new("--train small.tsv");
    for setting in [
        "tsv = \"small.tsv\"",
        "hold_out = 0.1",
        "d_model = 128",
        "dropout = 0.2",
        "validate_sentences = 500",
    ] {
        assert!(small.stdout.contains(setting), "{setting}: {small:?}");
    }
    assert!(small.stderr.contains("training data: 50 of 50 lines kept"), "{small:?}");
    let large = new("--train large.tsv --valid valid.csv");
    for setting in ["csv = \"valid.csv\"", "d_model = 256", "kind = \"muon\""] {
        assert!(large.stdout.contains(setting), "{setting}: {large:?}");
    }
    assert!(!large.stdout.contains("hold_out"), "{large:?}");
    folder.write("small.toml", &small.stdout);
    folder.succeeds("train small.toml --set train.max_steps=1 --set model.d_model=8 --output m");
    for (arguments, words) in [
        ("--train small.tsv --columns 2 2", &["the same column twice"][..]),
        ("--train small.tsv --languages en de", &["`--languages` is for translation memories"]),
        ("--train small.txt small.txt --columns 1 2", &["`--columns` is for tables"]),
        ("--train small.dat", &["does not tell its format", ".tmx"]),
        ("--train memory.tmx", &["`--languages en de`"]),
        ("--train missing.tsv", &["missing.tsv"]),
        ("--train small.tsv --valid missing.tsv", &["missing.tsv"]),
        ("--train small.txt", &["pairs, since this family learns from two sides"]),
        ("--train small.tsv --source tsv", &["--source"]),
        ("--valid small.tsv", &["--train"]),
    ] {
        folder.write("small.txt", "a\n").write("memory.tmx", "<tmx/>");
        let refused = folder.run(&format!("config new --family transformer {arguments}"));
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(words.iter().all(|words| refused.stderr.contains(words)), "{arguments}: {refused:?}");
    }
}
