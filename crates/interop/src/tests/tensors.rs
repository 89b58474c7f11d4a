//! Tests of the tensors of a model.

use attentive_checkpoint::{LoadedModel, StoredNumbers};

use super::*;
use crate::{ExportFormat, ExportOptions, export};

/// Tensors of numbers in `f32`, by name.
pub(super) type Named = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// A copy of a fixture with other tensors.
pub(super) fn with_tensors(kind: &str, change: impl FnOnce(&mut Named)) -> tempfile::TempDir {
    let folder = changed(kind, "config.json", |_| ());
    change_tensors(&folder.path().join("model.safetensors"), change);
    folder
}

/// Changes the tensors in the file `path`.
pub(super) fn change_tensors(path: &Path, change: impl FnOnce(&mut Named)) {
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
    let parameters: Vec<attentive_model::model::Parameter> = tensors
        .into_iter()
        .map(|(name, (shape, values))| attentive_model::model::Parameter { name, shape, values })
        .collect();
    checkpoint::weights::write(path, &parameters).unwrap();
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
    assert!(problem.contains("should be the same tensor, but differ"), "{problem}");
}

#[test]
fn an_embedding_may_be_stored_as_that_of_the_decoder() {
    for kind in ["bart", "marian", "t5", "t5_gated"] {
        let names = ["shared.weight", "decoder.embed_tokens.weight"];
        let prefix = if kind.starts_with("t5") { "" } else { "model." };
        let [shared, copy] = names.map(|name| format!("{prefix}{name}"));
        let folder = with_tensors(kind, |tensors| {
            let table = tensors.remove(&shared).unwrap();
            tensors.insert(copy.clone(), table);
            tensors.retain(|name, _| *name == copy || !name.ends_with("embed_tokens.weight"));
        });
        let weights = [fixture(kind).as_path(), folder.path()].map(|dir| {
            let out = tempfile::tempdir().unwrap();
            let out = out.path().join("out");
            open(dir).unwrap().write(&out).unwrap();
            fs::read(out.join("model.safetensors")).unwrap()
        });
        assert!(weights[0] == weights[1], "{kind}");
    }
}

#[test]
fn pickles_and_missing_files_are_refused() {
    let folder = changed("marian", "config.json", |_| ());
    let weights = folder.path().join("model.safetensors");
    fs::rename(&weights, folder.path().join("pytorch_model.bin")).unwrap();
    assert!(refusal(&folder).contains("pickled"));
    for name in ["pytorch_model.bin", "logits.safetensors"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert!(refusal(&folder).contains("it has neither `model.safetensors`"));
    let folder = changed("marian", "config.json", |_| ());
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    assert!(refusal(&folder).contains("it has no `tokenizer.json`"));
}

/// Divides the tensors in `dir` between two files, with 16 bits for each number, and returns the path of the
/// index.
pub(super) fn into_halves_and_shards(dir: &Path) -> PathBuf {
    let path = dir.join("model.safetensors");
    let file = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let (mut shards, mut map) = ([Vec::new(), Vec::new()], BTreeMap::new());
    for (number, (name, tensor)) in tensors.tensors().into_iter().enumerate() {
        let values: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.data());
        let is_f16 = number % 2 == 0;
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|&value| {
                if is_f16 {
                    half::f16::from_f32(value).to_le_bytes()
                } else {
                    half::bf16::from_f32(value).to_le_bytes()
                }
            })
            .collect();
        let dtype = if is_f16 { safetensors::Dtype::F16 } else { safetensors::Dtype::BF16 };
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
        panic!("not quantized")
    };
    let norm = weights.iter().find(|one| one.name == "decoder.norm.gain").unwrap();
    let original: Vec<f32> =
        bytemuck::pod_collect_to_vec(tensors.tensor("model.norm.weight").unwrap().data());
    for (&found, &original) in norm.values.iter().zip(&original) {
        assert!((found - original).abs() <= original.abs() / 128.0);
    }
    fs::write(&index, json!({"weight_map": {"a": "../outside"}}).to_string()).unwrap();
    assert!(refusal(&folder).contains("is not the name of a file in this directory"));
}

/// The types of the tensors in `dir`.
fn types(dir: &Path) -> BTreeMap<String, safetensors::Dtype> {
    let file = fs::read(dir.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap().tensors();
    tensors.into_iter().map(|(name, tensor)| (name, tensor.dtype())).collect()
}

#[test]
fn a_model_keeps_the_number_type_in_which_it_came() {
    for numbers in [StoredNumbers::F16, StoredNumbers::Bf16] {
        // The bias of Marian gets numbers that need all bits.
        for (kind, exact) in
            [("gpt2", 1.0), ("m2m_100", 1.0), ("marian", 1.0), ("marian", 1.0 + f32::EPSILON)]
        {
            let folder = changed(kind, "config.json", |_| ());
            let path = folder.path().join("model.safetensors");
            let file = fs::read(&path).unwrap();
            let tensors = SafeTensors::deserialize(&file).unwrap();
            let narrowed = tensors.tensors().into_iter().map(|(name, tensor)| {
                let mut values: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.data());
                let is_bias = name == "final_logits_bias";
                if is_bias {
                    values[0] = exact;
                }
                let is_single = is_bias && exact != 1.0;
                let stored = if is_single { StoredNumbers::F32 } else { numbers };
                (name, stored.dtype(), tensor.shape().to_vec(), stored.narrowed(&values).into_owned())
            });
            let narrowed: Vec<_> = narrowed.collect();
            let views = narrowed.iter().map(|(name, dtype, shape, bytes)| {
                let view = safetensors::tensor::TensorView::new(*dtype, shape.clone(), bytes);
                (name.clone(), view.unwrap())
            });
            fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();

            let [imported, copied, packed, back] =
                ["imported", "copied", "packed", "back"].map(|name| folder.path().join(name));
            open(folder.path()).unwrap().write(&imported).unwrap();
            for (name, dtype) in types(&imported) {
                let is_computed = kind == "m2m_100" && name.ends_with(".positions.learned");
                let is_single = name == "head.bias" && exact != 1.0 || is_computed;
                let expected = if is_single { StoredNumbers::F32 } else { numbers };
                assert_eq!(dtype, expected.dtype(), "{kind}, {name}");
            }
            let LoadedModel { weights: LoadedWeights::Dense(weights), provenance, .. } =
                checkpoint::load(&imported).unwrap()
            else {
                panic!("not quantized")
            };
            assert_eq!(provenance.numbers, numbers);
            let mapped = checkpoint::MappedWeights::open(&imported).unwrap();
            for (index, parameter) in weights.iter().enumerate() {
                assert_eq!(mapped.parameter(index).0, parameter.name);
                assert_eq!(*mapped.values(index), *parameter.values, "{kind}");
            }
            // Engines read the same numbers.
            let loaded = Pipeline::load(&imported).unwrap();
            assert!(loaded.parameters() == weights, "{kind}, {numbers}");

            checkpoint::copy(&imported, &copied).unwrap();
            assert_eq!(types(&copied), types(&imported), "{kind}");
            let bytes = |dir: &Path| fs::read(dir.join("model.safetensors")).unwrap();
            assert_eq!(bytes(&copied), bytes(&imported), "{kind}");

            let exported = export(&imported, ExportFormat::Hf, ExportOptions::default(), &back).unwrap();
            let is_rounded =
                exported.notes.iter().any(|note| note.contains(&format!("rounded to {numbers}")));
            assert_eq!(is_rounded, exact != 1.0, "{:?}", exported.notes);
            assert!(types(&back).values().all(|dtype| *dtype == numbers.dtype()), "{kind}");
            open(&back).unwrap().write(&packed).unwrap();
            if exact == 1.0 {
                assert_eq!(bytes(&packed), bytes(&imported), "{kind}");
            }
        }
    }
}
