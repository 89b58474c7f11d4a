//! Text classifiers: training and use.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::cli_model::stdout;
use crate::run::Folder;

const CONFIG: &str = "
[data]
train = { tsv = 'train.tsv' }
valid = { tsv = 'train.tsv' }
max_len = 32

[tokenizer]
kind = 'word'
min_frequency = 1

[model]
family = 'classifier'
d_model = 16
n_encoder_layers = 1
max_len = 32
dropout = 0.0

[train]
max_steps = 100
batch_tokens = 64
label_smoothing = 0.0
validate_every = 50
save_every = 50
optimizer = { learning_rate = 0.02 }
schedule = { warmup_steps = 5 }
";

pub(crate) const RECURRENT: &str =
    "--set model.encoder=recurrent --set model.recurrent.d_hidden=16 --set model.pooling=last";

/// Lines `label TAB text`: the label says whether a cat is in the text.
fn lines() -> String {
    let line = |n: usize| {
        let subject = ["the dog", "a cat", "the bird", "the cat", "a horse"][n % 5];
        let verb = ["sleeps", "sings", "runs"][n % 3];
        let label = if subject.contains("cat") { "cat" } else { "no_cat" };
        let end = ["", " in the garden", " and the horse eats"][n / 5 % 3];
        format!("{label}\t{subject} {verb}{end}.\n")
    };
    (0..45).map(line).collect()
}

/// A folder with the classifier `runs/c` and its training data.
pub(crate) fn trained(settings: &str) -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG).write("train.tsv", lines());
    let outcome = folder.succeeds(&format!("train c.toml {settings}"));
    assert!(outcome.stderr.contains("accuracy"), "{outcome:?}");
    assert!(outcome.stderr.contains(", 2 labels; 45 examples"), "{outcome:?}");
    folder
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn texts_get_labels_that_do_not_depend_on_the_batch() {
    for settings in ["", "--set model.pooling=first", "--set model.pooling=last", RECURRENT] {
        let folder = trained(settings);
        let texts = ["a cat runs.", "", "the dog sings in the garden.", " \t", "the bird sleeps."];
        folder.write("in", texts.join("\n") + "\n");
        let labels = stdout(&folder, "classify runs/c in");
        let counts: Vec<usize> = labels.lines().map(str::len).collect();
        assert_eq!((counts[1], counts[3], counts.len()), (0, 0, 5), "{labels}");
        if settings.is_empty() {
            assert_eq!(labels, "cat\n\nno_cat\n\nno_cat\n");
        }
        let together = stdout(&folder, "classify runs/c in --json");
        for (text, line) in texts.iter().zip(together.lines()) {
            folder.write("one", format!("{text}\n"));
            assert_eq!(stdout(&folder, "classify runs/c one --json").trim_end(), line);
        }
    }
}

#[test]
fn probabilities_are_written_on_demand() {
    let folder = trained("");
    folder.write("in", "a cat runs.\n\n");
    let top = stdout(&folder, "classify runs/c in --top 5");
    let lines: Vec<&str> = top.split('\n').collect();
    let columns: Vec<&str> = lines[0].split('\t').collect();
    assert_eq!((columns.len(), columns[0], columns[2]), (4, "cat", "no_cat"), "{top}");
    assert_eq!(lines[1..], ["", ""]);
    let [likely, unlikely] = [1, 3].map(|column| columns[column].parse::<f64>().unwrap());
    assert!(likely > 0.9 && (likely + unlikely - 1.0).abs() < 2e-4, "{top}");
    assert_eq!(stdout(&folder, "classify runs/c in -k 1").split('\t').count(), 2);

    // Training and evaluation read the output of `--json`, with which the classifier agrees fully.
    folder.write("in", "a cat runs.\nthe dog runs.\n");
    let lines = stdout(&folder, "classify runs/c in --json");
    let first = parsed(lines.lines().next().unwrap());
    assert_eq!((&first["text"], &first["label"]), (&json!("a cat runs."), &json!("cat")));
    let labels = first["labels"].as_array().unwrap();
    let sum: f64 = labels.iter().map(|label| label["probability"].as_f64().unwrap()).sum();
    assert!(labels.len() == 2 && (sum - 1.0).abs() < 1e-9, "{first}");
    folder.write("own.jsonl", &lines);
    let own = parsed(&stdout(&folder, "evaluate runs/c --jsonl own.jsonl --json"));
    assert_eq!((&own["accuracy"]["correct"], &own["macro_f1"]), (&json!(2), &json!(1.0)));
    folder.write("blank", "\n");
    let blank = parsed(&stdout(&folder, "classify runs/c blank --json"));
    assert_eq!(blank, json!({"text": "", "label": null, "labels": [], "warnings": []}));
}

#[test]
fn each_line_is_answered_at_once() {
    let folder = trained("");
    let mut command = folder.command("classify runs/c");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for (text, label) in [("a cat runs.", "cat"), ("", ""), ("the dog runs.", "no_cat")] {
        writeln!(stdin, "{text}").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), label);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_classifier_is_measured_by_f1_and_a_confusion_table() {
    let folder = trained("");
    // By hand: `cat` has a recall of 1/2 and a precision of 1; `no_cat` has a recall of 1 and a precision of
    // 1/3; `horse` is never predicted.
    folder
        .write("texts", "a cat runs.\nthe dog runs.\nthe bird runs.\nthe horse runs.\n")
        .write("labels", "cat\ncat\nno_cat\nhorse\n")
        .write(
            "both.tsv",
            "cat\ta cat runs.\ncat\tthe dog runs.\nno_cat\tthe bird runs.\nhorse\tthe horse runs.\n",
        );
    let evaluation = parsed(&stdout(&folder, "evaluate runs/c --src texts --ref labels --json"));
    assert_eq!(evaluation["accuracy"], json!({"correct": 2, "total": 4}));
    let f1 = |label: &str| evaluation["by_label"][label]["f1"].as_f64().unwrap();
    assert!((f1("cat") - 2.0 / 3.0).abs() < 1e-12, "{evaluation}");
    assert!((f1("no_cat") - 0.5).abs() < 1e-12, "{evaluation}");
    assert_eq!(f1("horse"), 0.0);
    let macro_f1 = evaluation["macro_f1"].as_f64().unwrap();
    assert!((macro_f1 - (2.0 / 3.0 + 0.5) / 3.0).abs() < 1e-12, "{evaluation}");
    let confusion = r#"{"cat": {"cat": 1, "no_cat": 1}, "horse": {"no_cat": 1}, "no_cat": {"no_cat": 1}}"#;
    assert_eq!(evaluation["confusion"], parsed(confusion));
    let mut from_tsv = parsed(&stdout(&folder, "evaluate runs/c --tsv both.tsv --json"));
    from_tsv["seconds"] = evaluation["seconds"].clone();
    assert_eq!(from_tsv, evaluation);

    let text = stdout(&folder, "evaluate runs/c --src texts --ref labels");
    let table = "        cat  horse  no_cat\ncat       1      0       1\nhorse     0      0       1\nno_cat    0      0       1\n";
    assert!(text.contains(table), "{text}");
    for line in ["accuracy = 50.00 % (2 of 4)", "macro F1 = 38.89 %", "4 texts in"] {
        assert!(text.contains(line), "`{line}` is not in {text}");
    }
    assert!(stdout(&folder, "evaluate runs/c --valid").contains("accuracy = 100.00 % (45 of 45)"));
}

#[test]
fn mistakes_are_reported() {
    let folder = trained("");
    folder.write("in", "a cat\n").write("out", "kept\n");
    folder.fails("classify runs/c in --output in", 2, &["also the input `in`"]);
    folder.fails("classify runs/c in --top 0", 2, &["--top"]);
    folder.fails("tag runs/c in --output out", 2, &["attentive classify"]);
    folder.fails("evaluate runs/c --text in", 2, &["`--tsv`"]);
    folder.fails("evaluate runs/c --valid --output out", 2, &["attentive classify"]);
    assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), "kept\n");
    let long = "cat ".repeat(50);
    folder.write("long", &long);
    let outcome = folder.run("classify runs/c long");
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
    assert!(outcome.stderr.starts_with("warning: line 1: too long for the model"), "{outcome:?}");
    folder.write("long.tsv", format!("cat\t{long}\n"));
    let outcome = folder.run("evaluate runs/c --tsv long.tsv");
    assert!(outcome.stderr.contains("1 of 1 text is too long"), "{outcome:?}");
    assert!(outcome.stdout.contains("\n1 text in "), "{outcome:?}");

    let refused = |settings: &str, complaint: &[&str]| {
        folder.fails(&format!("train c.toml --output r {settings}"), 2, complaint);
    };
    refused("--set tokenizer.vocabulary=shared", &["tokenizer.vocabulary", "separate"]);
    refused("--set model.recurrent.d_input=16", &["model.recurrent.d_input", "only the family `tagger`"]);
    refused(
        "--set model.tie_embeddings=none",
        &["model.tie_embeddings", "`decoder_only` and `encoder_only`"],
    );
    refused("--set data.train={builtin='reverse',pairs=9}", &["data.train", "no labels"]);
    refused("--set data.train={text='in'}", &["data.train", "with texts and their labels, found `text`"]);
    refused("--set train.best_by=bleu", &["train.best_by"]);
    folder.write("header.tsv", format!("label\ttext\n{}", lines()));
    let header = "warning: `header.tsv`, line 1: looks like a header";
    let evaluated = folder.run("evaluate runs/c --tsv header.tsv");
    assert!(evaluated.stderr.contains(header), "{evaluated:?}");
    let train = "train c.toml --output h --set train.max_steps=2 --set data.train={tsv='header.tsv'}";
    let trained = folder.run(train);
    assert!(trained.stderr.contains(header), "{trained:?}");
    folder.write("bad.tsv", "dog\ta dog runs.\n");
    let outcome = folder.run("train c.toml --output r --set data.valid={tsv='bad.tsv'}");
    let unknown = "error: `bad.tsv`, line 1: unknown label `dog`: the training data (without held-out lines) \
                   have only the \
                   labels `no_cat`, `cat`\n";
    assert!(outcome.stderr.contains(unknown), "{outcome:?}");
}

#[test]
fn a_labeled_file_is_no_text_to_classify() {
    let folder = trained("");
    folder.write("test.tsv", lines());
    let outcome = folder.run("classify runs/c test.tsv");
    assert_eq!(outcome.stdout.lines().count(), 45, "{outcome:?}");
    let warning =
        "warning: `test.tsv`, line 1: the label `no_cat` before the tab is read as a part of the text: ";
    let said = &outcome.stderr;
    assert!(said.contains(warning) && said.contains("evaluate MODEL --tsv"), "{said}");
    assert_eq!(said.matches("before the tab").count(), 1, "{said}");
    folder.write("in", "a cat runs.\nother\ta cat runs.\ncat \tsleeps.\ncat\n");
    let said = folder.run("classify runs/c in").stderr;
    assert!(said.contains("`in`, line 3: the label `cat`"), "{said}");
    folder.write("in", "other\ta cat runs.\ncat\n");
    let said = folder.run("classify runs/c in").stderr;
    assert!(!said.contains("before the tab"), "{said}");
}

#[test]
fn another_task_is_refused_without_any_input() {
    let folder = trained("");
    folder.write("empty", "");
    for command in ["translate", "tag"] {
        let command = format!("{command} runs/c empty");
        folder.fails(&command, 2, &["attentive classify"]);
    }
}

#[test]
fn embed_info_and_inspect_work_for_classifiers() {
    let folder = trained("");
    folder.write("in", "a cat runs.\n");
    let embedded = parsed(&stdout(&folder, "embed runs/c in"));
    assert_eq!(embedded["vector"].as_array().unwrap().len(), 16);
    let info = stdout(&folder, "info runs/c");
    assert!(info.contains("labels and special tokens"), "{info}");
    assert!(info.contains("\nlabels (2)\n  no_cat, cat\n"), "{info}");
    let info = parsed(&stdout(&folder, "info runs/c --json"));
    assert_eq!(info["labels"], json!(["no_cat", "cat"]));
    let mut command = folder.command("explain runs/c");
    let outcome = command.arg("a cat runs.").output().unwrap();
    assert!(outcome.status.success());
    let page = fs::read_to_string(folder.path("explanation.html")).unwrap();
    let (_, rest) = page.split_once("type=\"application/json\">").unwrap();
    let data = parsed(rest.split_once("</script>").unwrap().0);
    assert_eq!(data["labels"][0]["label"], "cat");
    assert_eq!(data["maps"][0]["site"], "encoder_self");
    assert_eq!(data["src"], json!(["a", "cat", "runs.", "</s>"]));
}
