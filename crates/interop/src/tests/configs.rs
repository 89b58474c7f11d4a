//! Tests of `config.json`, and of tokenizers that match it.

use super::tensors::{change_tensors, with_tensors};
use super::*;
use crate::sentencepiece::SentencePiece;

/// A copy of a fixture with more keys in `config.json`, and with this `generation_config.json`.
pub(super) fn with_keys(kind: &str, config: Value, generation: Option<Value>) -> tempfile::TempDir {
    let folder = changed(kind, "config.json", |keys| {
        let keys = keys.as_object_mut().unwrap();
        keys.extend(config.as_object().unwrap().clone());
    });
    let path = folder.path().join("generation_config.json");
    match generation {
        Some(generation) => fs::write(path, generation.to_string()).unwrap(),
        None => fs::remove_file(path).unwrap_or_default(),
    }
    folder
}

/// Published models have these keys besides sizes, which are those of the fixture.
#[test]
fn keys_of_published_models_are_known() {
    let labels = json!({"_num_labels": 3, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}});
    let dump = json!({
        "return_dict": true, "output_hidden_states": false, "output_attentions": false, "torchscript": false,
        "torch_dtype": "float16", "use_bfloat16": false, "tf_legacy_loss": false, "pruned_heads": {},
        "chunk_size_feed_forward": 0, "is_decoder": false, "cross_attention_hidden_size": null,
        "add_cross_attention": false, "tie_encoder_decoder": false, "finetuning_task": null, "prefix": null,
        "sep_token_id": null, "problem_type": null, "temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0,
        "repetition_penalty": 1.0, "diversity_penalty": 0.0, "num_beam_groups": 1, "do_sample": false,
        "remove_invalid_values": false, "exponential_decay_length_penalty": null, "begin_suppress_tokens": null,
        "num_return_sequences": 1, "output_scores": false, "return_dict_in_generate": false, "min_length": 0,
        "encoder_no_repeat_ngram_size": 0,
    });
    let fairseq = json!({
        "add_bias_logits": false, "add_final_layer_norm": false, "classif_dropout": 0.1, "classifier_dropout": 0.0,
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "gradient_checkpointing": false, "init_std": 0.02,
        "normalize_before": false, "normalize_embedding": true, "num_hidden_layers": 2, "output_past": true,
        "task_specific_params": {"summarization": {"min_length": 12}}, "use_cache": true, "torch_dtype": "float32",
        "transformers_version": "4.12.0.dev0", "_name_or_path": "bart-base", "early_stopping": true,
        "extra_pos_embeddings": 2, "force_bos_token_to_be_generated": false, "do_blenderbot_90_layernorm": false,
        "no_repeat_ngram_size": 3, "length_penalty": 2.0, "max_length": 142, "min_length": 56,
    });
    let marian = json!({
        "add_bias_logits": false, "add_final_layer_norm": false, "classif_dropout": 0.0, "classifier_dropout": 0.0,
        "decoder_vocab_size": 45, "normalize_before": false, "normalize_embedding": false, "num_hidden_layers": 2,
        "max_length": 512, "num_beams": 6, "share_encoder_decoder_embeddings": true, "static_position_embeddings": true,
    });
    let many = json!({
        "add_final_layer_norm": true, "normalize_before": true, "normalize_embedding": true, "output_past": true,
        "max_length": 200, "num_beams": 5, "early_stopping": true, "static_position_embeddings": false,
        "tokenizer_class": "M2M100Tokenizer",
    });
    let t5 = json!({
        "initializer_factor": 1.0, "output_past": true, "n_positions": 512, "task_specific_params": {"summarization": {}},
        "dense_act_fn": "relu", "is_gated_act": false, "classifier_dropout": 0.0, "dropout_rate": 0.1,
    });
    let gated = json!({
        "dense_act_fn": "gelu_new", "is_gated_act": true, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false,
    });
    let bert = json!({
        "gradient_checkpointing": false, "position_embedding_type": "absolute", "type_vocab_size": 2, "directionality": "bidi",
        "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128,
        "pooler_type": "first_token_transform", "initializer_range": 0.02, "classifier_dropout": null,
    });
    let distilbert = json!({
        "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": false, "tie_weights_": true,
    });
    let roberta = json!({
        "output_past": true, "position_embedding_type": "absolute", "type_vocab_size": 1, "classifier_dropout": null,
        "bos_token_id": 0, "eos_token_id": 2,
    });
    let gpt2 = json!({
        "n_ctx": 40, "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
        "summary_type": "cls_index", "summary_use_proj": true, "embd_pdrop": 0.1, "reorder_and_upcast_attn": false,
        "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
    });
    let llama = json!({
        "attention_bias": false, "mlp_bias": false, "pretraining_tp": 1, "rope_scaling": null, "is_llama_config": true,
        "rope_interleaved": false, "transformers.js_config": {"dtype": "q4"}, "dtype": "bfloat16",
    });
    for (kind, keys) in [
        ("bart", fairseq),
        ("mbart", json!({"static_position_embeddings": false, "add_final_layer_norm": true})),
        ("m2m_100", many),
        ("marian", marian),
        ("t5", t5),
        ("t5_gated", gated),
        ("bert", bert),
        ("bert_encoder", json!({})),
        ("distilbert", distilbert),
        ("roberta", roberta.clone()),
        ("xlm_roberta_encoder", roberta.clone()),
        ("camembert", roberta),
        ("mpnet", json!({"relative_attention_num_buckets": 32})),
        ("gpt2", gpt2),
        ("llama", llama),
    ] {
        let mut all = dump.clone();
        for more in [&labels, &keys] {
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        }
        let folder = with_keys(kind, all, None);
        if let Err(error) = open(folder.path()) {
            panic!("{kind}: {error}");
        }
    }
}

#[test]
fn models_saved_without_their_heads_are_read() {
    let folder = with_tensors("bart", |tensors| {
        tensors.remove("final_logits_bias");
        *tensors = std::mem::take(tensors)
            .into_iter()
            .map(|(name, tensor)| (name.trim_start_matches("model.").to_owned(), tensor))
            .collect();
    });
    let foreign = open(folder.path()).unwrap();
    let output = foreign.config.model.family.output().unwrap();
    assert!(!output.output_bias);
    foreign.write(&folder.path().join("out")).unwrap();
}

#[test]
fn the_bias_of_marian_may_be_lost() {
    let folder = with_keys("marian", json!({}), None);
    change_tensors(&folder.path().join("model.safetensors"), |tensors| {
        tensors.remove("final_logits_bias");
    });
    let notes = open(folder.path()).unwrap().notes;
    assert!(notes[0].contains("the weights have no `final_logits_bias`"));
    assert!(open(&fixture("marian")).unwrap().notes.is_empty());
}

#[test]
fn windows_may_be_longer_than_batches() {
    let folder = with_keys("llama", json!({"max_position_embeddings": 8192}), None);
    let settings = json!({"tokenizer_class": "GPT2Tokenizer"}).to_string();
    fs::write(folder.path().join("tokenizer_config.json"), settings).unwrap();
    let path = folder.path().join("tokenizer.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file["post_processor"] = Value::Null;
    fs::write(path, file.to_string()).unwrap();
    let out = folder.path().join("out");
    open(folder.path()).unwrap().write(&out).unwrap();
    let config = Pipeline::load(&out).unwrap().config().clone();
    assert_eq!(config.data.units, attentive_config::Units::Stream);
    assert!(config.model.max_len > config.train.batch_tokens);
}

#[test]
fn positions_of_m2m_100_begin_behind_the_padding() {
    let folder = changed("m2m_100", "config.json", |keys| {
        keys["pad_token_id"] = json!(3);
        let keys = keys.as_object_mut().unwrap();
        keys.remove("scale_embedding");
        keys.remove("attention_dropout");
    });
    let model = open(folder.path()).unwrap().config.model;
    assert_eq!(model.position_offset, 4);
    // This is the default of the class.
    assert!(model.scale_embeddings);
    assert_eq!(model.attention_dropout, 0.1);
}

#[test]
fn activations_and_rotary_positions_have_several_keys() {
    let folder = with_keys("t5", json!({"dense_act_fn": "silu"}), None);
    let model = open(folder.path()).unwrap().config.model;
    assert_eq!(model.activation, attentive_architecture::ActivationKind::Silu);
    let folder = with_keys("t5", json!({"is_gated_act": true}), None);
    assert!(refusal(&folder).contains("`is_gated_act` = true"));
    let parameters = json!({"rope_theta": 7000.0, "rope_type": "linear", "factor": 2.0});
    let keys = json!({"rope_theta": null, "rope_parameters": parameters});
    let folder = with_keys("llama", keys, None);
    let model = open(folder.path()).unwrap().config.model;
    assert_eq!((model.rotary_base, model.rotary_scaling.factor), (7000.0, 2.0));
}

#[test]
fn rotary_positions_that_contradict_each_other_are_refused() {
    let linear = |factor: f64| json!({"rope_type": "linear", "factor": factor});
    let with_base = |base: f64| json!({"rope_type": "linear", "factor": 2.0, "rope_theta": base});
    for keys in [
        json!({"rope_scaling": linear(2.0), "rope_parameters": linear(4.0)}),
        json!({"rope_scaling": {"rope_type": "default"}, "rope_parameters": linear(4.0)}),
        json!({"rope_theta": 7000.0, "rope_parameters": with_base(5000.0)}),
        json!({"rope_scaling": with_base(5000.0), "rope_parameters": with_base(7000.0)}),
    ] {
        let problem = refusal(&with_keys("llama", keys, None));
        assert!(problem.contains("contradict each other"), "{problem}");
    }
    // Both keys say the same.
    let keys = json!({
        "rope_theta": 7000.0, "rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": with_base(7000.0),
    });
    let model = open(with_keys("llama", keys, None).path()).unwrap().config.model;
    assert_eq!((model.rotary_base, model.rotary_scaling.factor), (7000.0, 2.0));
}

/// `transformers` 5 writes `tie_word_embeddings` = true for all; only the tensors tell whether the output is
/// the embedding.
#[test]
fn outputs_of_t5_are_scaled_and_tied_as_versions_say() {
    let tied = attentive_architecture::TieEmbeddings::All;
    let found = |kind: &str, keys: Value| {
        let folder = with_keys(kind, keys, None);
        let out = folder.path().join("out");
        let foreign = open(folder.path()).unwrap();
        let output = *foreign.config.model.family.output().unwrap();
        foreign.write(&out).unwrap();
        (output.tie_embeddings == tied, output.logit_scale)
    };
    let scale = 20f64.powf(-0.5);
    let version_5 = |scaled: bool| json!({"tie_word_embeddings": true, "scale_decoder_outputs": scaled, "transformers_version": "5.23.0"});
    assert_eq!(found("t5", json!({})), (true, scale));
    assert_eq!(found("t5", version_5(true)), (true, scale));
    assert_eq!(found("t5", version_5(false)), (true, 1.0));
    assert_eq!(found("t5_gated", json!({})), (false, 1.0));
    assert_eq!(found("t5_gated", version_5(false)), (false, 1.0));
    assert_eq!(found("t5_gated", version_5(true)), (false, scale));
    let of_mt5 = json!({"tie_word_embeddings": true, "transformers_version": "5.23.0"});
    assert_eq!(found("mt5", of_mt5), (false, 1.0));
    assert_eq!(found("t5_gated_v5", json!({})), (true, 1.0));
}

#[test]
fn decoders_may_have_other_widths() {
    let model = open(&fixture("bart_uneven")).unwrap().config.model;
    assert_eq!((model.n_heads, model.decoder_heads()), (3, 4));
    assert_eq!((model.d_ff, model.decoder_d_ff()), (33, 21));
    let model = open(&fixture("bart")).unwrap().config.model;
    let translator = model.family.translator().unwrap();
    assert_eq!((translator.n_decoder_heads, translator.d_decoder_ff), (None, None));
}

/// A model with an embedding and a tokenizer for each side, and the pieces of source and target.
fn with_two_vocabularies() -> (tempfile::TempDir, [Vec<String>; 2]) {
    let folder = changed("marian_separate", "config.json", |_| ());
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    let sides =
        [("unigram.model", "source.spm", "vocab.json"), ("bpe.model", "target.spm", "target_vocab.json")];
    let pieces = sides.map(|(model, copy, vocab)| {
        let model = fixture("../sentencepiece").join(model);
        fs::copy(&model, folder.path().join(copy)).unwrap();
        let model = SentencePiece::read(&model).unwrap();
        let pieces: Vec<String> = model.texts().skip(3).take(42).map(str::to_owned).collect();
        let special = ["</s>", "<unk>"].map(str::to_owned).into_iter();
        let tokens = special.chain(pieces.clone()).chain(["<pad>".to_owned()]);
        let ids: BTreeMap<String, TokenId> = tokens.zip(0..).collect();
        fs::write(folder.path().join(vocab), json!(ids).to_string()).unwrap();
        pieces
    });
    separate_vocabularies(&folder, true);
    (folder, pieces)
}

fn separate_vocabularies(folder: &tempfile::TempDir, separate: bool) {
    let settings = json!({"separate_vocabs": separate}).to_string();
    fs::write(folder.path().join("tokenizer_config.json"), settings).unwrap();
}

#[test]
fn both_sides_may_have_a_vocabulary() {
    let (folder, [source, target]) = with_two_vocabularies();
    assert_ne!(source, target);
    let out = folder.path().join("out");
    open(folder.path()).unwrap().write(&out).unwrap();
    let pipeline = Pipeline::load(&out).unwrap();
    let tokenizers = pipeline.tokenizers();
    for (id, (source, target)) in (2..).zip(source.iter().zip(&target)) {
        assert_eq!(tokenizers.src().token(id).as_ref(), Some(source));
        assert_eq!(tokenizers.tgt().token(id).as_ref(), Some(target));
    }
    assert_eq!(tokenizers.tgt().special(), {
        let special = tokenizers.src().special();
        attentive_text::SpecialTokens { start: special.pad, ..special }
    });
    let options = TranslateOptions::from(&pipeline.config().decode);
    pipeline.translate_lines(&["ein Hund"], &options).unwrap();

    // Without the setting, there is one vocabulary.
    separate_vocabularies(&folder, false);
    let tokenizers = open(folder.path()).unwrap().tokenizers;
    assert_eq!(tokenizers.tgt().token(2), source.first().cloned());
}

#[test]
fn vocabularies_of_other_sizes_and_tokens_are_refused() {
    let (folder, _) = with_two_vocabularies();
    let path = folder.path().join("target_vocab.json");
    let mut ids: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    (ids["<unk>"], ids["</s>"]) = (json!(0), json!(1));
    fs::write(&path, ids.to_string()).unwrap();
    assert!(refusal(&folder).contains("other ids of `</s>`"));
    let folder = with_keys("marian_separate", json!({"decoder_vocab_size": 50}), None);
    assert!(refusal(&folder).contains("`decoder_vocab_size` = 50"));
}

/// The checks of our configuration know only our keys.
#[test]
fn values_out_of_range_are_named_by_the_keys_of_the_file() {
    for (kind, file, key, value) in [
        ("bert", "config.json", "num_attention_heads", json!(5)),
        ("gpt2", "config.json", "n_head", json!(5)),
        ("marian", "config.json", "encoder_attention_heads", json!(5)),
        ("llama", "config.json", "rms_norm_eps", json!(-1.0)),
        ("marian", "generation_config.json", "num_beams", json!(0)),
    ] {
        let problem = refusal(&changed(kind, file, |keys| {
            keys[key] = value.clone();
            if key == "encoder_attention_heads" {
                keys["decoder_attention_heads"] = value;
            }
        }));
        let named = format!("{file}`: `{key}`: expected ");
        assert!(problem.contains(&named), "{kind}, {key}: {problem}");
        assert!(!problem.contains("model."), "{kind}, {key}: {problem}");
    }
}

#[test]
fn what_is_not_understood_is_named() {
    let config = "config.json";
    let cases: [(&str, &str, Value, &str); 7] = [
        ("bart", "activation_function", json!("mish"), "`activation_function` = \"mish\" is not supported"),
        ("bart", "decoder_ffn_dim", json!(34), "has shape [33, 24], expected [34, 24]"),
        ("bart", "new_key", json!(0.5), "`new_key` = 0.5 is unknown"),
        ("bart", "d_model", json!("wide"), "`d_model` = \"wide\" is not supported"),
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
        ("t5", "model_type", json!("whisper"), "`model_type` = \"whisper\" is not supported"),
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
