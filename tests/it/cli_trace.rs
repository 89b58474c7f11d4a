//! `attentive trace`.

use std::fs;

use serde_json::{Value, json};

use crate::cli_model::{self, trained, trained_as};
use crate::run::{Folder, for_family};

/// The lines that `attentive trace` writes.
fn traced(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.command("trace").args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn traced_json(folder: &Folder, arguments: &[&str]) -> Value {
    serde_json::from_str(&traced(folder, &[arguments, &["--json"]].concat())).unwrap()
}

fn names(data: &Value) -> Vec<&str> {
    let operations = data["operations"].as_array().unwrap().iter();
    operations.map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn a_transformer_shows_every_operation() {
    let folder = trained();
    let sentence = ["runs/c", "1 2 3", "--target", "3 2"];
    let text = traced(&folder, &sentence);
    assert!(
        text.starts_with("source: 1 2 3 </s>\ntarget: <s> 3 2\npredicts: 3 2 </s>\noperation "),
        "{text}"
    );
    for line in ["src.embedding", "decoder.layers.0.self_attention.mask", "head.probabilities"] {
        assert!(text.lines().any(|found| found.starts_with(&format!("{line} "))), "{line} in {text}");
    }
    let data = traced_json(&folder, &sentence);
    assert_eq!(names(&data).len(), text.lines().count() - 4);
    assert_eq!(data["operations"][0].get("values"), None);
    assert_eq!(data["gradients"], Value::Null);

    let only = ["--only", "cross_attention.weights", "--only", "*.mask", "--values"];
    let data = traced_json(&folder, &[&sentence[..], &only].concat());
    let attention = "decoder.layers.0.cross_attention.weights";
    assert_eq!(names(&data), ["decoder.layers.0.self_attention.mask", attention]);
    let [mask, weights] = [0, 1].map(|number| &data["operations"][number]);
    assert_eq!(mask["values"], json!([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]));
    assert_eq!(weights["shape"], json!([2, 3, 4]));
    assert_eq!(weights["row_tokens"], json!(["<s>", "3", "2"]));
    assert_eq!(weights["column_tokens"], json!(["1", "2", "3", "</s>"]));
    let values: Vec<f64> = serde_json::from_value(weights["values"].clone()).unwrap();
    assert!(values.chunks(4).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-5));
    let text = traced(&folder, &[&sentence[..], &only].concat());
    assert!(text.contains("  head 2\n"), "{text}");
}

#[test]
fn gradients_are_those_of_the_wanted_prediction() {
    let folder = trained_as("seq2seq", "[model.recurrent]\nd_hidden = 16\n");
    let sentence = ["runs/c", "1 2 3", "--target", "3 2 1"];
    let data = traced_json(&folder, &[&sentence[..], &["--backward=1", "--unweighted"]].concat());
    let outputs = data["gradients"]["outputs"].as_array().unwrap();
    let of = |name: &str| outputs.iter().find(|output| output["name"] == name).unwrap();
    assert_eq!(of("src")["tokens"], json!(["1", "2", "3", "</s>"]));
    let norms: Vec<f64> = serde_json::from_value(of("tgt")["norms"].clone()).unwrap();
    assert!(norms[0] > 0.0 && norms[1] > 0.0 && norms[2..] == [0.0, 0.0], "{norms:?}");
    assert!(names(&data).contains(&"src.embedding.unweighted.contexts"));
    assert!(data["operations"].as_array().unwrap().iter().any(|one| one["position"] == 3));
    let all = traced(&folder, &[&sentence[..], &["--backward"]].concat());
    assert!(all.contains("lengths of the gradients of parameters:"), "{all}");
    folder.fails("trace runs/c 1 --backward=9", 2, &["no prediction at position 9", "counted from 0"]);
    folder.fails("trace runs/c 1 --backward=first", 2, &["expected a position, `last` or `all`"]);
}

#[test]
fn every_family_that_reads_tokens_is_traced() {
    for family in ["decoder_only", "encoder_only"] {
        let folder = trained_as(family, "");
        let found = traced_json(&folder, &["runs/c", "1 2 3"]);
        assert_eq!(names(&found).last(), Some(&"head.probabilities"));
        folder.fails("trace runs/c 1 --target 2", 2, &["does not translate"]);
    }
    let folder = trained_as("encoder_only", "");
    folder.fails("trace runs/c 1 --backward", 2, &["does not predict one token after the other"]);
    let folder = Folder::new();
    let config = for_family(cli_model::CONFIG, "tagger")
        .replace("[model]\n", "[model]\nfamily = 'tagger'\n")
        .replace("[tokenizer]\n", "[tokenizer]\nvocabulary = 'separate'\n");
    folder.write("c.toml", config);
    assert_eq!(folder.run("train c.toml").code, Some(0));
    assert!(names(&traced_json(&folder, &["runs/c", "1 2"])).contains(&"encoder.layers.0.h"));
}

#[test]
fn a_page_is_written() {
    let folder = trained();
    let output = folder.command("trace").args(["runs/c", "1 2", "--html"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("open `trace.html`"));
    let page = fs::read_to_string(folder.path("trace.html")).unwrap();
    assert!(page.contains("decoder.layers.0.cross_attention.scores"));
    folder.fails("trace runs/c 1 --html --json", 2, &["cannot be used with"]);
    folder.fails("trace runs/c 1 --only nothing", 2, &["no operation has a name with `nothing`"]);
    folder.fails("trace runs/c ' '", 2, &["<SENTENCE>"]);
}
