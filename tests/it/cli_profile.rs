//! `attentive translate --profile`.

use crate::cli_model::trained;

/// The number at the end of the words that follow `name` in the line that begins with it, and the one before.
fn numbers(text: &str, name: &str) -> Vec<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no `{name}` in {text}"));
    let words = line.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_profile_says_where_the_time_went_and_changes_nothing() {
    let folder = trained();
    for options in ["", "--beam-width 1 --threads 1", "--precision int8 --json"] {
        let command = format!("translate runs/c src {options}");
        let plain = folder.run(&command);
        let profiled = folder.run(&format!("{command} --profile"));
        let mut warnings = plain.stderr.lines();
        let cut_off = |line: &str| line.starts_with("warning: ") && line.contains("cut off");
        assert!(plain.code == Some(0) && warnings.all(cut_off), "{plain:?}");
        assert_eq!((profiled.code, &profiled.stdout), (Some(0), &plain.stdout));
        let text = profiled.stderr.replacen(&plain.stderr, "", 1);
        assert_eq!(numbers(&text, "sentences")[0], 4.0);
        // `SRC` has 3, 4, 5 and 1 digits.
        assert_eq!(numbers(&text, "source tokens")[0], 13.0);
        if options.starts_with("--beam") {
            let written = plain.stdout.split_whitespace().count() as f64;
            assert_eq!(numbers(&text, "output tokens")[0], written);
            assert!(text.contains("f32 (") && text.contains("1 thread\n"), "{text}");
        }
        let (_, table) = text.split_once("share\n").unwrap();
        let times: Vec<f64> = table
            .lines()
            .map(|line| {
                let columns: Vec<&str> = line.split_whitespace().collect();
                columns[columns.len() - 3].parse().unwrap()
            })
            .collect();
        let [parts @ .., total] = &times[..] else {
            panic!("an empty table: {text}");
        };
        // Each is rounded to a tenth.
        let sum: f64 = parts.iter().sum();
        assert!((sum - total).abs() < 0.05 * times.len() as f64, "{text}");
        for part in ["loading", "encoder", "output projection", "search"] {
            assert!(table.contains(&format!("\n{part}")) || table.starts_with(part), "{text}");
        }
    }
}

#[test]
fn a_failed_translation_has_no_profile() {
    let folder = trained();
    folder.fails("translate runs/c missing --profile", 1, &["missing"]);
    let outcome = folder.run("translate runs/c missing --profile");
    assert!(!outcome.stderr.contains("share"), "{outcome:?}");
    // The tip about `train --profile=N` does not apply here.
    let outcome = folder.run("translate runs/c src --profile 5");
    assert!(!outcome.stderr.contains("--profile=5"), "{outcome:?}");
}
