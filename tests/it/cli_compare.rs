//! `attentive compare`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli_model::{self, stdout};
use crate::run::{Folder, for_family};

const SHORT: &str = "1 2 3 4";
const LONG: &str = "5 6 7 8 9 0";

/// A folder with trained models in `a` and `b`, and a test set. The reference of `SHORT` is the output of
/// `a`, that of `LONG` is not.
fn two_models() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", cli_model::CONFIG);
    for options in ["--output a", "--output b --set model.d_ff=16"] {
        folder.succeeds(&format!("train c.toml {options}"));
    }
    folder.write("src", format!("{SHORT}\n\n{LONG}\n"));
    let written = stdout(&folder, "translate a src --max-new-tokens 6");
    let first = written.lines().next().unwrap();
    folder.write("ref", format!("{first}\n\nnone of these words\n"));
    folder
}

const COMPARE: &str = "compare a b --src src --ref ref --max-new-tokens 6";

fn json(folder: &Folder, options: &str) -> Value {
    serde_json::from_str(&stdout(folder, &format!("{COMPARE} --json {options}"))).unwrap()
}

#[test]
fn models_are_compared_by_source_length() {
    let folder = two_models();
    let text = stdout(&folder, &format!("{COMPARE} --plot p.svg"));
    for part in ["parameters", "1–5", "6–10", "sentences", "search: beam width", "chrF2", "nrefs:1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let svg = fs::read_to_string(folder.path("p.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("BLEU by source length"));

    assert!(svg.contains("1–5 (1)"), "{svg}");
    let outcome = folder.run(&format!("{COMPARE} --plot p.svg"));
    assert!(outcome.stderr.contains("no range of lengths has 10 sentences"), "{outcome:?}");

    let json = json(&folder, "");
    assert!(json.get("examples").is_none());
    assert_eq!(json["buckets"][1]["sentences"], 1);
    let [a, b] = [0, 1].map(|index| &json["systems"][index]);
    assert_eq!(b["name"], "b");
    assert_eq!(a["by_length"][0]["exact_match"], 1.0);
    assert_eq!(a["by_length"][1]["exact_match"], 0.0);
    assert_eq!(a["by_length"][1]["bleu"], 0.0);
    // The blank line is also correct.
    assert!((a["exact_match"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert!(a["perplexity"].as_f64().unwrap() > 1.0);
    assert!(a["sentences_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(json["same_tokens"], true);
}

#[test]
fn translations_that_were_cut_off_are_counted() {
    let folder = two_models();
    let command = "compare a b --src src --ref ref --json --max-new-tokens";
    let outcome = folder.run(&format!("{command} 1"));
    for name in ["a", "b"] {
        let warning = format!("warning: {name}: 2 of 3 translations were cut off at the length limit\n");
        assert!(outcome.stderr.contains(&warning), "{outcome:?}");
    }
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(json["systems"][1]["cut_off"], 2);
}

#[test]
fn differences_from_the_first_run_have_p_values() {
    let folder = two_models();
    let both = json(&folder, "");
    let [a, b] = [0, 1].map(|index| &both["systems"][index]);
    assert_eq!(a["difference"], Value::Null);
    for metric in ["bleu", "chrf", "exact_match"] {
        let number = |system: &Value| {
            let score = &system[metric];
            score["value"].as_f64().or(score.as_f64()).unwrap()
        };
        let difference = &b["difference"][metric];
        let value = difference["value"].as_f64().unwrap();
        assert!((value - (number(b) - number(a))).abs() < 1e-9, "{metric}");
        let p_value = difference["p_value"].as_f64().unwrap();
        assert!((1.0 / 1001.0..=1.0).contains(&p_value), "{metric}");
        let interval = &difference["interval"];
        assert!(interval["lower"].as_f64().unwrap() <= interval["upper"].as_f64().unwrap());
    }
    let signature = a["bleu"]["signature"].as_str().unwrap();
    assert!(signature.starts_with("nrefs:1|bs:1000|seed:12345|case:"));
    assert!(a["bleu"]["interval"]["upper"].as_f64().unwrap() > 0.0);
    assert!(a["exact_match_interval"]["lower"].is_f64());

    // A run does not differ from itself, and the mark occurs only in the note.
    let text = stdout(&folder, &COMPARE.replace("a b", "a a"));
    assert!(text.contains("difference from a\n"), "{text}");
    assert_eq!(text.matches("1.0000").count(), 3, "{text}");
    assert_eq!(text.matches('*').count(), 1, "{text}");
    let text = stdout(&folder, &COMPARE.replace("a b", "a"));
    assert!(!text.contains("difference from"), "{text}");
}

#[test]
fn the_table_shows_training_and_search() {
    let folder = two_models();
    // The weights of an earlier update, as if an earlier checkpoint was the best.
    let path = folder.path("a/provenance.json");
    let mut provenance: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    provenance["step"] = 1.into();
    fs::write(&path, provenance.to_string()).unwrap();
    let json = json(&folder, "--beam-width 3");
    let training = &json["systems"][0]["training"];
    assert_eq!((&training["steps"], &training["run_steps"]), (&1.into(), &6.into()));
    assert_eq!(json["systems"][0]["search"]["beam_width"], 3);
    let text = stdout(&folder, COMPARE);
    assert!(text.contains("1 of 6"), "{text}");

    fs::write(folder.path("a/metrics.jsonl"), "damaged\n").unwrap();
    folder.fails(COMPARE, 1, &["metrics.jsonl", "line 1"]);
    fs::remove_file(folder.path("a/metrics.jsonl")).unwrap();
    assert!(stdout(&folder, COMPARE).contains('–'));
}

#[test]
fn all_runs_are_checked_before_anything_is_translated_or_overwritten() {
    let folder = two_models();
    let tagger = for_family(cli_model::CONFIG, "tagger")
        .replace("[model]\n", "[model]\nfamily = 'tagger'\n")
        .replace("[tokenizer]\n", "[tokenizer]\nvocabulary = 'separate'\n");
    folder.write("t.toml", tagger);
    assert_eq!(folder.run("train t.toml --output tagger").code, Some(0));
    folder.write("p.svg", "kept").write("blank", "\n \n\n");
    let kept = |path: &Path| assert_eq!(fs::read_to_string(path).unwrap(), "kept");
    folder.fails("compare a tagger --src src --ref ref --plot p.svg", 2, &["`tagger`", "labels tokens"]);
    kept(&folder.path("p.svg"));
    folder.fails("compare a nothing --src src --ref ref", 1, &["nothing"]);
    folder.fails("compare a b --src src --ref ref --bucket-width 0", 2, &["bucket width is 0"]);
    folder.fails("compare a --src blank --ref ref", 2, &["no word"]);
    folder.fails("compare a --src - --ref -", 2, &["once"]);
    for (command, option) in [("compare", "--plot -"), ("evaluate", "--output -")] {
        let command = format!("{command} a {option} --src src --ref ref");
        folder.fails(&command, 2, &[option, "standard output"]);
    }
    folder.fails("compare nothing --src src --ref ref --plot new.svg", 1, &["nothing"]);
    assert!(!folder.path("new.svg").exists());
    folder.fails("compare a --src src --ref ref --plot a/model.safetensors", 2, &["a file of the model `a`"]);
}

/// The lines on which models differ most, and those that one translates worst.
#[test]
fn examples_are_shown_beside_their_references() {
    let folder = two_models();
    let found = json(&folder, "--examples 9");
    let examples = found["examples"].as_array().unwrap();
    let texts = |one: &Value| -> Vec<String> {
        one["outputs"].as_array().unwrap().iter().map(|output| output["text"].to_string()).collect()
    };
    assert!(examples.iter().all(|one| texts(one)[0] != texts(one)[1]), "{found}");
    let text = stdout(&folder, &format!("{COMPARE} --examples 9"));
    assert_eq!(text.contains("the lines on which they differ most"), !examples.is_empty());

    let command = "evaluate b --src src --ref ref --max-new-tokens 6 --worst 2";
    let text = stdout(&folder, command);
    let found: Value = serde_json::from_str(&stdout(&folder, &format!("{command} --json"))).unwrap();
    let worst = found["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 2);
    let chrf = |one: &Value| one["outputs"][0]["chrf"].as_f64().unwrap();
    assert!(chrf(&worst[0]) <= chrf(&worst[1]));
    for one in worst {
        let line = format!("line {}, chrF2 {:.1}\n", one["line"], chrf(one));
        let source = format!("source       {}\n", one["source"].as_str().unwrap());
        assert!(text.contains(&line) && text.contains(&source), "{text}");
    }
    assert!(found["length_ratio"].as_f64().unwrap() >= 0.0);
}
