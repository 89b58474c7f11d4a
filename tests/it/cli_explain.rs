//! `attentive explain`.

use std::fs;

use serde_json::{Value, json};

use crate::cli_model::{self, trained, trained_as};
use crate::run::{Folder, for_family};

/// The data of the page that `attentive explain` writes.
fn explain(folder: &Folder, arguments: &[&str]) -> Value {
    let mut command = folder.command("explain");
    let output = command.args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(stderr.contains("open `explanation.html`"), "{stderr}");
    let page = fs::read_to_string(folder.path("explanation.html")).unwrap();
    let (_, rest) = page.split_once("type=\"application/json\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

fn sites(data: &Value) -> Vec<&str> {
    let maps = data["maps"].as_array().unwrap();
    maps.iter().map(|map| map["site"].as_str().unwrap()).collect()
}

/// Checks that each row of each head sums to 1.
fn check_rows(data: &Value) {
    for map in data["maps"].as_array().unwrap() {
        let columns = map["columns"].as_u64().unwrap() as usize;
        for head in map["heads"].as_array().unwrap() {
            let weights: Vec<u64> = serde_json::from_value(head.clone()).unwrap();
            assert_eq!(weights.len(), columns * map["rows"].as_u64().unwrap() as usize);
            for row in weights.chunks(columns) {
                assert!(row.iter().sum::<u64>().abs_diff(1000) <= columns as u64, "{row:?}");
            }
        }
    }
}

#[test]
fn a_transformer_shows_every_attention() {
    let folder = trained();
    let data = explain(&folder, &["runs/c", "1 2 3", "--target", "3 2"]);
    assert_eq!(sites(&data), ["encoder_self", "decoder_self", "cross"]);
    assert_eq!(data["src"], json!(["1", "2", "3", "</s>"]));
    assert_eq!(data["tgt"], json!(["<s>", "3", "2"]));
    assert_eq!(data["written"][2]["token"], "</s>");
    let alternatives = data["written"][2]["alternatives"].as_array().unwrap();
    assert!(alternatives.len() == 8 && alternatives[0]["probability"].is_f64());
    assert_eq!(data["maps"][2]["heads"].as_array().unwrap().len(), 2);
    check_rows(&data);
    // Without a target, the model's own translation.
    let data = explain(&folder, &["runs/c", "1 2 3"]);
    let translation = cli_model::stdout(folder.write("one", "1 2 3\n"), "translate runs/c one");
    let tokens = data["tgt"].as_array().unwrap().iter().skip(1);
    let tokens: Vec<&str> = tokens.map(|token| token.as_str().unwrap()).collect();
    assert_eq!(tokens.join(" "), translation.trim_end());
}

/// The operations that the page shows beside the weights.
#[test]
fn the_page_has_scores_masks_gates_and_states() {
    let parts = |folder: &Folder| -> Vec<String> {
        explain(folder, &["runs/c", "1 2 3", "--target", "3 2"]);
        let page = fs::read_to_string(folder.path("explanation.html")).unwrap();
        let (_, rest) = page.split_once("<script id=\"trace\" type=\"application/json\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        let operations = data["operations"].as_array().unwrap().iter();
        operations.map(|one| one["name"].as_str().unwrap().rsplit('.').next().unwrap().to_owned()).collect()
    };
    assert_eq!(parts(&trained()), ["scores", "scores", "mask", "scores"]);
    let recurrent = parts(&trained_as("seq2seq", "[model.recurrent]\nd_hidden = 16\n"));
    for part in ["input_gate", "forget_gate", "candidate", "output_gate", "c", "h", "scores"] {
        assert!(recurrent.iter().any(|found| found == part), "{part} in {recurrent:?}");
    }
}

#[test]
fn recurrent_models_show_their_attention() {
    let folder = trained_as("seq2seq", "[model.recurrent]\nd_hidden = 16\n");
    let data = explain(&folder, &["runs/c", "1 2 3 4", "--target", "4 3 2 1"]);
    assert_eq!(sites(&data), ["cross"]);
    assert_eq!(data["maps"][0]["name"], "decoder.attention");
    check_rows(&data);
}

#[test]
fn language_models_show_self_attention() {
    for (family, site) in [("decoder_only", "decoder_self"), ("encoder_only", "encoder_self")] {
        let folder = trained_as(family, "");
        let data = explain(&folder, &["runs/c", "1 2 3"]);
        assert_eq!(sites(&data), [site]);
        check_rows(&data);
        folder.fails("explain runs/c 1 --target 2", 2, &["does not translate"]);
    }
}

#[test]
fn a_mask_is_one_token() {
    let folder = trained_as("encoder_only", "");
    let data = explain(&folder, &["runs/c", "1 <mask> 3"]);
    assert_eq!(data["src"], json!(["1", "<mask>", "3", "</s>"]));
    let masks = data["masks"].as_array().unwrap();
    assert_eq!((masks.len(), &masks[0]["position"]), (1, &json!(1)));
    let guesses = masks[0]["guesses"].as_array().unwrap();
    let probabilities: Vec<f64> =
        guesses.iter().map(|guess| guess["probability"].as_f64().unwrap()).collect();
    assert!(probabilities.len() == 5 && probabilities.is_sorted_by(|a, b| a >= b), "{probabilities:?}");
}

#[test]
fn a_transformer_tagger_shows_the_tag_of_each_token() {
    let folder = Folder::new();
    let model = "[model]\nfamily = 'tagger'\nencoder = 'transformer'\n";
    let config = cli_model::CONFIG.replace("[model]\n", model);
    folder.write("c.toml", config.replace("n_decoder_layers = 1\n", ""));
    folder.succeeds("train c.toml");
    let data = explain(&folder, &["runs/c", "1 2 3"]);
    assert_eq!(sites(&data), ["encoder_self"]);
    assert_eq!(data["src"], json!(["1", "2", "3"]));
    assert_eq!(data["tags"].as_array().unwrap().len(), 3);
    check_rows(&data);
}

#[test]
fn recurrent_taggers_are_refused() {
    let folder = Folder::new();
    let config = for_family(cli_model::CONFIG, "tagger")
        .replace("[model]\n", "[model]\nfamily = 'tagger'\n")
        .replace("[tokenizer]\n", "[tokenizer]\nvocabulary = 'separate'\n");
    folder.write("c.toml", config);
    folder.succeeds("train c.toml");
    folder.fails("explain runs/c 1", 2, &["no attention", "attentive tag"]);
}

#[test]
fn a_failure_keeps_the_existing_page() {
    let folder = trained();
    folder.write("explanation.html", "kept");
    let outcome = folder.command("explain runs/c").arg(" \t ").output().unwrap();
    assert_eq!(outcome.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path("explanation.html")).unwrap(), "kept");
    folder.fails("explain runs/c", 2, &["needs a sentence"]);
    folder.fails("explain runs/c 1 --output missing/a.html", 1, &["cannot write `missing/a.html`"]);
}

#[test]
fn a_sentence_that_is_too_long_is_shown_in_part() {
    let folder = trained();
    let long = "1 ".repeat(300);
    let data = explain(&folder, &["runs/c", &long, "--target", &long]);
    assert_eq!(data["src"].as_array().unwrap().len(), 256);
    assert_eq!(data["tgt"].as_array().unwrap().len(), 256);
    assert_eq!(data["warnings"].as_array().unwrap().len(), 2);
    assert!(data["warnings"][1].as_str().unwrap().starts_with("the target: too long"));
}

/// The JSON has what the page shows, with weights that are not rounded.
#[test]
fn json_has_all_digits() {
    let folder = trained();
    let arguments = ["runs/c", "1 2 3", "--target", "3 2"];
    let page = explain(&folder, &arguments);
    let mut command = folder.command("explain");
    let output = command.args(arguments).arg("--json").output().unwrap();
    let exact: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&exact["units"], &page["units"]), (&json!(1), &json!(1000)));
    for field in ["title", "src", "tgt", "written", "warnings"] {
        assert_eq!(exact[field], page[field], "{field}");
    }
    let heads = |data: &Value, map: usize| -> Vec<Vec<f64>> {
        serde_json::from_value(data["maps"][map]["heads"].clone()).unwrap()
    };
    for map in 0..3 {
        let columns = exact["maps"][map]["columns"].as_u64().unwrap() as usize;
        for (exact, rounded) in heads(&exact, map).iter().zip(heads(&page, map)) {
            let pairs = exact.iter().zip(rounded);
            assert!(pairs.clone().all(|(exact, rounded)| (exact * 1000.0).round() == rounded));
            assert!(pairs.clone().any(|(exact, rounded)| exact * 1000.0 != rounded));
            for row in exact.chunks(columns) {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{row:?}");
            }
        }
    }
    assert_eq!(folder.run("explain runs/c 1 --json --output all.json").code, Some(0));
    assert!(folder.path("all.json").exists());
}

#[test]
fn a_topic_is_explained_as_text() {
    let folder = Folder::new();
    let outcome = folder.succeeds("explain gates");
    assert!(outcome.stdout.contains("cₜ = fₜ ⊙ cₜ₋₁ + iₜ ⊙ gₜ"), "{outcome:?}");
    assert!(outcome.stdout.contains("book/text/gates.md"), "{outcome:?}");
    let topics = folder.run("explain topics").stdout;
    assert!(topics.contains("masks         Order and masks"), "{topics}");
    folder.fails("explain gaets", 2, &["needs a sentence", "`gaets` is no topic", "gates"]);
    folder.fails("explain gates --checkpoint best", 2, &["needs a sentence"]);
    folder.fails("explain gates --json", 2, &["SENTENCE"]);
}
