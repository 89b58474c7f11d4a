//! Checksums of configuration and tokenizers.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cli_model::{CONFIG, stdout, trained};
use crate::run::Folder;

/// The checksums in the provenance of a model.
fn sums(folder: &Folder, model: &str) -> BTreeMap<String, String> {
    let text = fs::read(folder.path(model).join("provenance.json")).unwrap();
    let provenance: Value = serde_json::from_slice(&text).unwrap();
    serde_json::from_value(provenance["sha256"].clone()).unwrap()
}

/// Removes the checksums of configuration and tokenizers, as a user does who has edited a file.
pub(crate) fn forget_sums(folder: &Folder, model: &str) {
    let path = folder.path(model).join("provenance.json");
    let mut provenance: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let sums = provenance["sha256"].as_object_mut().unwrap();
    sums.retain(|name, _| name.ends_with(".safetensors"));
    fs::write(&path, provenance.to_string()).unwrap();
}

/// Removes all checksums.
pub(crate) fn forget_all_sums(folder: &Folder, model: &str) {
    let path = folder.path(model).join("provenance.json");
    let mut provenance: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    provenance["sha256"] = serde_json::json!({});
    fs::write(&path, provenance.to_string()).unwrap();
}

/// Whether the checksums of a model are those of its files, and there are these.
#[track_caller]
fn assert_checked(folder: &Folder, model: &str, files: &[&str]) {
    let sums = sums(folder, model);
    assert_eq!(sums.keys().collect::<Vec<_>>(), files, "{model}");
    for (name, expected) in sums {
        let content = fs::read(folder.path(model).join(&name)).unwrap();
        let digest = Sha256::digest(&content);
        let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected, "{model}/{name}");
    }
}

/// The files that have checksums in a model that is not quantized.
pub(crate) const DENSE: [&str; 3] = ["config.toml", "model.safetensors", "tokenizer.json"];

#[test]
fn every_model_has_the_checksums_of_its_files() {
    let folder = trained();
    assert_checked(&folder, "runs/c", &DENSE);
    stdout(&folder, "average runs/c --last 1 --output runs/mean");
    assert_checked(&folder, "runs/mean", &DENSE);
    // A resumed run with other limits has another configuration.
    let before = sums(&folder, "runs/c");
    folder.write("c.toml", CONFIG);
    stdout(&folder, "train c.toml --output runs/c --resume --set train.max_steps=14");
    assert_checked(&folder, "runs/c", &DENSE);
    assert_ne!(sums(&folder, "runs/c")["config.toml"], before["config.toml"]);
    stdout(&folder, "translate runs/c src");
}

#[test]
fn a_file_that_was_changed_unnoticed_is_named() {
    let folder = trained();
    for file in ["config.toml", "tokenizer.json"] {
        let path = folder.path("runs/c").join(file);
        let whole = fs::read(&path).unwrap();
        // Still TOML and JSON, and with the same meaning.
        fs::write(&path, [&whole[..], b"\n"].concat()).unwrap();
        let words = [file, "SHA-256", "hint: ", "delete its entry"];
        folder.fails("translate runs/c src", 1, &words);
        folder.fails("info runs/c", 1, &words);
        folder.write("c.toml", CONFIG);
        folder.fails("train c.toml --output runs/c --resume", 1, &[file]);
        fs::write(&path, whole).unwrap();
    }
    // A model of version 0.2, which knew only the weights.
    forget_sums(&folder, "runs/c");
    let path = folder.path("runs/c/tokenizer.json");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"\n"].concat()).unwrap();
    stdout(&folder, "translate runs/c src");
    // It gets them when its weights change.
    folder.write("c.toml", CONFIG);
    stdout(&folder, "train c.toml --output runs/c --resume --set train.max_steps=14");
    assert_checked(&folder, "runs/c", &DENSE);
}

#[test]
fn other_files_do_not_count() {
    let folder = trained();
    let others = ["tokenizer.model", "tokenizer.src.json"];
    for other in others {
        folder.write(&format!("runs/c/{other}"), "of another tool");
    }
    // A run that goes on writes its checksums anew.
    stdout(&folder, "train c.toml --output runs/c --resume --set train.max_steps=8");
    assert_checked(&folder, "runs/c", &DENSE);
    // A version that took all of them wrote their checksums.
    let path = folder.path("runs/c/provenance.json");
    let mut provenance: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for other in others {
        provenance["sha256"][other] = "0".repeat(64).into();
    }
    fs::write(&path, provenance.to_string()).unwrap();
    stdout(&folder, "translate runs/c src");
}

#[test]
fn a_tokenizer_that_would_be_read_in_place_of_others_is_named() {
    let folder = trained();
    folder.write("c.toml", CONFIG);
    stdout(
        &folder,
        "train c.toml --output runs/two --set tokenizer.vocabulary=separate --set model.tie_embeddings=none",
    );
    let stray = folder.path("runs/two/tokenizer.json");
    fs::copy(folder.path("runs/c/tokenizer.json"), &stray).unwrap();
    let words = ["tokenizer.json", "in place of `tokenizer.src.json`"];
    folder.fails("translate runs/two src", 1, &words);
    fs::remove_file(stray).unwrap();
    stdout(&folder, "translate runs/two src");
}
