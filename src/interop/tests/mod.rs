//! Small random models of `transformers` (scripts/fixtures/hf.py) compute here what they compute there.

mod configs;
mod export;
mod generation;
mod mutations;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::Foreign;
use crate::architecture::{Pooling, Positions, Task};
use crate::batch::{Batch, Padded, TokenId};
use crate::checkpoint::{self, LoadedWeights};
use crate::decode::{SampleOptions, Sampling};
use crate::device;
use crate::error::Result;
use crate::model::tests::rows;
use crate::nn::Pass;
use crate::pipeline::{GenerateOptions, Pipeline, TranslateOptions};
use crate::text::Languages;

const KINDS: [&str; 15] = [
    "bart",
    "bart_min_length",
    "mbart",
    "m2m_100",
    "marian",
    "marian_separate",
    "t5",
    "t5_gated",
    "llama",
    "llama3",
    "gpt2",
    "gpt2_untied",
    "bert",
    "bert_encoder",
    "distilbert",
];
/// The longest outputs, in tokens.
const LONGEST: usize = 12;

fn open(dir: &Path) -> Result<Foreign> {
    Foreign::open(dir, None, &Languages::default())
}

fn fixture(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/hf")
        .join(kind)
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
fn logits_are_those_of_transformers() {
    for kind in KINDS {
        let (_folder, dir) = imported(kind);
        let loaded = checkpoint::load(&dir).unwrap();
        let LoadedWeights::Dense(weights) = loaded.weights else {
            panic!("not quantised")
        };
        let model = checkpoint::build(&loaded.architecture, weights, &device::cpu());
        let file = fs::read(fixture(kind).join("logits.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&file).unwrap();
        let ids = |name: &str| -> Padded {
            let tensor = tensors.tensor(name).unwrap();
            let ids: Vec<i32> = bytemuck::pod_collect_to_vec(tensor.data());
            let ids: Vec<TokenId> = ids.into_iter().map(|id| id as TokenId).collect();
            Padded::single(&ids)
        };
        for number in 0..5 {
            let input = ids(&format!("{number}.input"));
            let batch = match loaded.architecture.task() {
                Task::Generate => Batch {
                    tgt_in: input,
                    ..Batch::default()
                },
                Task::Fill | Task::Embed => Batch {
                    src: input,
                    ..Batch::default()
                },
                _ => Batch {
                    src: input,
                    tgt_in: ids(&format!("{number}.decoder")),
                    ..Batch::default()
                },
            };
            let pass = Pass::inference();
            let found = match loaded.architecture.task() {
                Task::Embed => model.encode(&batch, &pass).sequence.x,
                _ => model.forward(&batch, &pass),
            };
            let found = rows(found).concat();
            let tensor = tensors.tensor(&format!("{number}.logits")).unwrap();
            let expected: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.data());
            assert_eq!(found.len(), expected.len(), "{kind}");
            let pairs = found.iter().zip(&expected);
            // The probability of barred tokens is 0 here.
            let pairs = pairs.filter(|(found, _)| !kind.starts_with("marian") || **found > -100.0);
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-4, "{kind}: {worst}");
        }
    }
}

/// An output of `transformers`.
#[derive(serde::Deserialize)]
struct Expected {
    text: String,
    #[serde(default)]
    greedy: Vec<TokenId>,
    beam: Option<Vec<TokenId>>,
    score: Option<f64>,
    /// The likeliest tokens of the hidden words.
    #[serde(default)]
    filled: Vec<TokenId>,
    /// The vector of the text.
    #[serde(default)]
    vector: Vec<f32>,
}

#[test]
fn outputs_are_those_of_transformers() {
    for kind in KINDS {
        let (_folder, dir) = imported(kind);
        let pipeline = Pipeline::load(&dir).unwrap();
        let text = fs::read(fixture(kind).join("outputs.json")).unwrap();
        let expected: Vec<Expected> = serde_json::from_slice(&text).unwrap();
        assert_eq!(expected.len(), 50, "{kind}");
        match pipeline.architecture().task() {
            Task::Generate => generates(kind, &pipeline, &expected),
            Task::Fill => fills(kind, &pipeline, &expected),
            Task::Embed => embeds(kind, &pipeline, &expected),
            _ => translates(kind, &pipeline, &expected),
        }
    }
}

/// `ids` without the special tokens at the ends.
fn inner(ids: &[TokenId], pipeline: &Pipeline) -> Vec<TokenId> {
    let eos = pipeline.tokenizers().tgt().special().eos;
    let ids = &ids[1..];
    let end = ids.iter().position(|&id| id == eos).unwrap_or(ids.len());
    ids[..end].to_vec()
}

fn translates(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let lines: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
    for beam_width in [1, 4] {
        let mut options = TranslateOptions::from(&pipeline.config().decode);
        assert_eq!(options.search.beam_width, 4);
        options.search.beam_width = beam_width;
        let found = pipeline.translate_with(&lines, &options).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            let best = &found.hypotheses[0];
            let theirs = match (beam_width, &expected.beam) {
                (4, Some(beam)) => beam,
                _ => &expected.greedy,
            };
            let same = best.tokens == inner(theirs, pipeline);
            let tied = beam_width == 4
                && expected
                    .score
                    .is_some_and(|score| (score - best.score).abs() < 1e-4);
            assert!(
                same || tied,
                "{kind}, beam {beam_width}: {:?} ({}), expected {theirs:?} ({:?}) for {}",
                best.tokens,
                best.score,
                expected.score,
                expected.text
            );
        }
    }
}

fn generates(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let options = GenerateOptions {
        sample: SampleOptions {
            sampling: Sampling {
                temperature: 0.0,
                ..Sampling::default()
            },
            max_new_tokens: LONGEST,
            ..SampleOptions::default()
        },
        stop: Vec::new(),
    };
    for expected in expected {
        let prompt = pipeline.prompt(&expected.text).unwrap();
        let start = usize::from(kind.starts_with("llama")); // `<s>`
        let n_read = start + expected.text.split(' ').count();
        let found = pipeline.generate(&prompt, &options, &mut |_| Ok(()));
        let mut found = found.unwrap().tokens;
        let eos = pipeline.tokenizers().tgt().special().eos;
        let theirs = &expected.greedy[n_read..];
        if theirs.last() == Some(&eos) {
            found.push(eos);
        }
        assert_eq!(found, theirs, "{kind}: {}", expected.text);
    }
}

fn fills(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    for expected in expected {
        let found = pipeline.fill(&expected.text, 1).unwrap();
        let tokenizer = pipeline.tokenizers().tgt();
        let words = found.gaps.iter().map(|best| best[0].text.clone());
        let theirs = expected
            .filled
            .iter()
            .map(|&id| tokenizer.token(id).unwrap());
        assert_eq!(
            words.collect::<Vec<_>>(),
            theirs.collect::<Vec<_>>(),
            "{kind}: {}",
            expected.text
        );
    }
}

fn embeds(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let texts: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
    let found = pipeline.embed(1, &texts).unwrap();
    for (found, expected) in found.iter().zip(expected) {
        let found = found.vector.as_ref().unwrap();
        assert_eq!(found.len(), expected.vector.len());
        let pairs = found.iter().zip(&expected.vector);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{kind}: {worst} for {}", expected.text);
    }
}

#[test]
fn an_encoder_alone_only_embeds() {
    let (_folder, dir) = imported("bert_encoder");
    let pipeline = Pipeline::load(&dir).unwrap();
    let problem = pipeline.fill("w1 <mask>", 1).unwrap_err().to_string();
    assert!(problem.contains("computes text vectors"), "{problem}");
    assert!(pipeline.inspect("w1", None).is_err());
    assert!(
        pipeline.config().validate().is_err(),
        "it cannot be trained"
    );
}

#[test]
fn pooling_is_that_of_sentence_transformers() {
    let folder = changed("bert_encoder", "config.json", |_| ());
    let dir = folder.path().join("1_Pooling");
    fs::create_dir(&dir).unwrap();
    let modes = |modes: Value| fs::write(dir.join("config.json"), modes.to_string()).unwrap();
    modes(json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}));
    let found = open(folder.path()).unwrap();
    assert_eq!(found.config.model.pooling, Pooling::First);
    for (mode, pooling) in [
        ("mean", Pooling::Mean),
        ("cls", Pooling::First),
        ("lasttoken", Pooling::Last),
    ] {
        modes(json!({"embedding_dimension": 24, "pooling_mode": mode}));
        let model = open(folder.path()).unwrap().config.model;
        assert_eq!(model.pooling, pooling, "{mode}");
    }
    modes(json!({"pooling_mode": ["mean", "cls"]}));
    assert!(refusal(&folder).contains("`pooling_mode` = [\"mean\",\"cls\"]"));
    modes(json!({"pooling_mode_max_tokens": true}));
    assert!(refusal(&folder).contains("`pooling_mode_max_tokens` = true"));
}

#[test]
fn modules_are_those_of_sentence_transformers() {
    let folder = changed("bert_encoder", "config.json", |_| ());
    let write = |name: &str, value: Value| {
        fs::write(folder.path().join(name), value.to_string()).unwrap();
    };
    let module = |kind: &str, path: &str| json!({"type": format!("sentence_transformers.models.{kind}"), "path": path});
    let usual = [module("Transformer", ""), module("Pooling", "1_Pooling")];
    let modules = |last: Value| write("modules.json", json!([usual[0], usual[1], last]));
    modules(module("Normalize", "2_Normalize"));
    let out = folder.path().join("out");
    open(folder.path()).unwrap().write(&out).unwrap();
    let pipeline = Pipeline::load(&out).unwrap();
    let (_folder, dir) = imported("bert_encoder");
    let plain = Pipeline::load(&dir).unwrap();
    let vector = |pipeline: &Pipeline| -> Vec<f64> {
        let found = pipeline.embed(1, &["w5 w6 w7"]).unwrap();
        let found = found[0].vector.clone().unwrap();
        found.into_iter().map(f64::from).collect()
    };
    let plain = vector(&plain);
    let length = plain.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((length - 1.0).abs() > 0.1);
    for (found, plain) in vector(&pipeline).iter().zip(plain) {
        assert!((found - plain / length).abs() < 1e-6);
    }
    let long = vec!["w5"; 30].join(" ");
    let of_long = |pipeline: &Pipeline| pipeline.embed(1, &[&long]).unwrap().remove(0);
    assert!(of_long(&pipeline).warnings.is_empty());
    write("sentence_bert_config.json", json!({"max_seq_length": 20}));
    let out = folder.path().join("short");
    open(folder.path()).unwrap().write(&out).unwrap();
    let short = Pipeline::load(&out).unwrap();
    let warning = of_long(&short).warnings[0].to_string();
    assert!(
        warning.contains("only the first 18 of 30 tokens"),
        "{warning}"
    );
    let cut = vec!["w5"; 18].join(" ");
    let whole = pipeline.embed(1, &[&cut]).unwrap().remove(0);
    assert_eq!(of_long(&short).vector, whole.vector);
    // A head is left out.
    fs::copy(
        fixture("bert").join("config.json"),
        folder.path().join("config.json"),
    )
    .unwrap();
    fs::copy(
        fixture("bert").join("model.safetensors"),
        folder.path().join("model.safetensors"),
    )
    .unwrap();
    let model = open(folder.path()).unwrap().config.model;
    assert!(model.family == crate::config::Family::Encoder && model.unit_vectors);
    modules(module("Dense", "2_Dense"));
    let problem = refusal(&folder);
    assert!(
        problem.contains("`sentence_transformers.models.Dense` in `2_Dense`"),
        "{problem}"
    );
    modules(module("Normalize", "2_Normalize"));
    write(
        "sentence_bert_config.json",
        json!({"max_seq_length": 20, "do_lower_case": true}),
    );
    assert!(refusal(&folder).contains("`do_lower_case` = true"));
}

#[test]
fn names_of_early_versions_and_without_a_prefix_are_read() {
    let early = with_tensors("bert", |tensors| {
        *tensors = std::mem::take(tensors)
            .into_iter()
            .map(|(name, tensor)| {
                let name = name.replace("LayerNorm.weight", "LayerNorm.gamma");
                let name = name.replace("LayerNorm.bias", "LayerNorm.beta");
                (name.trim_start_matches("bert.").to_owned(), tensor)
            })
            .collect();
    });
    let [early, recent] = [early.path(), &fixture("bert")].map(|dir| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("model");
        open(dir).unwrap().write(&out).unwrap();
        fs::read(out.join("model.safetensors")).unwrap()
    });
    assert!(early == recent);
}

#[test]
fn what_is_not_understood_is_named() {
    let config = "config.json";
    let cases: [(&str, &str, Value, &str); 7] = [
        (
            "bart",
            "activation_function",
            json!("mish"),
            "`activation_function` = \"mish\" is not supported",
        ),
        (
            "bart",
            "decoder_ffn_dim",
            json!(34),
            "`decoder_ffn_dim` = 34 is not supported",
        ),
        ("bart", "new_key", json!(0.5), "`new_key` = 0.5 is unknown"),
        (
            "bart",
            "d_model",
            json!("wide"),
            "`d_model` = \"wide\" is not supported",
        ),
        (
            "llama",
            "rope_scaling",
            json!({"factor": 8.0}),
            "`rope_scaling` = {\"factor\":8.0} is not supported",
        ),
        (
            "t5",
            "feed_forward_proj",
            json!("gated-tanh"),
            "`feed_forward_proj` = \"gated-tanh\" is not supported",
        ),
        (
            "t5",
            "model_type",
            json!("whisper"),
            "`model_type` = \"whisper\" is not supported",
        ),
    ];
    for (kind, key, value, expected) in cases {
        let folder = changed(kind, config, |keys| keys[key] = value);
        let problem = refusal(&folder);
        assert!(problem.contains(expected), "{problem}");
    }
    let missing = changed("t5", config, |keys| {
        keys.as_object_mut().unwrap().remove("d_kv");
    });
    assert!(refusal(&missing).contains("`d_kv` is missing"));
}

/// Tensors of numbers in `f32`, by name.
type Named = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// A copy of a fixture with other tensors.
fn with_tensors(kind: &str, change: impl FnOnce(&mut Named)) -> tempfile::TempDir {
    let folder = changed(kind, "config.json", |_| ());
    change_tensors(&folder.path().join("model.safetensors"), change);
    folder
}

/// Changes the tensors in the file `path`.
fn change_tensors(path: &Path, change: impl FnOnce(&mut Named)) {
    let file = fs::read(path).unwrap();
    let read = SafeTensors::deserialize(&file).unwrap();
    let mut tensors: Named = read
        .tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let values = bytemuck::pod_collect_to_vec(tensor.data());
            (name, (tensor.shape().to_vec(), values))
        })
        .collect();
    change(&mut tensors);
    let parameters: Vec<crate::model::Parameter> = tensors
        .into_iter()
        .map(|(name, (shape, values))| crate::model::Parameter {
            name,
            shape,
            values,
        })
        .collect();
    checkpoint::weights::write(path, &parameters).unwrap();
}

#[test]
fn tensors_must_be_those_of_the_kind() {
    let norm = "model.encoder.layers.1.final_layer_norm.bias";
    let missing = with_tensors("marian", |tensors| {
        tensors.remove(norm);
    });
    assert!(refusal(&missing).contains(&format!("tensor `{norm}` is missing")));
    let unknown = with_tensors("marian", |tensors| {
        tensors.insert("model.adapter".into(), (vec![1], vec![0.0]));
    });
    assert!(refusal(&unknown).contains("tensor `model.adapter` is unknown"));
    let shape = with_tensors("marian", |tensors| {
        tensors.insert(norm.into(), (vec![3], vec![0.0; 3]));
    });
    assert!(refusal(&shape).contains("has shape [3], expected [24]"));
    let shared = "model.shared.weight";
    let copied = |change: f32| {
        with_tensors("marian", |tensors| {
            let (shape, mut values) = tensors[shared].clone();
            values[7] += change;
            tensors.insert("lm_head.weight".into(), (shape, values));
        })
    };
    assert!(open(copied(0.0).path()).is_ok());
    let huge = changed("m2m_100", "config.json", |keys| {
        keys["max_position_embeddings"] = json!(1 << 20);
    });
    let problem = refusal(&huge);
    assert!(problem.contains("is too large"), "{problem}");
    let problem = refusal(&copied(1.0));
    assert!(
        problem.contains("should be the same tensor, but differ"),
        "{problem}"
    );
}

#[test]
fn pickles_and_missing_files_are_refused() {
    let folder = changed("marian", "config.json", |_| ());
    let weights = folder.path().join("model.safetensors");
    fs::rename(&weights, folder.path().join("pytorch_model.bin")).unwrap();
    assert!(refusal(&folder).contains("pickled"));
    fs::remove_file(folder.path().join("pytorch_model.bin")).unwrap();
    assert!(refusal(&folder).contains("it has neither `model.safetensors`"));
    let folder = changed("marian", "config.json", |_| ());
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    assert!(refusal(&folder).contains("it has no `tokenizer.json`"));
}

/// Divides the tensors in `dir`, which get 16 bits each, between two files; the path of the index.
fn into_halves_and_shards(dir: &Path) -> PathBuf {
    let path = dir.join("model.safetensors");
    let file = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let (mut shards, mut map) = ([Vec::new(), Vec::new()], BTreeMap::new());
    for (number, (name, tensor)) in tensors.tensors().into_iter().enumerate() {
        let values: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.data());
        let is_f16 = number % 2 == 0;
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|&value| match is_f16 {
                true => half::f16::from_f32(value).to_le_bytes(),
                false => half::bf16::from_f32(value).to_le_bytes(),
            })
            .collect();
        let dtype = match is_f16 {
            true => safetensors::Dtype::F16,
            false => safetensors::Dtype::BF16,
        };
        let shard = number % 3 / 2;
        map.insert(name.clone(), format!("{shard}.safetensors"));
        shards[shard].push((name, dtype, tensor.shape().to_vec(), bytes));
    }
    for (number, shard) in shards.iter().enumerate() {
        let views = shard.iter().map(|(name, dtype, shape, bytes)| {
            let view = safetensors::tensor::TensorView::new(*dtype, shape.clone(), bytes);
            (name.clone(), view.unwrap())
        });
        let written = safetensors::serialize(views, None).unwrap();
        fs::write(dir.join(format!("{number}.safetensors")), written).unwrap();
    }
    fs::remove_file(&path).unwrap();
    let index = dir.join("model.safetensors.index.json");
    fs::write(&index, json!({ "weight_map": map }).to_string()).unwrap();
    index
}

#[test]
fn halves_and_shards_are_read() {
    let folder = changed("llama", "config.json", |_| ());
    let file = fs::read(folder.path().join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let index = into_halves_and_shards(folder.path());
    let out = folder.path().join("out");
    open(folder.path()).unwrap().write(&out).unwrap();
    let LoadedWeights::Dense(weights) = checkpoint::load(&out).unwrap().weights else {
        panic!("not quantised")
    };
    let norm = weights
        .iter()
        .find(|one| one.name == "decoder.norm.gain")
        .unwrap();
    let original: Vec<f32> =
        bytemuck::pod_collect_to_vec(tensors.tensor("model.norm.weight").unwrap().data());
    for (&found, &original) in norm.values.iter().zip(&original) {
        assert!((found - original).abs() <= original.abs() / 128.0);
    }
    fs::write(
        &index,
        json!({"weight_map": {"a": "../outside"}}).to_string(),
    )
    .unwrap();
    assert!(refusal(&folder).contains("is not the name of a file in this directory"));
}

#[test]
fn the_owners_search_is_kept() {
    let folder = changed("marian", "generation_config.json", |keys| {
        keys["length_penalty"] = json!(0.8);
        keys["no_repeat_ngram_size"] = json!(3);
        keys["max_length"] = json!(40);
        keys["renormalize_logits"] = json!(false);
    });
    let config = open(folder.path()).unwrap().config;
    let decode = &config.decode;
    assert_eq!((decode.beam_width, decode.alpha), (4, 0.8));
    assert_eq!((decode.no_repeat_ngram, decode.max_new_extra), (3, 39));
    let model = &config.model;
    assert_eq!(model.decoder_start.as_deref(), Some("<pad>"));
    assert_eq!(model.forced_last.as_deref(), Some("</s>"));
    assert_eq!(
        model.never_generated.as_deref(),
        Some(&["<pad>".to_owned()][..])
    );
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
    let foreign = Foreign::open(folder.path(), None, &languages("en_XX", "de_DE")).unwrap();
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
    let found = pipeline.translate_with(&["w5 w6"], &options).unwrap();
    assert_eq!(found[0].hypotheses[0].tokens[0], 44);
    let error = pipeline.with_languages(&languages("", "tlh")).unwrap_err();
    assert_eq!(
        error.hint(),
        Some("its languages are en_XX, de_DE, fr_XX".into())
    );
}
