//! Guided alignment: a head of the decoder learns to attend as `attentive align` links words.

use std::fs;

use serde_json::Value;

use crate::cli_model::CONFIG;
use crate::run::Folder;

/// A folder with a corpus of pairs whose words stand in reverse order, and a configuration.
fn prepared() -> Folder {
    let folder = Folder::new();
    let words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let line = |n: usize, is_reversed: bool| {
        let digits = [n % 10, n / 10 % 10, n * 7 % 10, n / 3 % 10];
        let mut line: Vec<String> =
            digits[..3 + n % 2].iter().map(|&digit| words[digit].to_owned()).collect();
        if is_reversed {
            line.reverse();
            line.iter_mut().for_each(|word| *word = word.to_uppercase());
        }
        line.join(" ") + ".\n"
    };
    let side = |is_reversed| (0..400).map(|n| line(n, is_reversed)).collect::<String>();
    let config = CONFIG
        .replace("train = { builtin = 'reverse', pairs = 200 }", "train = { src = 'src', tgt = 'tgt' }")
        .replace("valid = { builtin = 'reverse', pairs = 10 }", "")
        .replace("kind = 'word'\nvocab_size = 14", "kind = 'bpe'\nvocab_size = 80")
        .replace("n_heads = 2", "n_heads = 2\nalignment_head = 2")
        .replace("max_steps = 6", "max_steps = 40")
        .replace("validate_every = 3", "validate_every = 0");
    folder.write("src", side(false)).write("tgt", side(true)).write("c.toml", config);
    folder.succeeds("align src tgt --output links");
    folder
}

/// Links of words that were cut off are no sign of other text.
#[test]
fn alignments_of_cropped_pairs_fit() {
    let folder = prepared();
    train(
        &folder,
        &format!("{GUIDED} --output cut --set train.max_steps=2 --set data.crop=true --set data.max_len=5"),
    );
}

const GUIDED: &str = "--set train.guided_alignment=1 --set data.alignments=links";

fn train(folder: &Folder, arguments: &str) {
    let outcome = folder.run(&format!("train c.toml {arguments}"));
    assert_eq!(outcome.code, Some(0), "{arguments}: {outcome:?}");
}

fn weights(folder: &Folder, run: &str) -> Vec<u8> {
    fs::read(folder.path(run).join("model.safetensors")).unwrap()
}

/// The share of the links of `attentive align` that are where the attention of `run`, whose tokens are words,
/// is strongest.
fn agreement(folder: &Folder, run: &str) -> f64 {
    let outcome = folder.succeeds(&format!("rescore {run} --src src --tgt tgt --soft-alignments --json"));
    let links = fs::read_to_string(folder.path("links")).unwrap();
    let (mut found, mut all) = (0, 0);
    for (pair, links) in outcome.stdout.lines().zip(links.lines()) {
        let pair: Value = serde_json::from_str(pair).unwrap();
        for link in links.split(' ') {
            let (src, tgt) = link.split_once('-').unwrap();
            let row = pair["soft_alignment"][tgt.parse::<usize>().unwrap()].as_array().unwrap();
            let weight = |place: usize| row[place].as_f64().unwrap();
            let best = (0..row.len()).max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap();
            all += 1;
            found += usize::from(src.parse() == Ok(best));
        }
    }
    f64::from(found as u32) / f64::from(all)
}

#[test]
fn the_head_learns_the_alignments() {
    let folder = prepared();
    let words =
        "--set tokenizer.kind=word --set train.max_steps=500 --set train.optimizer.learning_rate=0.01";
    train(&folder, &format!("--output plain {words}"));
    train(&folder, &format!("--output guided {words} {GUIDED}"));
    let [plain, guided] = ["plain", "guided"].map(|run| agreement(&folder, run));
    assert!(guided > 0.9 && guided > plain + 0.2, "{plain} without, {guided} with");
}

#[test]
fn guided_runs_resume_to_identical_bits_from_ram_and_disk() {
    let folder = prepared();
    let more = format!("{GUIDED} --set train.bpe_dropout=0.1 --set train.max_steps=6");
    train(&folder, &format!("--output whole {more}"));
    train(&folder, &format!("--output parts {more} --set train.max_steps=3"));
    train(&folder, &format!("--output parts {more} --resume"));
    train(&folder, &format!("--output disk {more} --set data.store=disk"));
    assert!(weights(&folder, "whole") == weights(&folder, "parts"));
    assert!(weights(&folder, "whole") == weights(&folder, "disk"));
}

#[test]
fn alignments_of_another_corpus_are_refused() {
    let folder = prepared();
    let links = fs::read_to_string(folder.path("links")).unwrap();
    let shifted: String = links.lines().skip(1).chain([""]).map(|line| format!("{line}\n")).collect();
    for (content, complaint) in [
        (links.split_once('\n').unwrap().1.to_owned(), "has 399 lines, but the training corpus has 400"),
        (links.replace('0', "9"), "does not fit the training corpus"),
        (shifted, "does not fit the training corpus"),
        (links.replacen("0-", "x-", 1), "is no link"),
    ] {
        folder.write("other", content);
        for store in ["memory", "disk"] {
            let command = format!(
                "train c.toml --output x --set train.guided_alignment=1 --set data.alignments=other --set \
                 data.store={store}"
            );
            folder.fails(&command, 1, &["`other`", complaint]);
        }
    }
    for (arguments, complaint) in [
        ("--set train.guided_alignment=1", "there are no alignments (`data.alignments`)"),
        (
            "--set data.alignments=links",
            "`train.guided_alignment` and `train.augmentation.inline_tags` are 0",
        ),
        (&format!("{GUIDED} --set model.alignment_head=0"), "`model.alignment_head`"),
        (&format!("{GUIDED} --set train.device=gpu"), "since `train.device` is `gpu`"),
    ] {
        folder.fails(&format!("train c.toml --output x {arguments}"), 2, &[complaint]);
    }
}
