//! Training and use of a model on a task small enough for a test.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::cli_sums::forget_sums;
use crate::run::{Folder, Outcome, for_family};

pub(crate) const CONFIG: &str = "
[data]
train = { builtin = 'reverse', pairs = 200 }
valid = { builtin = 'reverse', pairs = 10 }

[tokenizer]
kind = 'word'
vocab_size = 14

[model]
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1
max_len = 256

[train]
max_steps = 6
batch_tokens = 512
validate_every = 3
save_every = 2
schedule = { warmup_steps = 2 }

[decode]
beam_width = 2
";

/// Sources, one of them empty.
const SRC: &str = "1 2 3\n4 5 6 7\n\n8 9 0 1 2\n3\n";

/// A folder with the model directory `runs/c`, and `src` beside it.
pub(crate) fn trained() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG).write("src", SRC);
    let outcome = folder.run("train c.toml");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.stderr.replace('\\', "/").contains("the model is in `runs/c`"), "{outcome:?}");
    folder
}

/// A folder with a model `runs/c` of the given family, trained with the shared configuration and `more`.
pub(crate) fn trained_as(family: &str, more: &str) -> Folder {
    let model = format!("[model]\nfamily = '{family}'\n");
    let config = for_family(CONFIG, family).replace("[model]\n", &model);
    let folder = Folder::new();
    folder.write("c.toml", config + more);
    folder.succeeds("train c.toml");
    folder
}

pub(crate) fn stdout(folder: &Folder, arguments: &str) -> String {
    folder.succeeds(arguments).stdout
}

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&stdout(folder, arguments)).unwrap()
}

#[test]
fn each_input_line_gives_one_output_line() {
    let folder = trained();
    let greedy = stdout(&folder, "translate runs/c src --beam-width 1");
    assert_eq!(greedy.lines().count(), 5);
    assert_eq!(greedy.lines().nth(2), Some(""));
    for batch_size in [1, 2, 3] {
        let options = format!("translate runs/c src --beam-width 1 --batch-size {batch_size}");
        assert_eq!(stdout(&folder, &options), greedy);
    }
    assert_eq!(stdout(&folder, "translate runs/c src --beam-width 1 --output out"), "");
    assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), greedy);
    folder.fails("translate runs/c src --output src", 2, &["also the input `src`"]);
    assert_eq!(fs::read_to_string(folder.path("src")).unwrap(), SRC);
}

#[test]
fn n_best_lines_have_three_columns_and_the_best_comes_first() {
    let folder = trained();
    let output = stdout(&folder, "translate runs/c src --n-best 2");
    let numbers: Vec<usize> = output
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(columns.len(), 3, "{line}");
            assert!(columns[1].parse::<f64>().unwrap() <= 0.0, "{line}");
            columns[0].parse().unwrap()
        })
        .collect();
    assert_eq!(numbers, [1, 1, 2, 2, 3, 4, 4, 5, 5]);
    let best: Vec<&str> = output.lines().step_by(2).take(2).collect();
    let plain = stdout(&folder, "translate runs/c src");
    for (row, text) in best.iter().zip(plain.lines()) {
        assert_eq!(row.split('\t').nth(2), Some(text));
    }
    folder.fails("translate runs/c src --n-best 3", 2, &["--beam-width"]);
    folder.fails("translate runs/c src --length-penalty=-1", 2, &["`--length-penalty`"]);
}

/// They come last, and nothing in the columns would tell.
#[test]
fn lines_with_translations_that_were_cut_off_are_named() {
    let folder = trained();
    let mut n_cut_off = 0;
    for limit in [1, 4, 30] {
        let search = format!("--n-best 2 --max-new-tokens {limit}");
        let json = stdout(&folder, &format!("translate runs/c src --json {search}"));
        let outcome = folder.run(&format!("translate runs/c src {search}"));
        let mut columns = outcome.stdout.lines();
        let mut warnings = outcome.stderr.lines();
        for (number, line) in (1..).zip(json.lines()) {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["line"], number);
            let translations = line["translations"].as_array().unwrap();
            let is_cut_off = |found: &&Value| found["finished"] == false;
            let n = translations.iter().filter(is_cut_off).count();
            assert!(translations.iter().rev().take(n).all(|found| is_cut_off(&found)));
            for found in translations {
                let text = columns.next().unwrap().split('\t').nth(2);
                assert_eq!(text, found["text"].as_str());
            }
            if n > 0 {
                let warning = warnings.next().unwrap();
                let about = format!("warning: line {number}: ");
                assert!(warning.starts_with(&about), "{warning}");
                assert!(warning.contains("cut off at the length limit"), "{warning}");
            }
            n_cut_off += n;
        }
        assert_eq!((columns.next(), warnings.next()), (None, None));
    }
    assert!(n_cut_off > 0);
}

#[test]
fn a_pipe_is_answered_line_by_line() {
    let folder = trained();
    let mut child = folder
        .command("translate runs/c --scores")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for (number, line) in (1..).zip(["1 2 3", "", "4\u{1}5"]) {
        writeln!(input, "{line}").unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.starts_with(&format!("{number}\t")), "{answer}");
    }
    drop(input);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("warning: line 3: 1 control character"), "{outcome:?}");
}

#[test]
fn an_evaluation_has_scores_with_signatures() {
    let folder = trained();
    folder.write("in", "1 2 3\n4 5 6 7\n").write("ref", "3 2 1\n7 6 5 4\n");
    let evaluation = json(&folder, "evaluate runs/c --src in --ref ref --json --output out");
    assert_eq!(evaluation["sentences"], 2);
    assert!(evaluation["bleu"]["signature"].as_str().unwrap().starts_with("nrefs:1|case:mixed"));
    assert!(evaluation["perplexity"].as_f64().unwrap() > 1.0);
    let translations = fs::read_to_string(folder.path("out")).unwrap();
    assert_eq!(translations, stdout(&folder, "translate runs/c in"));
    let score = json(&folder, "score out ref --metric bleu --json");
    assert_eq!(score[0]["value"], evaluation["bleu"]["value"]);
    folder.fails("evaluate runs/c --src in --ref src", 1, &["`in` has 2 lines, `src` has 5"]);
}

/// Imported models have keys that the family does not use.
#[test]
fn unused_keys_of_a_stored_configuration_are_ignored() {
    let folder = Folder::new();
    folder.write("c.toml", for_family(CONFIG, "seq2seq"));
    let command = "train c.toml --output s --set model.family=seq2seq --set model.recurrent.d_hidden=16";
    folder.succeeds(command);
    folder.write("src", "1 2 3\n").write("ref", "3 2 1\n");
    let commands = [
        "translate s src --beam-width 1",
        "evaluate s --src src --ref ref --beam-width 1 --json",
        "compare s --src src --ref ref --beam-width 1",
    ];
    let before = stdout(&folder, commands[0]);
    let path = folder.path("s/config.toml");
    let stored = fs::read_to_string(&path).unwrap();
    let changed = stored.replace("\nd_ff = 1024\n", "\nd_ff = 33\n");
    assert_ne!(stored, changed);
    fs::write(&path, changed).unwrap();
    forget_sums(&folder, "s");
    for command in commands {
        assert_ne!(stdout(&folder, command), "", "{command}");
    }
    assert_eq!(stdout(&folder, commands[0]), before);
    folder.fails("translate s src --length-penalty=-1", 2, &["`--length-penalty`"]);
}

#[test]
fn info_describes_a_model() {
    let folder = trained();
    let info = json(&folder, "info runs/c --json");
    assert_eq!((&info["src_vocab"], &info["tgt_vocab"]), (&14.into(), &14.into()));
    assert_eq!(info["provenance"]["step"], 6);
    assert_eq!(info["config"]["model"]["d_ff"], 32);
    let parts = info["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["n_parameters"].as_u64().unwrap()).sum();
    assert_eq!(info["n_parameters"], sum);
    let text = stdout(&folder, "info runs/c");
    for words in ["src.embedding.weight [14, 16]", "attentive 0.", "d_ff = 32", "validation BLEU"] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
}

#[test]
fn checkpoints_are_averaged_into_a_model() {
    let folder = trained();
    folder.succeeds("average runs/c --last 2 --output mean");
    assert_eq!(
        json(&folder, "info mean --json")["provenance"]["averaged_steps"].as_array().unwrap().len(),
        2
    );
    assert_eq!(stdout(&folder, "translate mean src").lines().count(), 5);
    folder.fails("average runs/c --last 2 --output mean", 2, &["`mean` already exists"]);
    folder.fails("average runs/c --last 99 --output other", 2, &["99"]);
}

#[test]
fn a_stopped_run_resumes_to_identical_weights() {
    let folder = trained();
    folder.succeeds("train c.toml --output parts --set train.max_steps=3");
    folder.fails("train c.toml --output parts", 2, &["`parts` already exists"]);
    folder.succeeds("train c.toml --output parts --resume");
    let weights = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
    assert!(weights("parts") == weights("runs/c"), "resuming gave other weights");
}

/// Settings whose state, or whose chance, a checkpoint must not lose.
const STATEFUL: [&str; 7] = [
    "train.optimizer={kind='muon',weight_decay=0.1}",
    "train.ema=0.1",
    "train.consistency=2.5",
    "train.bpe_dropout=0.3",
    "tokenizer.kind=unigram --set train.unigram_alpha=0.5",
    "train.augmentation={upper_case=0.3,typos=0.5,no_final_punctuation=0.5}",
    "train.schedule={kind='wsd',warmup_steps=2,cooldown_steps=2}",
];

#[test]
fn settings_with_a_state_of_their_own_resume_to_identical_weights() {
    let folder = Folder::new();
    let config = CONFIG.replace("kind = 'word'\nvocab_size = 14", "kind = 'bpe'\nvocab_size = 120");
    folder.write("c.toml", config.replace("'reverse'", "'grammar'"));
    let mut seen = std::collections::BTreeSet::new();
    for (number, setting) in STATEFUL.iter().enumerate() {
        let train = |out: &str, steps: u64| {
            let outcome = folder.run(&format!(
                "train c.toml --output {out} --resume --set train.max_steps={steps} --set {setting} --set \
                 train.schedule.decay_steps=6"
            ));
            assert_eq!(outcome.code, Some(0), "{setting}: {outcome:?}");
        };
        let [whole, parts] = ["whole", "parts"].map(|name| format!("{name}-{number}"));
        train(&whole, 6);
        train(&parts, 3);
        train(&parts, 6);
        let weights = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
        assert!(weights(&whole) == weights(&parts), "{setting}: resuming gave other weights");
        assert!(seen.insert(weights(&whole)), "{setting} changed nothing");
    }
}
