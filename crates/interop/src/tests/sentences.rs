//! Tests of encoders without a head, and of Sentence Transformers.

use attentive_config::FamilyConfig;

use super::*;

#[test]
fn an_encoder_alone_only_embeds() {
    let (_folder, dir) = imported("bert_encoder");
    let pipeline = Pipeline::load(&dir).unwrap();
    let problem = pipeline.fill("w1 <mask>", 1).unwrap_err().to_string();
    assert!(problem.contains("computes text vectors"), "{problem}");
    assert!(pipeline.inspect("w1", None).is_err());
    assert!(pipeline.config().validate().is_err(), "it cannot be trained");
}

#[test]
fn pooling_is_that_of_sentence_transformers() {
    let folder = changed("bert_encoder", "config.json", |_| ());
    let dir = folder.path().join("1_Pooling");
    fs::create_dir(&dir).unwrap();
    let modes = |modes: Value| fs::write(dir.join("config.json"), modes.to_string()).unwrap();
    modes(json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}));
    let pooling = || match open(folder.path()).unwrap().config.model.family {
        FamilyConfig::Encoder { pooling, .. } => pooling,
        other => panic!("{other:?}"),
    };
    assert_eq!(pooling(), Pooling::First);
    for (mode, expected) in [("mean", Pooling::Mean), ("cls", Pooling::First), ("lasttoken", Pooling::Last)] {
        modes(json!({"embedding_dimension": 24, "pooling_mode": mode}));
        assert_eq!(pooling(), expected, "{mode}");
    }
    modes(json!({"pooling_mode_mean_tokens": false}));
    assert!(refusal(&folder).contains("it names no pooling"));
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
    assert!(warning.contains("only the first 18 of 30 tokens"), "{warning}");
    let cut = vec!["w5"; 18].join(" ");
    let whole = pipeline.embed(1, &[&cut]).unwrap().remove(0);
    assert_eq!(of_long(&short).vector, whole.vector);
    // The head is ignored.
    fs::copy(fixture("bert").join("config.json"), folder.path().join("config.json")).unwrap();
    fs::copy(fixture("bert").join("model.safetensors"), folder.path().join("model.safetensors")).unwrap();
    let model = open(folder.path()).unwrap().config.model;
    let unit =
        matches!(model.family, FamilyConfig::Encoder { normalize_embeddings, .. } if normalize_embeddings);
    assert!(unit, "{model:?}");
    for incomplete in [json!([usual[0]]), json!([usual[1], usual[0]])] {
        write("modules.json", incomplete);
        open(folder.path()).unwrap_err();
    }
    modules(module("Dense", "2_Dense"));
    let problem = refusal(&folder);
    assert!(problem.contains("`sentence_transformers.models.Dense` in `2_Dense`"), "{problem}");
}

/// An encoder of Sentence Transformers with a file of settings.
fn with_settings(name: &str, settings: &Value) -> tempfile::TempDir {
    let folder = changed("bert_encoder", "config.json", |_| ());
    let module = |kind: &str, path: &str| json!({"type": format!("sentence_transformers.models.{kind}"), "path": path});
    let modules = json!([module("Transformer", ""), module("Pooling", "1_Pooling")]);
    for (name, value) in [("modules.json", &modules), (name, settings)] {
        fs::write(folder.path().join(name), value.to_string()).unwrap();
    }
    folder
}

#[test]
fn texts_are_written_small_by_the_tokenizer_alone() {
    let settings = json!({"do_lower_case": true});
    let folder = with_settings("sentence_bert_config.json", &settings);
    assert!(refusal(&folder).contains("`do_lower_case` = true"));
    let path = folder.path().join("tokenizer.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let lowercase = json!({"type": "Lowercase"});
    for normalizer in [
        lowercase.clone(),
        json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, lowercase]}),
        json!({"type": "BertNormalizer", "lowercase": true, "clean_text": true, "handle_chinese_chars": true, "strip_accents": null}),
    ] {
        file["normalizer"] = normalizer;
        fs::write(&path, file.to_string()).unwrap();
        open(folder.path()).unwrap();
    }
}

#[test]
fn prompts_are_named() {
    let name = "config_sentence_transformers.json";
    let prompts = |default: Value| json!({"prompts": {"query": "search: ", "document": ""}, "default_prompt_name": default});
    let notes = |settings| open(with_settings(name, &settings).path()).unwrap().notes;
    let found = notes(prompts(Value::Null));
    assert!(found[0].ends_with("write them before the texts: \"search: \" (query)"), "{found:?}");
    assert!(notes(json!({"prompts": {}, "similarity_fn_name": "cosine"})).is_empty());
    assert_eq!(notes(prompts(json!("document"))).len(), 1);
    let refused = refusal(&with_settings(name, &prompts(json!("query"))));
    assert!(refused.contains("`default_prompt_name` = \"query\""), "{refused}");
}
