//! Weights of the lines of a corpus.

use crate::cli_damage::weights;
use crate::cli_model::stdout;
use crate::run::{Folder, Outcome};

/// Letters, each translated into a digit and, in the other half of the lines, into a capital letter.
fn prepared() -> Folder {
    let folder = Folder::new();
    let letters = ["a b c", "b a", "c c a", "a", "b c a b", "c b"];
    let digits = |line: &str| line.replace('a', "1").replace('b', "2").replace('c', "3");
    let mut files = [const { String::new() }; 4];
    for (number, line) in letters.iter().cycle().take(60).enumerate() {
        let (is_digit, other) = (number / 6 % 2 == 0, line.to_uppercase());
        let target = if is_digit { digits(line) } else { other };
        let lines = [*line, &*target, if is_digit { "1" } else { "0" }, "1.0"];
        files.iter_mut().zip(lines).for_each(|(file, line)| *file += &format!("{line}\n"));
    }
    let [src, tgt, digits, ones] = files;
    let table = src.lines().zip(tgt.lines()).map(|(src, tgt)| format!("{src}\t{tgt}\n"));
    folder.write("tsv", format!("source\ttarget\n{}", table.collect::<String>()));
    folder.write("src", src).write("tgt", tgt).write("digits", digits).write("ones", ones);
    let config = "[data]\ntrain = { src = 'src', tgt = 'tgt' }\n[tokenizer]\nkind = 'word'\nvocab_size = 20\n\
                  [model]\nd_model = 16\nd_ff = 32\nn_heads = 2\nn_encoder_layers = 1\nn_decoder_layers = 1\n\
                  norm_position = 'pre'\npositions = 'rotary'\ndropout = 0.0\n[train]\nmax_steps = 200\n\
                  batch_tokens = 256\nlabel_smoothing = 0.0\noptimizer = { learning_rate = 0.02 }\n\
                  schedule = { warmup_steps = 20 }\n[decode]\nbeam_width = 1\n";
    folder.write("c.toml", config).write("in", "b a\nc c a\n");
    folder
}

fn train(folder: &Folder, arguments: &str) -> Outcome {
    folder.succeeds(&format!("train c.toml {arguments}"))
}

#[test]
fn lines_of_weight_zero_teach_nothing() {
    let folder = prepared();
    for store in ["memory", "disk"] {
        train(&folder, &format!("--output {store} --set data.train.weights=digits --set data.store={store}"));
    }
    assert_eq!(stdout(&folder, "translate memory in"), "2 1\n3 3 1\n");
    assert!(weights(&folder, "memory") == weights(&folder, "disk"));
    let table = "--set data.train={tsv=\"tsv\",columns=[\"source\",\"target\"],weights=\"digits\"}";
    train(&folder, &format!("--output table {table}"));
    assert!(weights(&folder, "memory") == weights(&folder, "table"));
    // In two parts.
    for part in ["--set train.max_steps=90", "--resume"] {
        train(&folder, &format!("--output parts --set data.train.weights=digits {part}"));
    }
    assert!(weights(&folder, "memory") == weights(&folder, "parts"));
}

#[test]
fn cropped_lines_are_counted() {
    let folder = prepared();
    let outcome =
        train(&folder, "--output r --set train.max_steps=1 --set data.max_len=3 --set data.crop=true");
    assert!(outcome.stderr.contains("of them cropped to sides of 3 tokens"), "{outcome:?}");
}

#[test]
fn weights_of_one_change_nothing() {
    let folder = prepared();
    let few = "--set train.max_steps=10";
    train(&folder, &format!("--output without {few}"));
    train(&folder, &format!("--output all-one --set data.train.weights=ones {few}"));
    train(&folder, &format!("--output some-zero --set data.train.weights=digits {few}"));
    assert!(weights(&folder, "without") == weights(&folder, "all-one"));
    assert!(weights(&folder, "without") != weights(&folder, "some-zero"));
}

#[test]
fn what_is_no_weight_is_refused_with_its_line() {
    let folder = prepared();
    folder.write("few", "1\n".repeat(59)).write("many", "1\n".repeat(61));
    for (name, third) in [("word", "heavy"), ("negative", "-1"), ("undefined", "nan"), ("empty", "")] {
        folder.write(name, format!("1\n1\n{third}\n{}", "1\n".repeat(57)));
    }
    for (file, expected) in [
        ("few", "`few` has fewer lines than `tgt`"),
        ("many", "`many` has more lines than `tgt`"),
        ("word", "`word`, line 3: expected a weight, which is a number from 0 to 1000000, found `heavy`"),
        ("negative", "line 3"),
        ("undefined", "line 3"),
        ("empty", "line 3"),
        ("missing", "missing"),
    ] {
        folder.fails(&format!("train c.toml --set data.train.weights={file}"), 1, &[expected]);
    }
    for (arguments, expected) in [
        (
            "--set data.train={builtin=\"reverse\",pairs=9,weights=\"ones\"}",
            "only files of lines have weights",
        ),
        ("--set data.valid={src=\"src\",tgt=\"tgt\",weights=\"ones\"}", "validation has no weights"),
        ("--set data.train={tmx=\"x\",languages=[\"a\",\"b\"],weights=\"ones\"}", "only files of lines"),
    ] {
        folder.fails(&format!("train c.toml {arguments}"), 2, &["weights", expected]);
    }
}
