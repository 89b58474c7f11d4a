//! What cannot be asked of a translation.

use crate::cli_decode::three_models;
use crate::cli_model::{stdout, trained};

#[test]
fn what_cannot_be_met_is_refused() {
    let folder = trained();
    let long = "9 ".repeat(300);
    folder
        .write("long", format!("\n{long}\n\n\n\n"))
        .write("odd", "\n\nx\n9 y\n\n")
        .write("few", "9\n9\n")
        .write("many", "9\n9\n\n9\n9\n9\n");
    let translate = |rest: &str| format!("translate runs/c src {rest}");
    let data: [(&str, &[&str]); 4] = [
        ("--prefix long", &["line 2: the prefix is too long: it has 300 tokens", "hint: "]),
        ("--prefix odd", &["line 4: the prefix `9 y` cannot be written"]),
        ("--prefix few", &["`few` has 2 lines, but the input has more"]),
        ("--constraints missing", &["cannot read `missing`"]),
    ];
    for (rest, complaint) in data {
        folder.fails(&translate(rest), 1, complaint);
    }
    // Phrases are left out.
    for (rest, warning) in [
        ("--constraints long", "line 2: left out: the phrases are too long: they have 300"),
        ("--constraints odd", "line 4: left out: the phrase `9 y` cannot be written"),
    ] {
        let outcome = folder.succeeds(&translate(rest));
        assert!(outcome.stderr.contains(warning), "{outcome:?}");
    }
    let outcome = folder.run(&translate("--prefix many --output out"));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("`many` has 6 lines, but the input has 5 lines"), "{outcome:?}");
    assert!(!folder.path("out").exists());
}

#[test]
fn options_that_cannot_be_used_are_refused() {
    let folder = three_models();
    folder.write("few", "9\n9\n");
    let translate = |rest: &str| format!("translate runs/c src {rest}");
    let usage: [(&str, &[&str]); 11] = [
        ("--prefix -", &["`--prefix -`", "name a file"]),
        ("--prefix src --output src", &["also the input `src`"]),
        ("--coverage-penalty=-1", &["`--coverage-penalty`: expected 0 or more", "found -1"]),
        ("--coverage-penalty x", &["--coverage-penalty"]),
        ("--sample --top-p 0", &["`--top-p`: expected a number above 0"]),
        ("--sample --temperature=-1", &["`--temperature`: expected a finite number"]),
        ("--sample --beam-width 2", &["--sample", "--beam-width"]),
        ("--sample --constraints few", &["--sample", "--constraints"]),
        ("--sample --n-best 1001", &["1001 samples", "`--n-best` is between 1 and 1000"]),
        ("--seed 1", &["--sample"]),
        ("--formats xml", &["unexpected argument '--formats'"]),
    ];
    for (rest, complaint) in usage {
        folder.fails(&translate(rest), 2, complaint);
    }
    folder.fails(&translate("--scores --no-scores"), 2, &["--scores", "--no-scores"]);
    for option in ["--alignments", "--coverage-penalty 0.2"] {
        let complaint = ["needs attention to the source"];
        folder.fails(&format!("translate n src {option}"), 2, &complaint);
        folder.fails(&translate(&format!("--with n {option}")), 2, &complaint);
        stdout(&folder, &format!("translate s src {option}"));
    }
}

#[test]
fn ensembles_that_do_not_match_are_refused() {
    let folder = trained();
    let outcome =
        folder.run("train c.toml --output chars --set tokenizer.kind=char --set tokenizer.vocab_size=15");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let differs = ["`chars`: its source vocabulary differs from the first model's", "hint: "];
    folder.fails("translate runs/c src --with chars", 2, &differs);
    folder.fails("rescore runs/c --with chars --src src --tgt src", 2, &differs);
    folder.succeeds("train c.toml --output other --set model.decoder_start_token=<pad>");
    folder.fails(
        "translate runs/c src --with other",
        2,
        &["`other`: the tokens with which it starts or ends translations"],
    );
    folder.fails("translate runs/c src --with missing", 1, &["`missing"]);
}

#[test]
fn rescoring_keeps_no_cache() {
    trained().fails(
        "rescore runs/c --src src --tgt src --cache-precision bf16",
        2,
        &["unexpected argument '--cache-precision'"],
    );
}
