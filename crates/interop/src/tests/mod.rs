//! Tests that small random models (scripts/fixtures/hf.py) have the same outputs as in `transformers`.

mod configs;
mod diagnosis;
mod export;
mod export_marian;
mod generation;
mod labels;
mod mutations;
mod outputs;
mod sentences;
mod tensors;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_architecture::{Pooling, Task};
use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::body::Body;
use attentive_base::error::Result;
use attentive_checkpoint::{self as checkpoint, LoadedWeights};
use attentive_decode::{SampleOptions, Sampling};
use attentive_model::nn::Pass;
use attentive_pipeline::{GenerateOptions, Pipeline, TranslateOptions};
use attentive_samples::rows;
use attentive_text::Languages;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::ForeignModel;

const KINDS: [&str; 42] = [
    "bart",
    "bart_min_length",
    "bart_uneven",
    "mbart",
    "m2m_100",
    "marian",
    "marian_separate",
    "t5",
    "t5_gated",
    "mt5",
    "llama",
    "llama3",
    "gpt2",
    "gpt2_untied",
    "bert",
    "bert_encoder",
    "distilbert",
    "roberta",
    "xlm_roberta_encoder",
    "camembert",
    "mpnet",
    "mpnet_encoder",
    "bert_classifier",
    "roberta_classifier",
    "mpnet_classifier",
    "distilbert_classifier",
    "bert_tagger",
    "xlm_roberta_tagger",
    "mpnet_tagger",
    "distilbert_tagger",
    // Saved by version 5.
    "llama3_v5",
    "t5_v5",
    "t5_gated_v5",
    "mt5_v5",
    "bart_v5",
    "marian_v5",
    "gpt2_v5",
    "bert_v5",
    "roberta_v5",
    "mpnet_encoder_v5",
    "bert_classifier_v5",
    "xlm_roberta_tagger_v5",
];

fn open(dir: &Path) -> Result<ForeignModel> {
    ForeignModel::open(dir, None, &Languages::default())
}

fn fixture(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hf").join(kind)
}

/// The model directory of an imported model.
fn imported(kind: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model");
    open(&fixture(kind)).unwrap().write(&out).unwrap();
    (folder, out)
}

/// A copy of a fixture in which `change` has changed `file`, a JSON file.
fn changed(kind: &str, file: &str, change: impl FnOnce(&mut Value)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(kind)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = folder.path().join(file);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
    folder
}

fn refusal(folder: &tempfile::TempDir) -> String {
    open(folder.path()).unwrap_err().to_string()
}

#[test]
fn languages_are_chosen_at_import_and_for_a_run() {
    let folder = changed("mbart", "tokenizer.json", |file| {
        let vocab = file["model"]["vocab"].as_object_mut().unwrap();
        vocab.retain(|_, id| id.as_u64() < Some(42));
        let added = file["added_tokens"].as_array_mut().unwrap();
        for (id, token) in (42..).zip(["en_XX", "de_DE", "fr_XX"]) {
            let mut entry = added[0].clone();
            entry["id"] = json!(id);
            entry["content"] = json!(token);
            added.push(entry);
        }
    });
    let settings = json!({"tokenizer_class": "MBart50TokenizerFast"});
    let path = folder.path().join("tokenizer_config.json");
    fs::write(path, settings.to_string()).unwrap();
    assert!(refusal(&folder).contains("nothing says what the source language is"));
    let languages = |source: &str, target: &str| Languages {
        source: Some(source.to_owned()).filter(|code| !code.is_empty()),
        target: Some(target.to_owned()),
    };
    let out = folder.path().join("out");
    let foreign = ForeignModel::open(folder.path(), None, &languages("en_XX", "de_DE")).unwrap();
    foreign.write(&out).unwrap();
    let pipeline = Pipeline::load(&out).unwrap();
    let framed = |pipeline: &Pipeline| {
        let first = pipeline.tokenizers().src().special().first;
        [first, pipeline.contract().unwrap().forced_first]
    };
    assert_eq!(framed(&pipeline), [Some(42), Some(43)]);
    let pipeline = pipeline.with_languages(&languages("", "fr_XX")).unwrap();
    assert_eq!(framed(&pipeline), [Some(42), Some(44)]);
    let options = TranslateOptions::from(&pipeline.config().decode);
    let found = pipeline.translate_lines(&["w5 w6"], &options).unwrap();
    assert_eq!(found[0].hypotheses[0].tokens[0], 44);
    let error = pipeline.with_languages(&languages("", "tlh")).unwrap_err();
    assert_eq!(error.hint(), Some("its languages are en_XX, de_DE, fr_XX".into()));
}
