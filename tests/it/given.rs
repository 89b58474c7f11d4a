//! Training on lines in RAM, by the library.

use std::fs;
use std::path::Path;

use attentive::config::Config;
use attentive::data::{DataKind, Item, TagInput, read_in_memory};
use attentive::error::Result;
use attentive::interrupt::Interrupt;
use attentive::processes::Processes;
use attentive::train::report::Silent;
use attentive::train::{Existing, InMemoryCorpora, RunOptions, Summary, train_on};

use crate::run::Folder;

const PAIRS: [(&str, &str); 4] =
    [("a dog", "ein Hund"), ("two dogs", "zwei Hunde"), ("a cat", "eine Katze"), ("two cats", "zwei Katzen")];

/// A configuration with these corpora.
fn config(train: &str, valid: &str, max_steps: u64) -> Config {
    let text = format!(
        "[data]\ntrain = {{ {train} }}\nvalid = {{ {valid} }}\n[tokenizer]\nkind = 'word'\n[model]\nd_model \
         = 8\nn_heads = 2\n\
         d_ff = 16\nn_encoder_layers = 1\nn_decoder_layers = 1\n[train]\nmax_steps = \
         {max_steps}\nbatch_tokens = 64\n\
         validate_every = 2\npatience = 9\n"
    );
    Config::parse(&text, Path::new("given.toml"), &[]).unwrap()
}

fn run(config: &Config, given: InMemoryCorpora, out: &Path, existing: Existing) -> Result<Summary> {
    let options = RunOptions {
        out: out.to_path_buf(),
        existing,
        interrupt: Interrupt::none(),
        processes: Processes::alone(),
    };
    train_on(config, given, &options, &mut Silent)
}

fn pairs() -> InMemoryCorpora {
    let item = |(src, tgt): &(&str, &str)| Item::Translation { src: (*src).into(), tgt: (*tgt).into() };
    InMemoryCorpora { train: PAIRS.iter().map(item).collect(), valid: PAIRS[..2].iter().map(item).collect() }
}

#[test]
fn lines_in_ram_give_the_weights_of_the_same_lines_in_files() {
    let folder = Folder::new();
    let line = |(src, tgt): &(&str, &str)| format!("{src}\t{tgt}\n");
    folder.write("train.tsv", PAIRS.iter().map(line).collect::<String>());
    folder.write("valid.tsv", PAIRS[..2].iter().map(line).collect::<String>());
    let file = |name| format!("tsv = {:?}", folder.path(name));
    let [in_files, in_ram] = ["files", "ram"].map(|name| folder.path(name));
    let of_files = config(&file("train.tsv"), &file("valid.tsv"), 6);
    run(&of_files, InMemoryCorpora::default(), &in_files, Existing::Refuse).unwrap();
    // The run stops halfway and goes on.
    let of_ram = |max_steps| config("in_memory = 4", "in_memory = 2", max_steps);
    run(&of_ram(3), pairs(), &in_ram, Existing::Refuse).unwrap();
    let summary = run(&of_ram(6), pairs(), &in_ram, Existing::Resume).unwrap();
    assert_eq!(summary.resumed_at, Some(3));
    let weights = |run: &Path| fs::read(run.join("checkpoints/step-00000006/model.safetensors")).unwrap();
    assert_eq!(weights(&in_files), weights(&in_ram));
}

#[test]
fn a_run_goes_on_with_the_same_lines_only() {
    let folder = Folder::new();
    let (out, of_ram) = (folder.path("run"), config("in_memory = 4", "in_memory = 2", 2));
    run(&of_ram, pairs(), &out, Existing::Refuse).unwrap();
    let mut other = pairs();
    other.train.swap(0, 1);
    let error = run(&of_ram, other, &out, Existing::Resume).unwrap_err();
    assert!(error.to_string().contains("has changed"), "{error}");
    let mut fewer = pairs();
    fewer.train.pop();
    let error = run(&of_ram, fewer, &out, Existing::Resume).unwrap_err();
    assert_eq!(error.to_string(), "the training data are 4 lines in RAM, and the program gives 3");
    // The command line has no such lines.
    folder.fails(
        "train run/config.toml --output run --resume",
        1,
        &["lines in RAM", "only the program that has these lines"],
    );
    folder.fails("evaluate run --valid", 1, &["lines in RAM"]);
}

#[test]
fn the_identity_of_lines_depends_on_their_borders() {
    let sum = |items: Vec<Item>| {
        let corpus = read_in_memory(DataKind::TaggedTokens, items, Default::default(), &mut |_| ()).unwrap();
        corpus.sources()[0].sha256.clone()
    };
    let tagged = |tokens: &[&str], tags: &[&str]| {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Item::Tagged { input: TagInput::Tokens(words(tokens)), tags: words(tags) }
    };
    let one = || tagged(&["a", "bc"], &["x", "y"]);
    assert_eq!(sum(vec![one()]), sum(vec![one()]));
    assert_ne!(sum(vec![one()]), sum(vec![tagged(&["ab", "c"], &["x", "y"])]));
    assert_ne!(sum(vec![one()]), sum(vec![one(), one()]));
}

#[test]
fn a_misfit_is_named_by_its_line() {
    let tagged = |tags: &str| Item::Tagged {
        input: TagInput::Tokens(vec!["a".into(), "dog".into()]),
        tags: tags.split(' ').map(str::to_owned).collect(),
    };
    let items = vec![tagged("x y"), tagged("x")];
    let error = read_in_memory(DataKind::TaggedTokens, items, Default::default(), &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "line 2 of the given corpus: 1 tag for 2 tokens; expected one each");
}
