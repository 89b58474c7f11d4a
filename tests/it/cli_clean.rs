//! `attentive clean`.

use std::collections::HashSet;
use std::fs;

use serde_json::Value;

use crate::cli_model::CONFIG;
use crate::cli_model::stdout;
use crate::run::Folder;

const SRC: &str = "A dog runs through the snow.\n\nFish &amp; chips are good.\nA dog runs through the snow!\nThree cats sleep.\n";
const TGT: &str = "Ein Hund lÃ¤uft durch den Schnee.\nNichts.\nFisch und Pommes sind gut.\nEin Hund läuft durch den Schnee.\n\
                   Three cats sleep.\n";

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("a.en", SRC).write("a.de", TGT);
    folder
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).unwrap()
}

#[test]
fn what_is_dropped_and_mended_is_reported_and_written() {
    let folder = prepared();
    let report = stdout(&folder, "clean a.en a.de --output b.en b.de --dropped d.tsv --explain 1");
    let lines: Vec<Vec<&str>> = report.lines().map(|line| line.split_whitespace().collect()).collect();
    for expected in [
        ["read", "5", "100.00"],
        ["kept", "2", "40.00"],
        ["empty", "1", "20.00"],
        ["copy", "1", "20.00"],
        ["duplicate", "1", "20.00"],
    ] {
        assert!(lines.iter().any(|line| line.starts_with(&expected)), "{expected:?} in {report}");
    }
    let shown = format!("copy, line 5\n  {:<56}  Three cats sleep.\n", "Three cats sleep.");
    assert!(report.contains(&shown), "{report}");
    let shown = format!(
        "mended, line 1: before and after\n  {0:<56}  Ein Hund lÃ¤uft durch den Schnee.\n  {0:<56}  Ein Hund läuft \
         durch den Schnee.\n",
        "A dog runs through the snow."
    );
    assert!(report.contains(&shown), "{report}");
    assert_eq!(read(&folder, "b.en"), "A dog runs through the snow.\nFish & chips are good.\n");
    assert_eq!(read(&folder, "b.de"), "Ein Hund läuft durch den Schnee.\nFisch und Pommes sind gut.\n");
    let dropped = read(&folder, "d.tsv");
    assert!(dropped.starts_with("2\tempty\t\tNichts.\n4\tduplicate\tA dog"), "{dropped}");
    assert_eq!(dropped.lines().count(), 3);
    let json: Value =
        serde_json::from_str(&stdout(&folder, "clean a.en a.de --without copy,duplicate --json")).unwrap();
    assert_eq!((json["pairs"].as_u64(), json["kept"].as_u64()), (Some(5), Some(4)));
    stdout(&folder, "clean a.en a.de --no-mending --output b.tsv");
    let kept = read(&folder, "b.tsv");
    assert!(kept.contains("Fish &amp; chips") && kept.contains("lÃ¤uft"), "{kept}");
}

#[test]
fn one_file_holds_both_sides_in_any_format() {
    let folder = prepared();
    let rows: Vec<String> = SRC.lines().zip(TGT.lines()).map(|(a, b)| format!("{a}\t{b}\n")).collect();
    folder.write("a.tsv", rows.concat());
    let objects = SRC.lines().zip(TGT.lines());
    let objects = objects.map(|(a, b)| format!("{}\n", serde_json::json!({ "src": a, "tgt": b })));
    folder.write("a.jsonl", objects.collect::<String>());
    for name in ["a.tsv", "a.jsonl"] {
        stdout(&folder, &format!("clean {name} --output b.tsv"));
        let expected = "A dog runs through the snow.\tEin Hund läuft durch den Schnee.\n\
                        Fish & chips are good.\tFisch und Pommes sind gut.\n";
        assert_eq!(read(&folder, "b.tsv"), expected, "{name}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_dropped() {
    let folder = prepared();
    folder.write("b.en", b"A dog runs here.\nA \xFF cat.\nA bird sings.\n");
    folder.write("b.de", "Ein Hund läuft hier.\nEine Katze.\nEin Vogel singt.\n");
    stdout(&folder, "clean b.en b.de --output c.tsv --dropped d.tsv");
    assert_eq!(
        read(&folder, "c.tsv"),
        "A dog runs here.\tEin Hund läuft hier.\nA bird sings.\tEin Vogel singt.\n"
    );
    let dropped = read(&folder, "d.tsv");
    assert!(dropped.starts_with("2\tunreadable\t`b.en`: not valid UTF-8"), "{dropped}");
    folder.write("b.tsv", "src\ttgt\nA dog runs here.\tEin Hund läuft hier.\nno tab\n\tx\n");
    stdout(&folder, "clean b.tsv --output c.tsv --dropped d.tsv");
    let dropped = read(&folder, "d.tsv");
    assert!(
        dropped.starts_with("3\tunreadable\t`b.tsv`: expected ") && dropped.ends_with("\t\n4\tempty\t\tx\n"),
        "{dropped}"
    );
}

#[test]
fn columns_may_be_others() {
    let folder = Folder::new();
    folder.write("a.tsv", "1\tA dog runs here.\tEin Hund läuft hier.\t-0.5\n");
    let expected =
        ["no pair of `a.tsv` can be read", "line 1", "expected 2 tab-separated columns", "`--columns 1 2`"];
    folder.fails("clean a.tsv --output b.tsv", 1, &expected);
    assert!(!folder.path("b.tsv").exists());
    folder.write("b.jsonl", "{\"translation\": {\"en\": \"A dog.\", \"de\": \"Ein Hund.\"}}\n");
    folder.fails("clean b.jsonl --columns en de", 1, &["no pair of `b.jsonl` can be read"]);
    folder.write("ä.tsv", "A dog 1.\tEin Hund 2.\n");
    let outcome = folder.run("clean ä.tsv --output b.tsv");
    assert!(outcome.stderr.contains("no pair is left; `--explain 3`"), "{outcome:?}");
    stdout(&folder, "clean a.tsv --columns 2 3 --output b.tsv");
    assert_eq!(read(&folder, "b.tsv"), "A dog runs here.\tEin Hund läuft hier.\n");
    folder.write("a.csv", "id,en,de\n1,A dog runs here.,Ein Hund läuft hier.\n");
    stdout(&folder, "clean a.csv --columns de en --output b.tsv");
    assert_eq!(read(&folder, "b.tsv"), "Ein Hund läuft hier.\tA dog runs here.\n");
    folder.fails("clean a.csv a.csv --columns 1 2", 2, &["`--columns` is for tables"]);
    folder.fails("clean a.csv --columns 0 2", 2, &["`--columns 0`: columns count from 1"]);
    folder.fails("clean a.csv --columns 2 2", 2, &["the same column twice"]);
}

#[test]
fn a_text_in_one_language_is_cleaned_like_pairs() {
    let folder = Folder::new();
    folder.write(
        "mono.en",
        b"A dog runs through the snow.\nFish &amp; chips are good.\n\nEin Hund rennt durch den tiefen Schnee.\n\
          a dog runs through the snow\nA \xFF cat.\n1 2 3 4 5 6 7 8 9\nSee 5 [[cats]].\n",
    );
    let command = "clean mono.en --one-side --languages en --output clean.en --dropped d.tsv --explain 1";
    let report = stdout(&folder, command);
    let expected = "A dog runs through the snow.\nFish & chips are good.\n";
    assert_eq!(read(&folder, "clean.en"), expected);
    let dropped = read(&folder, "d.tsv");
    let rules: Vec<&str> = dropped.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(rules, ["empty", "language", "duplicate", "unreadable", "letters", "markup"], "{report}");
    assert!(dropped.contains("4\tlanguage\tEin Hund rennt durch den tiefen Schnee.\n"), "{dropped}");
    assert!(!report.contains("numbers") && report.contains("mended: in 1 line"), "{report}");
    folder.fails("clean mono.en", 2, &["does not tell its format"]);
    folder.write("mono.txt", "A dog.\n");
    folder.fails("clean mono.txt", 2, &["one side only", "`--one-side`"]);
    folder.fails("clean mono.en mono.txt --one-side", 2, &["cleans one file"]);
    folder.fails("clean mono.en --one-side --languages en de", 2, &["expected one language"]);
    folder.fails("clean mono.en mono.en --languages en", 2, &["expected two languages"]);
    // The option takes what follows it.
    folder.fails(
        "clean --one-side --output c.en mono.txt mono.en",
        2,
        &["writes one file", "before `--output`"],
    );
    assert_eq!(read(&folder, "mono.txt"), "A dog.\n");
    folder.fails("clean . --one-side", 2, &["no file that can be read twice"]);
    folder.fails("clean none.en --one-side", 1, &["none.en"]);
}

/// Line breaks within JSON would make files of different lengths.
#[test]
fn a_pair_is_a_line_in_each_output() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        "{\"src\": \"one\\ntwo words\", \"tgt\": \"eins zwei\"}\n{\"src\": \"three\", \"tgt\": \"drei\"}\n",
    );
    stdout(&folder, "clean a.jsonl --no-mending --output b.en b.de");
    assert_eq!(read(&folder, "b.en"), "one two words\nthree\n");
    assert_eq!(read(&folder, "b.de"), "eins zwei\ndrei\n");
    folder.write("c.en", "old\n");
    folder.fails("clean a.jsonl --output c.en /dev/full", 1, &["/dev/full"]);
    assert_eq!(read(&folder, "c.en"), "old\n");
}

/// What would run without end, or out of stack.
#[test]
fn hostile_text_ends() {
    let folder = Folder::new();
    folder.write("a.csv", "\"A dog.\",\"Ein Hund.\"\n\"broken,x\n");
    folder.fails(
        "clean a.csv --dropped d.tsv",
        1,
        &["`a.csv`, line 2", "quotation mark without a counterpart"],
    );
    let escaped = "&".to_owned() + &"amp;".repeat(20_000) + "lt;";
    let opened = "<".repeat(80_000) + "b>";
    folder.write("a.tsv", format!("{escaped}\tx\n{opened}\tx\n"));
    stdout(&folder, "clean a.tsv");
}

#[test]
fn mistakes_are_explained_and_leave_no_file() {
    let folder = prepared();
    folder.write("short.de", "Ein Hund.\n");
    folder.fails("clean a.en short.de --output b.en b.de", 1, &["differ in length", "5 lines"]);
    assert!(!folder.path("b.en").exists());
    folder.fails("clean a.en a.de --without numers", 2, &["no rule `numers`", "markup, numbers, addresses"]);
    folder.fails("clean a.en a.de --languages en xx", 2, &["`xx` cannot be recognized"]);
    folder.fails("clean a.en", 2, &["does not tell its format"]);
    folder.fails(
        "clean a.en a.de --min-letters 2",
        2,
        &["`--min-letters`: expected a share from 0 to 1, found 2"],
    );
    folder.fails("clean a.en a.de --output a.en b.de", 2, &["also the input"]);
    folder.fails("clean a.en a.de --output b.en b.en", 2, &["`b.en` is to be written twice"]);
    folder.fails("clean a.en a.de --output b.en ./b.en", 2, &["`./b.en` is to be written twice"]);
    folder.fails(
        "clean a.en a.de --output b.tsv --dropped ./b.tsv",
        2,
        &["`./b.tsv` is to be written twice"],
    );
    folder.fails("clean a.en a.de --output /dev/stdout", 2, &["--output /dev/stdout"]);
    stdout(&folder, "clean a.en a.de --without language --languages is xx");
    folder.fails("clean a.en a.de --without unreadable", 2, &["nothing is known of a line"]);
    folder.fails("clean a.en a.de --output b.en -", 2, &["--output -"]);
    folder.fails("clean a.en a.de --output b.tsv.gz", 2, &["no .gz file", "compress them afterwards"]);
    folder.fails("clean a.en a.de --output b.en b.de.xz", 2, &["no .xz file"]);
    folder.fails("clean a.en a.de --output b.en b.tsv", 2, &["`b.tsv` would have one side alone"]);
    folder.write("b.en", b"M\xFCsli.\n");
    folder.fails(
        "clean b.en short.de",
        1,
        &["no pair of `b.en` and `short.de`", "`b.en`: not valid", "iconv"],
    );
    folder.fails("clean a.en a.de --output b.en b.de c.de", 2, &["a corpus has one or two files"]);
}

/// A folder with a model that subtracts each digit from 9, which is its own inverse, and a corpus of 120 pairs,
/// every sixth of which is no translation.
fn scored() -> Folder {
    let folder = Folder::new();
    let pair = |n: usize, added: usize| {
        let [a, b] = [n / 10 % 10, n % 10];
        format!("{a} {b}\t{} {}\n", (9 + added - a) % 10, (9 + added - b) % 10)
    };
    let config = CONFIG
        .replace("train = { builtin = 'reverse', pairs = 200 }", "train = { tsv = 'good.tsv' }")
        .replace("valid = { builtin = 'reverse', pairs = 10 }", "")
        .replace("max_steps = 6", "max_steps = 500")
        .replace("validate_every = 3\nsave_every = 2", "validate_every = 0\nsave_every = 500");
    folder.write("c.toml", config).write("good.tsv", (0..100).map(|n| pair(n, 0)).collect::<String>()).write(
        "pairs.tsv",
        (0..120).map(|n| pair(n * 7, if n % 6 == 5 { 3 } else { 0 })).collect::<String>(),
    );
    folder.succeeds("train c.toml --set train.optimizer.learning_rate=0.01");
    folder
}

const BARE: &str = "--without letters,numbers,copy,ratio,repetition,duplicate";

#[test]
fn models_find_pairs_that_are_no_translations() {
    let folder = scored();
    folder.fails("clean pairs.tsv --score runs/c --output runs/c/config.toml", 2, &["a file of the model"]);
    for models in ["--score runs/c", "--score-backward runs/c", "--score runs/c --score-backward runs/c"] {
        let command = format!("clean pairs.tsv {BARE} {models}");
        let outcome =
            folder.run(&format!("{command} --min-score 16.7% --output kept.tsv --dropped dropped.tsv"));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains("scored: 120 pairs"), "{outcome:?}");
        let row =
            |name: &str| outcome.stdout.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        assert!(row("kept").contains("100") && row("score ").contains("20"), "{outcome:?}");
        let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
        let (kept, dropped) = (read("kept.tsv"), read("dropped.tsv"));
        assert_eq!((kept.lines().count(), dropped.lines().count()), (100, 20));
        let is_wrong = |line: &&str| line.split('\t').next().unwrap().parse::<usize>().unwrap() % 6 == 0;
        let found = dropped.lines().filter(is_wrong).count();
        assert!(found >= 18, "{models}: {found} of 20 are no translations\n{dropped}");
        let score = |line: &str| line.split('\t').nth(2).unwrap().parse::<f64>().unwrap();
        let least = kept.lines().map(score).fold(f64::INFINITY, f64::min);
        // The same limit as a number, rounded as in the file.
        let outcome = folder.run(&format!("{command} --min-score {} --json", least - 1e-4));
        let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let scores = &report["scores"];
        assert!(scores["dropped"].as_u64().unwrap().abs_diff(20) <= 1, "{report}");
        let kept = 120 - scores["dropped"].as_u64().unwrap();
        assert_eq!(report["kept"], kept);
        fs::remove_file(folder.path("kept.tsv")).unwrap();
        fs::remove_file(folder.path("dropped.tsv")).unwrap();
    }
    // Of each target the first source, or the best one.
    for (models, is_best) in [("", false), ("--score runs/c", true)] {
        let command = format!("clean pairs.tsv {BARE} {models} --one-per-target --output kept.tsv --json");
        let outcome = folder.run(&command);
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let kept = fs::read_to_string(folder.path("kept.tsv")).unwrap();
        let rows: Vec<Vec<&str>> = kept.lines().map(|line| line.split('\t').collect()).collect();
        let targets: HashSet<&str> = rows.iter().map(|row| row[1]).collect();
        assert_eq!((targets.len(), report["kept"].as_u64()), (rows.len(), Some(rows.len() as u64)));
        assert_eq!(report["dropped"]["same-target"], 120 - rows.len(), "{report}");
        let digits = |text: &str| text.split(' ').map(|digit| digit.parse().unwrap()).collect::<Vec<u8>>();
        let is_right = |row: &Vec<&str>| {
            digits(row[0]).iter().zip(digits(row[1])).all(|(source, target)| source + target == 9)
        };
        let right = rows.iter().filter(|row| is_right(row)).count();
        // Each of the 87 targets has a right source, and for 81 of them it is the first one.
        assert_eq!(right >= 85, is_best, "{right} of {}", rows.len());
    }
    let command =
        "clean pairs.tsv --score runs/c --min-score 10% --one-per-target --output kept.tsv --dropped d.tsv";
    let report = folder.run(&format!("{command} {BARE} --explain 1")).stdout;
    assert!(report.contains("same-target, line "), "{report}");
    let dropped = fs::read_to_string(folder.path("d.tsv")).unwrap();
    let rules = ["score", "same-target"].map(|rule| dropped.matches(&format!("\t{rule}\t")).count());
    let kept = fs::read_to_string(folder.path("kept.tsv")).unwrap().lines().count();
    assert!(rules[0] == 12 && rules[1] > 0 && rules[0] + rules[1] + kept == 120, "{rules:?}, {kept}");
    folder.fails("clean pairs.tsv --one-per-target --without same-target", 2, &["leave one of them out"]);
    folder.fails("clean pairs.tsv --min-score 5%", 2, &["`--min-score` has no scores"]);
    folder.fails("clean pairs.tsv --score runs/c --min-score many", 2, &["such as 5%"]);
    folder.fails("clean pairs.tsv --score runs/none", 1, &["runs/none"]);
}

#[test]
fn training_leaves_out_pairs_that_break_rules() {
    let folder = scored();
    let config = CONFIG.replace(
        "train = { builtin = 'reverse', pairs = 200 }",
        "train = { tsv = 'pairs.tsv' }\nfilters = ['numbers']",
    );
    folder.write("filtered.toml", config);
    let outcome = folder.succeeds("train filtered.toml");
    assert!(outcome.stderr.contains("dropped by the rule `numbers`"), "{outcome:?}");
    folder.fails(
        "train filtered.toml --output x --set data.filters=['language']",
        2,
        &["`data.filters`", "no more than a pair", "`language`"],
    );
}
