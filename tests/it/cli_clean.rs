//! `attentive clean`.

use std::fs;

use serde_json::Value;

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
    assert!(report.contains("copy, line 5\n  Three cats sleep.\n"), "{report}");
    assert_eq!(read(&folder, "b.en"), "A dog runs through the snow.\nFish & chips are good.\n");
    assert_eq!(read(&folder, "b.de"), "Ein Hund läuft durch den Schnee.\nFisch und Pommes sind gut.\n");
    let dropped = read(&folder, "d.tsv");
    assert!(dropped.starts_with("2\tempty\t\tNichts.\n4\tduplicate\tA dog"), "{dropped}");
    assert_eq!(dropped.lines().count(), 3);
    let json: Value =
        serde_json::from_str(&stdout(&folder, "clean a.en a.de --without copy,duplicate --json")).unwrap();
    assert_eq!((json["pairs"].as_u64(), json["kept"].as_u64()), (Some(5), Some(4)));
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
    assert_eq!(read(&folder, "d.tsv"), "2\tunreadable\t\t\n");
    folder.write("b.tsv", "src\ttgt\nA dog runs here.\tEin Hund läuft hier.\nno tab\n\tx\n");
    stdout(&folder, "clean b.tsv --output c.tsv --dropped d.tsv");
    assert_eq!(read(&folder, "d.tsv"), "3\tunreadable\t\t\n4\tempty\t\tx\n");
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
    folder.fails("clean a.en a.de --min-letters 2", 2, &["`--min-letters 2`", "between 0 and 1"]);
    folder.fails("clean a.en a.de --output a.en b.de", 2, &["also the input"]);
    folder.fails("clean a.en a.de --output b.en b.en", 2, &["`b.en` is to be written twice"]);
    folder.fails("clean a.en a.de --output b.en -", 2, &["--output -"]);
    folder.fails("clean a.en a.de --output b.tsv.gz", 2, &["no .gz file", "compress them afterwards"]);
    folder.fails("clean a.en a.de --output b.en b.de c.de", 2, &["a corpus has one or two files"]);
}
