//! `attentive align`.

use std::fs;

use crate::run::Folder;

/// A corpus whose words have one translation each, in the same order.
fn prepared() -> Folder {
    let folder = Folder::new();
    let line =
        |number: usize| (0..1 + number % 4).map(|word| number * 7 / (word + 1) % 9).collect::<Vec<_>>();
    let side = |letter: &str| {
        let text = |number| line(number).iter().map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(" ");
        (0..300).map(|number| text(number) + "\n").collect::<String>()
    };
    folder.write("a.src", side("s")).write("a.tgt", side("t"));
    folder
}

#[test]
fn links_are_written_and_compared() {
    let folder = prepared();
    let outcome = folder.succeeds("align a.src a.tgt");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 300);
    let straight = lines.iter().filter(|line| {
        line.split(' ').all(|link| {
            let (src, tgt) = link.split_once('-').unwrap();
            src == tgt
        })
    });
    assert!(straight.count() > 250, "{lines:?}");
    folder.write("gold", "0-0\n0-0 1-1\n0-0 1?1 2-2\n");
    let compared = folder.run("align a.src a.tgt --gold gold --output links --symmetrize union");
    assert!(compared.stderr.contains("AER ") && compared.stderr.contains("3 lines"), "{compared:?}");
    assert_eq!(fs::read_to_string(folder.path("links")).unwrap().lines().count(), 300);
}

#[test]
fn mistakes_are_explained() {
    let folder = prepared();
    folder.write("b.tgt", "t1\n").write("gold", "0-0\n0:1\n");
    folder.fails("align a.src b.tgt", 1, &["differ in length"]);
    folder.fails("align a.src a.tgt --symmetrize both", 2, &["grow-diag-final-and, intersection, union"]);
    folder.fails("align a.src a.tgt --gold gold --output links", 1, &["gold", "line 2", "`0:1` is no link"]);
    folder.write("none", "\n0?0\n");
    folder.fails("align a.src a.tgt --gold none", 1, &["`none` has no sure links"]);
    folder.write("far", "0-0\n0-7\n");
    folder.fails("align a.src a.tgt --gold far", 1, &["line 2", "a link 0-7, but", "count from 0"]);
    folder.write("many", "0-0\n".repeat(301));
    folder.fails("align a.src a.tgt --gold many", 1, &["line 301", "no such line in the corpus"]);
    assert!(!folder.path("links").exists());
    folder.fails("align a.src a.tgt --output a.src", 2, &["also the input"]);
}
