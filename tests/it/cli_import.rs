//! `attentive import`, and what can be done with an imported model.

use std::fs;
use std::path::Path;

use crate::run::Folder;

fn fixture(kind: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hf");
    fixtures.join(kind).display().to_string()
}

/// A folder with the imported models of these kinds.
pub(crate) fn with_models(kinds: &[&str]) -> Folder {
    let folder = Folder::new();
    for kind in kinds {
        let run = folder.run(&format!("import {} --output {kind}", fixture(kind)));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("parameters, written to"), "{}", run.stdout);
    }
    folder
}

/// The texts of the outputs of `transformers`, and their translations by `search` (`greedy` or `beam`).
fn outputs(kind: &str, search: &str) -> (String, Vec<Vec<u64>>) {
    let text = fs::read_to_string(Path::new(&fixture(kind)).join("outputs.json")).unwrap();
    let outputs: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let lines = outputs.iter().map(|one| one["text"].as_str().unwrap().to_owned() + "\n");
    let ids = |one: &serde_json::Value| {
        let ids = one[search].as_array().unwrap().iter();
        ids.map(|id| id.as_u64().unwrap()).collect()
    };
    (lines.collect(), outputs.iter().map(ids).collect())
}

#[test]
fn an_imported_model_translates_as_before() {
    let folder = with_models(&["marian"]);
    for (search, options) in [("greedy", "--beam-width 1"), ("beam", "")] {
        let (lines, ids) = outputs("marian", search);
        folder.write("in", &lines);
        let run = folder.run(&format!("translate marian in {options}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        // Token 2 + n of the fixture is the word `w{n}`.
        let expected = ids.iter().map(|ids| {
            let words = ids[1..].iter().take_while(|id| **id != 0);
            let words: Vec<String> = words.map(|id| format!("w{}", id - 2)).collect();
            words.join(" ") + "\n"
        });
        assert_eq!(run.stdout, expected.collect::<String>(), "{search}");
    }
    let info = folder.run("info marian").stdout;
    assert!(info.contains("transformer, translates"), "{info}");
    let origin = format!("imported  {} (marian)", fixture("marian"));
    assert!(info.contains(&origin), "{info}");
    let inspected = folder.run("explain marian w1");
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
}

#[test]
fn an_imported_model_is_quantized_and_continues_texts() {
    let folder = with_models(&["t5", "llama"]);
    let (lines, _) = outputs("t5", "greedy");
    folder.write("in", &lines);
    let translated = folder.run("translate t5 in --max-new-tokens 12");
    assert_eq!(translated.code, Some(0), "{}", translated.stderr);
    folder.write("ref", &translated.stdout);
    let quantized = folder.run("quantize t5 --precision int8 --output small --src in --ref ref");
    assert_eq!(quantized.code, Some(0), "{}", quantized.stderr);
    let run = folder.run("generate llama --prompt w1 --temperature 0 --max-new-tokens 5");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("w1 w"), "{}", run.stdout);
}

#[test]
fn what_cannot_be_imported_is_refused() {
    let folder = with_models(&["t5"]);
    let fixture = fixture("t5");
    folder.fails(&format!("import {fixture} --output t5"), 2, &["`t5` already exists", "hint: "]);
    folder.fails("import nowhere --output new", 1, &["cannot read `nowhere`"]);
    fs::create_dir(folder.path("model")).unwrap();
    folder.write("model/config.json", "{\"model_type\": \"whisper\"}");
    let unsupported = ["`model_type` = \"whisper\" is not supported", "attentive help import"];
    folder.fails("import model --output new", 1, &unsupported);
    assert!(!folder.path("new").exists());
}

#[test]
fn the_name_of_a_repository_is_no_path() {
    let folder = Folder::new();
    let hint = "hint: `import` downloads nothing: first `hf download Helsinki-NLP/opus-mt-en-de --local-dir \
                opus-mt-en-de`";
    for prefix in ["", "https://huggingface.co/"] {
        let command = format!("import {prefix}Helsinki-NLP/opus-mt-en-de --output x");
        folder.fails(&command, 1, &["no such file", hint]);
    }
    fs::create_dir(folder.path("marian")).unwrap();
    for path in ["marian/modle", "none/model.npz", "./none", "none/a/b"] {
        let outcome = folder.run(&format!("import {path} --output x"));
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(!outcome.stderr.contains("hf download"), "{outcome:?}");
    }
}
