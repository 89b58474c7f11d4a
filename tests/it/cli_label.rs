//! Taggers: training and use.

use std::fs;

use serde_json::Value;

use crate::cli_model::{self, stdout};
use crate::run::Folder;

const TAGGER: &str = "
[data]
train = { builtin = 'grammar', pairs = 300 }
valid = { builtin = 'grammar', pairs = 40 }
max_len = 64

[tokenizer]
kind = 'word'
vocabulary = 'separate'
lowercase = true

[model]
family = 'tagger'
d_model = 16
n_encoder_layers = 1
max_len = 64
recurrent = { d_hidden = 16 }

[train]
max_steps = 30
batch_tokens = 512
label_smoothing = 0.0
validate_every = 15
save_every = 15
optimizer = { learning_rate = 0.02 }
schedule = { warmup_steps = 5 }
";

const VECTORS: &str = "
[data]
train = { jsonl = 'train.jsonl' }
hold_out = 0.2
max_len = 64

[model]
family = 'tagger'
n_encoder_layers = 1
max_len = 64
recurrent = { d_hidden = 8, d_input = 2 }

[train]
max_steps = 60
batch_tokens = 128
label_smoothing = 0.0
optimizer = { learning_rate = 0.05 }
schedule = { warmup_steps = 5 }
";

pub(crate) fn train(folder: &Folder, config: &str) {
    folder.write("c.toml", config);
    folder.succeeds("train c.toml");
}

pub(crate) fn tagger() -> Folder {
    let folder = Folder::new();
    train(&folder, TAGGER);
    folder
}

/// A tagger of vectors, trained to tell which of two numbers is larger.
pub(crate) fn vector_tagger() -> Folder {
    let folder = Folder::new();
    let line = |n: usize| {
        let vectors: Vec<[f64; 2]> = (0..1 + n % 5)
            .map(|place| [(n * 7 + place * 3) as f64 % 10.0, (n + place * 4) as f64 % 10.0 + 0.5])
            .collect();
        let tags: Vec<&str> = vectors.iter().map(|[a, b]| if a > b { "first" } else { "second" }).collect();
        serde_json::json!({"vectors": vectors, "tags": tags}).to_string() + "\n"
    };
    folder.write("train.jsonl", (0..100).map(line).collect::<String>());
    train(&folder, VECTORS);
    folder
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_tagger_writes_a_tag_for_each_token() {
    let folder = tagger();
    folder.write("in", "the dog sees a cat .\n\nunheard <s> of\n");
    let tags = stdout(&folder, "tag runs/c in");
    let counts: Vec<usize> = tags.lines().map(|line| line.split(' ').count()).collect();
    assert_eq!((counts, tags.lines().nth(1)), (vec![6, 1, 3], Some("")));
    assert!(tags.split_whitespace().all(|tag| tag == tag.to_uppercase()), "{tags}");
    assert_eq!(stdout(&folder, "tag runs/c in --output out"), "");
    assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), tags);
    folder.fails("tag runs/c in --output in", 2, &["also the input `in`"]);

    // Training and evaluation read the output of `--json`, with which the tagger agrees fully.
    let lines = stdout(&folder, "tag runs/c in --json");
    let first = json(lines.lines().next().unwrap());
    assert_eq!(first["tokens"][1], "dog");
    assert_eq!(first["tags"].as_array().unwrap().len(), 6);
    folder.write("own.jsonl", &lines);
    let own = json(&stdout(&folder, "evaluate runs/c --jsonl own.jsonl --json"));
    assert_eq!(own["accuracy"], serde_json::json!({"correct": 9, "total": 9}));
    assert_eq!(own["exact_match"]["total"], 2);
    folder.write("one.jsonl", lines.lines().next().unwrap());
    let one = stdout(&folder, "evaluate runs/c --jsonl one.jsonl");
    assert!(one.contains("\n1 sequence in "), "{one}");

    let long = "dog ".repeat(100);
    folder.write("long", &long);
    let outcome = folder.run("tag runs/c long");
    assert_eq!(outcome.stdout.split_whitespace().count(), 100);
    assert!(outcome.stderr.starts_with("warning: line 1: 100 positions"), "{outcome:?}");
}

#[test]
fn taggers_are_evaluated_on_files_and_on_their_validation_corpus() {
    let folder = tagger();
    let valid = stdout(&folder, "evaluate runs/c --valid");
    for words in ["accuracy = ", "exact match = ", "\n  NOUN", "\n  PUNCT"] {
        assert!(valid.contains(words), "`{words}` is not in {valid}");
    }
    folder
        .write("tokens", "the dog sees a cat .\nthe dog sees a cat .\n")
        .write("tags", "DET NOUN VERB DET NOUN PUNCT\nDET NOUN VERB DET UNHEARD PUNCT\n")
        .write("few", "DET NOUN VERB DET NOUN PUNCT\nDET NOUN\n");
    let evaluation = json(&stdout(&folder, "evaluate runs/c --src tokens --ref tags --json"));
    assert_eq!(evaluation["accuracy"]["total"], 12);
    assert_eq!(evaluation["by_tag"]["UNHEARD"]["correct"], 0);
    let evaluate = |rest: &str, complaint: &[&str]| {
        let code = if rest.contains("few") { 1 } else { 2 };
        folder.fails(&format!("evaluate runs/c {rest}"), code, complaint);
    };
    evaluate("--src tokens --ref few", &["`few`, line 2: 2 tags for 6 tokens"]);
    evaluate("--text tokens", &["`--src` and one `--ref`"]);
    evaluate("--src tokens --ref tags --ref tags", &["one `--ref`"]);
    evaluate("--src tokens", &["--ref"]);
    evaluate("--src tokens --ref tags --valid", &["--valid"]);
    evaluate("--valid --output x", &["attentive tag"]);
    evaluate("", &["--src", "--valid"]);
}

#[test]
fn vectors_are_read_from_json() {
    let folder = vector_tagger();
    folder.write("in", "{\"vectors\": [[9, 1], [0, 8]]}\n\n{\"vectors\": [[1, 9.5]]}\n");
    assert_eq!(stdout(&folder, "tag runs/c in"), "first second\n\nsecond\n");
    let line = stdout(&folder, "tag runs/c in --json");
    assert_eq!(line.lines().next(), Some("{\"tags\":[\"first\",\"second\"],\"unknown\":0,\"warnings\":[]}"));
    let evaluation = json(&stdout(&folder, "evaluate runs/c --jsonl train.jsonl --json"));
    assert_eq!(evaluation["exact_match"]["total"], 100);
    for (line, complaint) in [
        ("{\"vectors\": [[1, 2], [1]]}", "vector 2 has 1 number, but"),
        ("{\"vectors\": [[1, 1e99]]}", "number out of range"),
        ("{\"vectors\": [[1, NaN]]}", "column 18"),
        ("a dog", "expected a JSON object with a list `vectors`"),
    ] {
        folder.write("bad", format!("{{\"vectors\": [[1, 2]]}}\n{line}\n"));
        folder.fails("tag runs/c bad", 1, &["`bad`, line 2: ", complaint]);
    }
    folder.fails("evaluate runs/c --src in --ref in", 2, &["`--jsonl`"]);
}

#[test]
fn mistakes_in_training_data_for_taggers_are_named() {
    let folder = Folder::new();
    folder.write("tokens", "a dog\na\n").write("tags", "D N\nD\n").write("bad", "D N\nd\n");
    let config = |valid: &str| {
        let data = format!(
            "train = {{ src = 'tokens', tgt = 'tags' }}\nvalid = {{ src = 'tokens', tgt = \
             '{valid}' }}\nmax_len = 64\n"
        );
        let rest = TAGGER.split("[tokenizer]").nth(1).unwrap();
        folder.write("c.toml", format!("[data]\n{data}[tokenizer]\nmin_frequency = 1\n{rest}"));
    };
    config("bad");
    let complaint = || folder.run("train c.toml").stderr;
    let unknown = "error: `bad`, line 2: unknown tag `d`: the training data (without held-out lines) have \
                   only the tags `D`, `N`";
    assert!(complaint().contains(unknown), "{}", complaint());
    folder.write("bad", "D N\nD D\n");
    let too_many = "error: `bad`, line 2: 2 tags for 1 token";
    assert!(complaint().contains(too_many), "{}", complaint());
    folder.fails("train c.toml --set tokenizer.kind=bpe", 2, &["tokenizer.kind", "`word`"]);
}

#[test]
fn unsuitable_models_are_refused_and_nothing_is_overwritten() {
    let folder = cli_model::trained();
    folder.write("out", "kept\n");
    for (command, complaint) in [
        ("tag runs/c src --output out", "attentive translate"),
        ("fill runs/c <mask>", "attentive translate"),
        ("evaluate runs/c --text src", "`--src` and `--ref`"),
    ] {
        folder.fails(command, 2, &[complaint]);
    }
    // Translation models have an encoder.
    assert_eq!(stdout(&folder, "embed runs/c src").lines().count(), 5);
    let folder = tagger();
    folder.write("out", "kept\n").write("in", "a dog\n");
    folder.fails("embed runs/c in --output out", 2, &["no text encoder"]);
    folder.fails("translate runs/c in", 2, &["it labels tokens", "attentive tag"]);
    for options in ["--tokenize char", "--beam-width 2", "--output out"] {
        folder.fails(&format!("evaluate runs/c --valid {options}"), 2, &["models that translate"]);
    }
    folder.fails("tag runs/c in --output runs/c/model.safetensors", 2, &["a file of the model `runs/c`"]);
    assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), "kept\n");
    let unknown = folder.run("tag runs/c in --output -");
    assert_eq!(unknown.stdout.lines().count(), 1, "{unknown:?}");
    folder.write("in", "qqq dog\n");
    let unknown = folder.run("tag runs/c in");
    assert!(unknown.stderr.contains("1 of 2 tokens"), "{unknown:?}");
}
