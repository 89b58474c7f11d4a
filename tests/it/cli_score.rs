//! `attentive score` compared with sacreBLEU 2.5.1.

use std::io::Write;
use std::process::Stdio;

use crate::run::{Folder, Outcome};

pub(crate) fn corpus() -> Folder {
    let folder = Folder::new();
    folder.write(
        "hyp",
        "The cat sat on the mat.\nEin alter Mann liest, und 1,5 Hunde schlafen!\nNothing alike\n",
    );
    let first = "The cat is sitting on the mat.\nEin alter Mann liest und zwei Hunde schlafen.\nEntirely \
                 different words here\n";
    folder.write("ref1", first);
    folder.write(
        "ref2",
        "A cat sat on the mat.\nEin alter mann liest, während 1,5 Hunde schlafen!\nnothing Alike\n",
    );
    folder
}

/// The version in the last field of signatures.
fn version() -> &'static str {
    concat!("|version:attentive-", env!("CARGO_PKG_VERSION"))
}

pub(crate) fn scores(outcome: &Outcome) -> String {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout.replace(version(), "")
}

#[test]
fn three_metrics_with_their_signatures() {
    let outcome = corpus().run("score hyp ref1");
    assert_eq!(outcome.stderr, "");
    assert_eq!(
        scores(&outcome),
        "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp = 33.48 68.4/50.0/30.8/18.2 (BP = 0.900 ratio = \
         0.905 hyp_len = 19 ref_len = 21)\n\
         chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no = 48.56\n\
         TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no = 47.37\n"
    );
}

#[test]
fn several_references_and_chosen_metrics() {
    let outcome = corpus().run("score hyp ref1 ref2 --metric ter,chrf++,bleu");
    let expected = [
        "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no = 11.43",
        "chrF2++|nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no = 72.16",
        "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp = 67.15 89.5/81.2/61.5/45.5 (BP = 1.000 ratio = \
         1.000 hyp_len = 19 ref_len = 19)",
    ];
    assert_eq!(scores(&outcome).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn metrics_that_blanks_separate_are_told_from_files() {
    let folder = corpus();
    for list in ["hyp ref1 --metric bleu chrf++ ter", "--metric bleu chrf++ ter hyp ref1"] {
        let words = [
            "`chrf++` is a metric, and there is no such file",
            "separate metrics with commas: `--metric bleu,chrf++,ter`",
        ];
        folder.fails(&format!("score {list}"), 2, &words);
    }
    // A file with this name is a file.
    folder.write("ter", std::fs::read_to_string(folder.path("ref1")).unwrap());
    let outcome = folder.run("score hyp --metric bleu ter");
    assert_eq!(scores(&outcome), scores(&folder.run("score hyp ref1 --metric bleu")));
}

#[test]
fn one_resample_and_one_trial_are_singular() {
    let folder = corpus();
    for (test, words) in [
        ("--resamples 1", "paired bootstrap with 1 resample\n"),
        ("--paired randomization --trials 1", "randomization with 1 trial\n"),
    ] {
        let outcome = folder.run(&format!("score hyp ref1 --system ref2 {test}"));
        assert!(outcome.stdout.contains(words), "{outcome:?}");
    }
}

#[test]
fn options_of_bleu() {
    let folder = corpus();
    let bleu = |options: &str| scores(&folder.run(&format!("score hyp ref1 --metric bleu {options}")));
    let expected = "BLEU|nrefs:1|case:lc|eff:no|tok:intl|smooth:add-k[2.00] = 41.86 ";
    assert!(bleu("--lowercase --tokenize intl --smooth add-k --smooth-value 2").starts_with(expected));
    let expected = "BLEU|nrefs:1|case:mixed|eff:no|tok:char|smooth:none = 49.42 ";
    assert!(bleu("--tokenize char --smooth none").starts_with(expected));
}

#[test]
fn a_line_of_values_for_each_sentence() {
    let outcome = corpus().run("score hyp ref1 --sentence-level");
    let folder = corpus();
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    let (hypotheses, references) = (text("hyp"), text("ref1"));
    let values = ["1\t42.38\t49.65\t28.57", "2\t32.47\t72.80\t37.50", "3\t0.00\t5.75\t100.00"];
    let texts = hypotheses.lines().zip(references.lines());
    let lines = values.iter().zip(texts).map(|(values, (own, other))| format!("{values}\t{own}\t{other}\n"));
    assert_eq!(outcome.stdout, lines.collect::<String>());
    assert!(outcome.stderr.contains("note: BLEU|nrefs:1|case:mixed|eff:yes|tok:13a"), "{}", outcome.stderr);
}

#[test]
fn json_has_the_unrounded_value() {
    let outcome = corpus().run("score hyp ref1 --metric bleu --json");
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!((json[0]["value"].as_f64().unwrap() - 33.47828619465868).abs() < 1e-9);
    assert_eq!(json[0]["name"], "BLEU");
    assert!(json[0]["signature"].as_str().unwrap().ends_with(version()));

    let outcome = corpus().run("score hyp ref1 --metric ter --json --sentence-level");
    let third: serde_json::Value = serde_json::from_str(outcome.stdout.lines().nth(2).unwrap()).unwrap();
    assert_eq!(third["line"], 3);
    let folder = corpus();
    let third_of =
        |name: &str| std::fs::read_to_string(folder.path(name)).unwrap().lines().nth(2).map(String::from);
    assert_eq!(third["hypothesis"].as_str(), third_of("hyp").as_deref());
    assert_eq!(third["references"][0].as_str(), third_of("ref1").as_deref());
    assert_eq!(third["scores"][0]["value"], 100.0);
}

#[test]
fn a_dash_is_standard_input() {
    let folder = corpus();
    let mut child = folder
        .command("score - ref1 --metric bleu")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hypotheses = std::fs::read(folder.path("hyp")).unwrap();
    child.stdin.take().unwrap().write_all(&hypotheses).unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.stdout, folder.run("score hyp ref1 --metric bleu").stdout);
}

#[test]
fn options_of_metrics_that_are_not_computed_are_refused() {
    let folder = corpus();
    for (options, words) in [
        ("--metric chrf --smooth floor", "`--smooth` is an option of BLEU"),
        ("--metric ter --tokenize char", "`--tokenize` is an option of BLEU"),
        ("--metric ter --lowercase", "`--lowercase` is an option of BLEU and chrF"),
    ] {
        folder.fails(&format!("score hyp ref1 {options}"), 2, &[words]);
    }
}

#[test]
fn a_smoothing_value_needs_a_method_that_uses_it() {
    let folder = corpus();
    folder.fails("score hyp ref1 --smooth-value 1", 2, &["`--smooth-value`", "hint: "]);
    folder.fails(
        "score hyp ref1 --smooth floor --smooth-value=-1",
        2,
        &["`--smooth-value -1`", "at least 0"],
    );
}
