//! What a translation depends on: the sentence and the model, but not batches, threads, order or, in 8-bit
//! integers, the CPU.

use std::fmt::Debug;
use std::path::Path;

use attentive::checkpoint::{self, files};
use attentive::shortlist::{ShortlistLimits, learn};
use serde_json::Value;

use crate::run::{Folder, Outcome, program};

const CONFIG: &str = "
[data]
train = { builtin = 'reverse', pairs = 400 }
valid = { builtin = 'reverse', pairs = 10 }
max_len = 64

[tokenizer]
kind = 'word'
vocab_size = 14

[model]
d_model = 72
d_ff = 300
n_heads = 3
n_encoder_layers = 2
n_decoder_layers = 2
max_len = 64

[train]
max_steps = 30
batch_tokens = 512
validate_every = 0
optimizer = { learning_rate = 0.005 }
schedule = { warmup_steps = 4 }
";

const TYPES: [&str; 3] = ["f32", "bf16", "int8"];
const INSTRUCTION_SETS: [&str; 5] = ["portable", "avx2", "avx512", "vnni", "amx"];

/// Sentences in the file `name`, in a different order in `name-shuffled`.
struct Sentences<'a> {
    folder: &'a Folder,
    name: &'static str,
    order: Vec<usize>,
}

impl<'a> Sentences<'a> {
    fn new(folder: &'a Folder, name: &'static str, lines: &[String]) -> Self {
        // 77 has no factor in common with the numbers of lines that are used.
        let order: Vec<usize> = (0..lines.len()).map(|i| i * 77 % lines.len()).collect();
        let shuffled: Vec<&str> = order.iter().map(|&line| lines[line].as_str()).collect();
        folder
            .write(name, lines.join("\n") + "\n")
            .write(&format!("{name}-shuffled"), shuffled.join("\n") + "\n");
        Self { folder, name, order }
    }

    /// What is written for each sentence of `file`.
    fn run(&self, file: &str, options: &str, set: Option<&str>) -> Vec<String> {
        let arguments = format!("translate run {file} {options}");
        let mut command = self.folder.command(&arguments);
        if let Some(set) = set {
            command.env("ATTENTIVE_ISA", set);
        }
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let lines: Vec<String> = outcome.stdout.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), self.order.len());
        lines
    }

    /// Texts and scores of the translations of each sentence of `file`.
    fn translate(&self, file: &str, options: &str, set: Option<&str>) -> Vec<Value> {
        let lines = self.run(file, &format!("{options} --json"), set);
        let translations = lines.iter().map(|line| {
            let mut object: Value = serde_json::from_str(line).unwrap();
            object["translations"].take()
        });
        translations.collect()
    }

    fn depend_on_nothing_else(&self, beams: &[usize]) {
        for to in TYPES {
            for beam in beams {
                let options = format!("--precision {to} --beam-width {beam}");
                self.check(to, &options, &format!("{options} --n-best {beam}"));
            }
        }
    }

    /// `plain` options write the best text alone, without scores.
    fn check(&self, to: &str, plain: &str, options: &str) {
        let alone = self.translate(self.name, &format!("{options} --batch-size 1 --threads 1"), None);
        let best = |list: &Value| list[0]["text"].as_str().unwrap().to_owned();
        let texts: Vec<String> = alone.iter().map(best).collect();
        // 0 is the number that is usually fastest.
        for batch_size in [0, 1, 7] {
            for threads in [1, 2] {
                let how = format!("--batch-size {batch_size} --threads {threads}");
                let found = self.translate(self.name, &format!("{options} {how}"), None);
                assert_equal(&found, &alone, &format!("{options} {how}"));
                let found = self.run(self.name, &format!("{plain} {how}"), None);
                assert_equal(&found, &texts, &format!("{plain} {how}"));
            }
        }
        let shuffled = self.translate(&format!("{}-shuffled", self.name), options, None);
        let expected: Vec<Value> = self.order.iter().map(|&line| alone[line].clone()).collect();
        assert_equal(&shuffled, &expected, &format!("{options}, shuffled"));
        // In other types, the order of sums depends on the instructions.
        for set in INSTRUCTION_SETS.into_iter().filter(|_| to == "int8") {
            let found = self.translate(self.name, options, Some(set));
            assert_equal(&found, &alone, &format!("{options} with {set}"));
        }
    }
}

fn assert_equal<T: PartialEq + Debug>(found: &[T], expected: &[T], how: &str) {
    for (line, (found, expected)) in (1..).zip(found.iter().zip(expected)) {
        assert_eq!(found, expected, "line {line}: {how}");
    }
}

/// Sentences of 0 to 40 digits.
fn digits(lines: usize) -> Vec<String> {
    let line = |n: usize| {
        let words: Vec<String> =
            (0..n * 7 % 41).map(|place| ((n * n + place * (n + 3)) % 10).to_string()).collect();
        words.join(" ")
    };
    (0..lines).map(line).collect()
}

fn train(settings: &str) -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    folder.succeeds(&format!("train c.toml --output run {settings}"));
    folder
}

#[test]
fn translations_of_a_transformer_depend_on_the_sentence_alone() {
    let folder = train("");
    Sentences::new(&folder, "in", &digits(30)).depend_on_nothing_else(&[1, 5]);
}

#[test]
fn translations_with_a_recurrent_decoder_depend_on_the_sentence_alone() {
    let folder = train("--set model.decoder=recurrent --set model.recurrent.d_hidden=72");
    Sentences::new(&folder, "in", &digits(20)).depend_on_nothing_else(&[3]);
}

/// Sentences with candidates of their own share the columns of the output projection.
#[test]
fn translations_with_a_shortlist_depend_on_the_sentence_alone() {
    let folder = train("");
    let lines = digits(30);
    let tokenizers = checkpoint::load(&folder.path("run")).unwrap().tokenizers;
    let ids = |line: &String| tokenizers.src().encode(line).unwrap();
    let pairs: Vec<_> = lines.iter().map(|line| (ids(line), ids(line))).collect();
    let vocab = tokenizers.tgt().vocab_size();
    let limits = ShortlistLimits { per_token: 2, min_probability: 0.0, frequent: 1 };
    let end = tokenizers.tgt().special().eos;
    let shortlist = learn(&pairs, [vocab; 2], &[end], limits);
    let mut file = Vec::new();
    checkpoint::write_shortlist(&shortlist, &mut file).unwrap();
    std::fs::write(folder.path("run").join(files::SHORTLIST), file).unwrap();
    let sentences = Sentences::new(&folder, "in", &lines);
    sentences.depend_on_nothing_else(&[1, 5]);
    let [with, without] = ["", "--no-shortlist"].map(|option| sentences.translate("in", option, None));
    assert_ne!(with, without);
}

/// A model that has barely learned writes long sentences, in which any difference would grow.
#[test]
#[ignore = "needs ../shared/data/multi30k and some ten minutes"]
fn translations_of_real_text_depend_on_the_sentence_alone() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new();
    let mut train = program();
    train
        .current_dir(repository)
        .args(["train", "tests/fixtures/multi30k-pytorch.toml", "--output"])
        .arg(folder.path("run"));
    for setting in [
        "train.max_steps=150",
        "train.validate_every=0",
        "train.schedule.warmup_steps=100",
        "model.n_encoder_layers=2",
        "model.n_decoder_layers=2",
    ] {
        train.args(["--set", setting]);
    }
    let outcome = Outcome::from(train.output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let path = repository.join("../shared/data/multi30k/test_2016_flickr.en");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<String> = text.lines().take(100).map(str::to_owned).collect();
    Sentences::new(&folder, "in", &lines).depend_on_nothing_else(&[1, 5]);
}
