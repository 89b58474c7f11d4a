//! Masked language models: training and use.

use serde_json::Value;

use crate::cli_label::{json, train};
use crate::cli_model::stdout;
use crate::run::Folder;

const MASKED: &str = "
[data]
train = { text = 'train.txt' }
hold_out = 0.1
max_len = 32

[tokenizer]
vocab_size = 60
min_frequency = 1

[model]
family = 'encoder_only'
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 1
max_len = 32

[train]
max_steps = 40
batch_tokens = 256
label_smoothing = 0.0
optimizer = { learning_rate = 0.02 }
schedule = { warmup_steps = 5 }
";

pub(crate) fn masked() -> Folder {
    let folder = Folder::new();
    let line = |n: usize| {
        let subject = ["ein Mann", "eine Frau", "ein Hund"][n % 3];
        let verb = ["läuft", "steht", "schläft", "sitzt"][n % 4];
        format!("{subject} {verb} im Garten.\n")
    };
    folder.write("train.txt", (0..60).map(line).collect::<String>());
    train(&folder, MASKED);
    folder
}

#[test]
fn masks_are_filled() {
    let folder = masked();
    // The text is one argument, including its blanks.
    let fill = |text: &str, options: &str| {
        let mut command = folder.command(&format!("fill runs/c {options}"));
        crate::run::Outcome::from(command.arg(text).output().unwrap())
    };
    let outcome = fill("ein <mask> läuft <mask> Garten.", "--top 3");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 7, "{outcome:?}");
    assert!(lines[0].starts_with("ein") && lines[0].ends_with(" Garten."), "{outcome:?}");
    let numbers = lines[1..].iter().map(|line| line.split('\t').next().unwrap());
    assert_eq!(numbers.collect::<String>(), "111222");
    let answer = json(&fill("ein <mask> läuft", "-k 2 --json").stdout);
    assert_eq!(answer["gaps"][0].as_array().unwrap().len(), 2);
    assert!(answer["gaps"][0][0]["probability"].as_f64().unwrap() > 0.0);
    assert_eq!(answer["input"], "ein <mask> läuft");
    let none = fill("ein Hund", "");
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""));
    assert!(none.stderr.contains("no `<mask>`") && none.stderr.contains("hint: "), "{none:?}");
    let long = fill(&"<mask> ".repeat(40), "");
    assert!(long.stderr.contains("reads at most 32"), "{long:?}");
    let odd = fill("ein <mask>\u{1} Ω", "");
    assert_eq!(odd.code, Some(0));
    for warning in ["1 control character was read as a blank", "`<unk>`"] {
        assert!(odd.stderr.contains(warning), "{warning}: {odd:?}");
    }
}

#[test]
fn lines_of_standard_input_are_filled_in_order() {
    let folder = masked();
    folder.write("in", "ein <mask>\n\nder <mask> läuft\n");
    let fill = |file: &str| {
        let mut command = folder.command("fill runs/c --json -k 1");
        command.stdin(std::fs::File::open(folder.path(file)).unwrap());
        crate::run::Outcome::from(command.output().unwrap())
    };
    let answers: Vec<Value> = fill("in").stdout.lines().map(json).collect();
    let gaps = answers.iter().map(|answer| answer["gaps"].as_array().unwrap().len());
    assert_eq!(gaps.collect::<Vec<_>>(), [1, 0, 1]);
    assert_eq!(answers[2]["input"], "der <mask> läuft");
    folder.write("bad", "ein <mask>\n\nohne\n");
    let bad = fill("bad");
    assert_eq!(bad.stdout.lines().count(), 2);
    assert!(bad.stderr.contains("line 3"), "{bad:?}");
    folder.fails("fill runs/c in", 2, &["no `<mask>`", "`< in`"]);
}

#[test]
fn texts_become_vectors() {
    let folder = masked();
    folder.write("in", "ein Hund\n\neine Frau sitzt\n");
    let lines = stdout(&folder, "embed runs/c in");
    let lines: Vec<Value> = lines.lines().map(json).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["text"], "ein Hund");
    assert_eq!(lines[0]["vector"].as_array().unwrap().len(), 16);
    assert_eq!(lines[1]["vector"], Value::Null);
    folder.write("one", "eine Frau sitzt\n");
    let alone = json(&stdout(&folder, "embed runs/c one"));
    assert_eq!(alone, lines[2]);
}

#[test]
fn masked_language_models_are_compared_with_a_unigram_baseline() {
    let folder = masked();
    let evaluation = json(&stdout(&folder, "evaluate runs/c --text train.txt --json"));
    assert_eq!(evaluation["texts"], 60);
    assert_eq!(evaluation["accuracy"]["total"], evaluation["unigram"]["accuracy"]["total"]);
    assert!(evaluation["perplexity"].as_f64().unwrap() > 1.0);
    let text = stdout(&folder, "evaluate runs/c --valid");
    for words in ["masked-token accuracy = ", "always the most frequent token = ", "6 texts in"] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    folder.fails("evaluate runs/c --src train.txt --ref train.txt", 2, &["`--text`"]);
}
