//! Causal language models: training on lines and on a stream, generation, evaluation.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::cli_model::{stdout, trained};
use crate::run::{Folder, Outcome};

const MODEL: &str = "
[model]
family = 'decoder_only'
d_model = 16
d_ff = 32
n_heads = 2
n_decoder_layers = 1
max_len = 32

[train]
max_steps = 6
batch_tokens = 256
validate_every = 3
save_every = 2
schedule = { warmup_steps = 2 }
";

const TEXT: &str = "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n";

/// A folder with a model trained on lines in `runs/lines` and a character model trained on a stream in
/// `runs/stream`.
pub(crate) fn language_models() -> Folder {
    let folder = Folder::new();
    let lines = "
[data]
train = { builtin = 'grammar', pairs = 200 }
valid = { builtin = 'grammar', pairs = 20 }
max_len = 32

[tokenizer]
vocab_size = 300
";
    let stream = "
[data]
train = { text = 'text' }
hold_out = 0.1
units = 'stream'

[tokenizer]
kind = 'char'
min_frequency = 1
";
    folder
        .write("lines.toml", lines.to_owned() + MODEL)
        .write("stream.toml", stream.to_owned() + MODEL)
        .write("text", TEXT.repeat(9));
    for config in ["lines.toml", "stream.toml"] {
        folder.succeeds(&format!("train {config}"));
    }
    folder
}

fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn samples_depend_only_on_seed_and_number() {
    let folder = language_models();
    let draw = |options: &str| {
        let arguments = format!("generate runs/stream --max-new-tokens 50 --json {options}");
        json_lines(&stdout(&folder, &arguments))
    };
    let three = draw("--n-best 3 --seed 5");
    assert_eq!(three.len(), 3);
    assert_eq!(draw("--seed 5"), three[..1]);
    assert_ne!(three[0]["text"], three[1]["text"]);
    assert_ne!(draw("--seed 6"), three[..1]);
    for sample in &three {
        assert_eq!(sample["ending"], "max_new_tokens");
        assert_eq!(sample["tokens"].as_array().unwrap().len(), 50);
        assert_eq!(sample["text"].as_str().unwrap().chars().count(), 50);
    }
    assert_eq!(draw("--greedy --seed 1"), draw("--temperature 0 --seed 2"));
    assert_eq!(draw("--greedy"), draw("--top-k 1"));
    let threads = draw("--n-best 3 --seed 5 --threads 1");
    assert_eq!(threads, three);
}

#[test]
fn text_includes_its_prompt() {
    let folder = language_models();
    let options = "--prompt Speak --n-best 2 --max-new-tokens 40";
    let samples = json_lines(&stdout(&folder, &format!("generate runs/stream --json {options}")));
    let text = |sample: &Value| "Speak".to_owned() + sample["text"].as_str().unwrap();
    let expected = format!("{}\n---\n{}\n", text(&samples[0]), text(&samples[1]));
    assert_eq!(stdout(&folder, &format!("generate runs/stream {options}")), expected);

    let first = samples[0]["text"].as_str().unwrap();
    let stop = first.split_whitespace().next().unwrap();
    let stopped = stdout(&folder, &format!("generate runs/stream {options} --json --stop {stop}"));
    let before = first.split(stop).next().unwrap();
    assert_eq!(json_lines(&stopped)[0]["text"], before);
    assert_eq!(json_lines(&stopped)[0]["ending"], "stopped");
}

#[test]
fn models_trained_on_lines_generate_lines() {
    let folder = language_models();
    let text = stdout(&folder, "generate runs/lines --n-best 20 --prompt Der");
    assert_eq!(text.lines().count(), 20);
    assert!(text.lines().all(|line| line.starts_with("Der")), "{text}");
    let samples = stdout(&folder, "generate runs/lines --n-best 20 --json");
    for sample in json_lines(&samples) {
        let ending = sample["ending"].as_str().unwrap();
        assert!(["end_of_text", "context_full"].contains(&ending), "{sample}");
        assert!(!sample["text"].as_str().unwrap().starts_with(' '), "{sample}");
    }
}

#[test]
fn invalid_generation_options_are_refused() {
    let folder = language_models();
    let fails = |options: &str, complaint: &[&str]| {
        folder.fails(&format!("generate runs/stream {options}"), 2, complaint);
    };
    fails("--temperature -1", &["`--temperature`: expected a finite number, 0 or more", "found -1"]);
    fails("--temperature NaN", &["NaN"]);
    fails("--top-p 0", &["`--top-p`: expected a number above 0", "found 0"]);
    fails("--top-p 1.5", &["at most 1", "found 1.5"]);
    fails("--max-new-tokens 0", &["0 new tokens"]);
    fails("--n-best 0", &["--n-best"]);
    fails("--greedy --top-k 3", &["--greedy", "--top-k"]);
    fails("--stop=", &["empty stop string", "hint: "]);
    let long = "e".repeat(33);
    fails(&format!("--prompt {long}"), &["33 tokens", "holds 32", "hint: "]);
    let unknown = folder.succeeds("generate runs/stream --prompt Ω --max-new-tokens 3");
    assert!(unknown.stderr.starts_with("warning: 1 of 1 token not in"), "{unknown:?}");
    folder.fails("generate missing", 1, &["`missing"]);
    let complaint = ["continues texts", "attentive generate"];
    folder.fails("translate runs/lines text", 2, &complaint);
    trained().fails("generate runs/c", 2, &["translates", "attentive translate"]);
}

#[test]
fn a_language_model_is_evaluated_on_a_text() {
    let folder = language_models();
    let json = |arguments: &str| -> Value {
        serde_json::from_str(&stdout(&folder, &format!("evaluate {arguments} --json"))).unwrap()
    };
    let stream = json("runs/stream --text text");
    let characters = TEXT.len() * 9 - 1;
    assert_eq!((&stream["tokens"], &stream["characters"]), (&characters.into(), &characters.into()));
    let bits = stream["bits_per_character"].as_f64().unwrap();
    assert!((stream["perplexity"].as_f64().unwrap().log2() - bits).abs() < 1e-9);
    assert!(bits > 1.0 && bits < 8.0, "{bits}");
    folder.write("german", "Der Hund sieht die Katze .\n\nDer Mann schläft .\n");
    let lines = json("runs/lines --text german");
    assert_eq!(lines["characters"], 27 + 19);
    let text = stdout(&folder, "evaluate runs/lines --text german");
    for words in ["perplexity = ", "bits per character = ", "46 characters"] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    folder.write("empty", "");
    folder.fails("evaluate runs/lines --text empty", 1, &["no line", "hint: "]);
    folder.fails("evaluate runs/stream --text empty", 1, &["nothing to predict"]);
    folder.fails("evaluate runs/lines", 2, &["--text <FILE>"]);
    let wrong = "evaluate runs/lines --src text --ref text";
    folder.fails(wrong, 2, &["cannot be evaluated on data of this form", "`--text`"]);
    folder.fails("evaluate runs/lines --src text --text text", 2, &["--text"]);
    folder.fails("evaluate runs/lines --text text --beam-width 2", 2, &["search options"]);
    folder.fails(
        "evaluate runs/lines --text text --cache-precision bf16",
        2,
        &["only models that translate", "leave `--cache-precision` out"],
    );
}

#[test]
fn stopped_runs_resume_to_identical_weights() {
    let folder = language_models();
    let weights = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
    for name in ["lines", "stream"] {
        let train = format!("train {name}.toml --output {name} --set train.max_steps");
        for command in [format!("{train}=3"), format!("{train}=6 --resume")] {
            folder.succeeds(&command);
        }
        assert!(weights(name) == weights(&format!("runs/{name}")), "{name}");
    }
}

#[test]
fn unsuitable_corpora_are_refused() {
    let folder = language_models();
    folder
        .write("empty", "")
        .write("blank", "\n \n")
        .write("short", "a b c d e f g h\n")
        .write("pairs", "a\tb\n");
    let fails = |config: &str, set: &str, code: i32, complaint: &[&str]| {
        let sets: Vec<String> = set.split(' ').map(|set| format!("--set {set}")).collect();
        let arguments = format!("train {config}.toml --force --output x {}", sets.join(" "));
        let outcome = folder.run(&arguments);
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        for words in complaint {
            assert!(outcome.stderr.contains(words), "`{words}` is not in {outcome:?}");
        }
    };
    let text = |name: &str| format!("data.train={{text='{name}'}}");
    for config in ["lines", "stream"] {
        fails(config, &text("missing"), 1, &["cannot read `missing`"]);
        fails(config, &text("empty"), 1, &["`empty`", "0 of 0 lines kept"]);
        fails(config, "data.train={tsv='pairs'}", 2, &["`data.train`", "`text`"]);
    }
    fails("lines", &text("blank"), 1, &["0 of 2 lines kept"]);
    fails("stream", &text("short"), 1, &["window of 32 tokens", "hint: "]);
    fails("stream", "train.batch_tokens=31", 2, &["`train.batch_tokens`", "32"]);
    fails("lines", "model.family='transformer' data.units='stream'", 2, &["`data.units`"]);
}

#[test]
fn text_is_written_as_it_is_generated() {
    /// Size of an ordinary output buffer, which would hold back the text.
    const BUFFER_BYTES: usize = 8192;
    let folder = language_models();
    let mut child = folder
        .command("generate runs/stream --max-new-tokens 1000000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = child.stdout.take().unwrap();
    let mut piece = [0; 2 * BUFFER_BYTES];
    for _ in 0..2 {
        let bytes = text.read(&mut piece).unwrap();
        assert!((1..BUFFER_BYTES).contains(&bytes), "{bytes}");
    }
    drop(text);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
}
