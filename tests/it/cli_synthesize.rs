//! `attentive synthesize`: corpora of translations, also after `kill -9`.

use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cli_damage::start;
use crate::cli_model::trained;
use crate::run::Folder;

/// A folder with a model and a text of some parts.
fn prepared() -> Folder {
    let folder = trained();
    let line = |n: usize| match n {
        3 => "\n".to_owned(),
        n => format!("{} {} {}\n", n % 10, n / 10 % 10, n / 100 % 10),
    };
    folder.write("text", (0..2500).map(line).collect::<String>());
    folder
}

fn corpus(folder: &Folder, arguments: &str) -> Vec<Vec<String>> {
    let outcome = folder.succeeds(&format!("synthesize runs/c text --output pairs.tsv {arguments}"));
    assert!(outcome.stderr.contains("of 2,500 lines"), "{outcome:?}");
    let text = fs::read_to_string(folder.path("pairs.tsv")).unwrap();
    fs::remove_file(folder.path("pairs.tsv")).unwrap();
    assert!(!folder.path("pairs.tsv.parts").exists());
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Search would go on to the length limit: the model is hardly trained.
const DRAWN: &str = "--sample --temperature 2 --seed 3";

#[test]
fn the_text_is_never_replaced() {
    let folder = prepared();
    folder.fails("synthesize runs/c text --output ./text", 2, &["`./text` is also the input `text`"]);
    folder.fails("synthesize runs/c text --output -", 2, &["cannot be standard output"]);
}

#[test]
fn pairs_are_lines_and_their_translations() {
    let folder = prepared();
    let text = fs::read_to_string(folder.path("text")).unwrap();
    let translated = folder.run(&format!("translate runs/c text --scores {DRAWN}"));
    let expected: Vec<(String, String)> = translated
        .stdout
        .lines()
        .map(|line| {
            let [_, score, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            (text.to_owned(), score.to_owned())
        })
        .collect();
    let sources: Vec<&str> = text.lines().collect();
    let (found, backward) = (corpus(&folder, DRAWN), corpus(&folder, &format!("--backward {DRAWN}")));
    // Lines whose translation was cut off give no pairs.
    let cut_off: BTreeSet<usize> = translated
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("warning: line ")?.split_once(": the translation was cut off"))
        .map(|(line, _)| line.parse().unwrap())
        .collect();
    let lines = (1..).zip(sources.iter().zip(&expected));
    let pairs: Vec<[String; 3]> = lines
        .filter(|(line, (src, (tgt, _)))| !src.is_empty() && !tgt.is_empty() && !cut_off.contains(line))
        .map(|(_, (src, (tgt, score)))| [(*src).to_owned(), tgt.clone(), score.clone()])
        .collect();
    assert!(pairs.len() > 20, "{} pairs", pairs.len());
    assert_eq!(found, pairs);
    let exchanged: Vec<[String; 3]> = pairs.into_iter().map(|[src, tgt, score]| [tgt, src, score]).collect();
    assert_eq!(backward, exchanged);
}

#[test]
fn a_killed_synthesis_continues_to_the_same_corpus() {
    let folder = prepared();
    let command = "synthesize runs/c text --sample --seed 5 --n-best 2 --output";
    assert_eq!(folder.run(&format!("{command} whole.tsv")).code, Some(0));
    let mut child = start(&folder, &format!("{command} parts.tsv"));
    let first = folder.path("parts.tsv.parts/000000.json");
    let begun = Instant::now();
    while !first.exists() && !folder.path("parts.tsv").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no part in two minutes");
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if !folder.path("parts.tsv").exists() {
        let made = fs::metadata(&first).unwrap().modified().unwrap();
        // Other options, another text and another model are refused.
        folder.fails(&format!("{command} parts.tsv --temperature 0.5"), 2, &["corpus of other options"]);
        folder.fails(
            "synthesize runs/c src --sample --seed 5 --n-best 2 --output parts.tsv",
            2,
            &["corpus of another text", "delete this folder"],
        );
        assert_eq!(fs::metadata(&first).unwrap().modified().unwrap(), made);
        assert_eq!(folder.run(&format!("{command} parts.tsv")).code, Some(0));
    }
    let read = |name: &str| fs::read(folder.path(name)).unwrap();
    assert!(read("parts.tsv") == read("whole.tsv"));
    folder.fails(&format!("{command} whole.tsv"), 2, &["`whole.tsv` already exists"]);
}

#[test]
fn the_translation_that_is_closest_to_the_reference_is_chosen() {
    let folder = prepared();
    let all = corpus(&folder, "--sample --n-best 8 --temperature 2");
    let text = fs::read_to_string(folder.path("text")).unwrap();
    folder.write("references", &text);
    let closest =
        corpus(&folder, "--sample --n-best 8 --temperature 2 --closest chrf --references references");
    assert!(closest.len() < all.len() && closest.len() > 1000, "{} of {}", closest.len(), all.len());
    let is_equal = |pair: &Vec<String>| pair[0] == pair[1];
    // Neighboring lines differ. What equals its reference is chosen.
    let lines = all.chunk_by(|a, b| a[0] == b[0]).filter(|line| line.iter().any(is_equal)).count();
    assert_eq!(closest.iter().filter(|pair| is_equal(pair)).count(), lines);
    assert!(lines > 0);
    for arguments in ["--closest chrf", "--references text", "--closest chrf --references text"] {
        let outcome = folder.run(&format!("synthesize runs/c text --output x.tsv {arguments}"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
    }
    folder.fails(
        "synthesize runs/c text --n-best 2 --closest chrf --references src --output x.tsv",
        1,
        &["`text` has 2,500 lines, `src` has 5"],
    );
}

#[test]
fn back_translations_are_trained_on_with_a_tag() {
    let folder = prepared();
    folder.succeeds("synthesize runs/c text --backward --sample --temperature 2 --output back.tsv");
    let pairs = fs::read_to_string(folder.path("back.tsv")).unwrap();
    assert!(pairs.lines().count() > 100);
    let config = crate::cli_model::CONFIG
        .replace(
            "train = { builtin = 'reverse', pairs = 200 }",
            "train = [{ builtin = 'reverse', pairs = 200, weight = 2.0 }, { tsv = 'back.tsv', columns = [1, 2], \
             tag = '<bt>' }]",
        )
        .replace("kind = 'word'", "kind = 'word'\nsymbols = ['<bt>']");
    let config = config.replace("vocab_size = 14", "vocab_size = 16");
    let weights = |config: &str| {
        folder.write("bt.toml", config);
        folder.succeeds("train bt.toml --output bt --force");
        fs::read(folder.path("bt/model.safetensors")).unwrap()
    };
    let tagged = weights(&config);
    assert!(weights(&config.replace(", tag = '<bt>'", "")) != tagged, "the tag changes what is learned");
    assert!(weights(&config.replace("weight = 2.0", "weight = 1.0")) != tagged, "and so does the weight");
}

#[test]
fn what_cannot_be_a_pair_is_counted() {
    let folder = prepared();
    let long = "1 ".repeat(300);
    folder.write("text", format!("1 2 3\n\n{long}\n"));
    let outcome =
        folder.succeeds("synthesize runs/c text --sample --temperature 3 --seed 2 --output pairs.tsv");
    for part in ["of 3 lines", "1 line is blank", "1 line is too long for the model"] {
        assert!(outcome.stderr.contains(part), "{part}: {outcome:?}");
    }
    assert!(!fs::read_to_string(folder.path("pairs.tsv")).unwrap().contains("1 1 1 1"));
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused() {
    let folder = prepared();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    folder.fails(
        "synthesize runs/c pipe --output pairs.tsv",
        2,
        &["`pipe` is no file that can be read several times"],
    );
}
