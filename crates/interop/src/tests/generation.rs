//! Tests of `generation_config.json`, and of the same keys in `config.json`.

use attentive_config::{Config, DecoderConfig, EarlyStopping, Translator};

use super::configs::with_keys;
use super::*;

fn decoder(config: &Config) -> &DecoderConfig {
    config.model.family.decoder().unwrap()
}

fn decode(folder: &tempfile::TempDir) -> attentive_config::DecodeConfig {
    open(folder.path()).unwrap().config.decode
}

#[test]
fn probabilities_without_barred_tokens_sum_to_1() {
    let (_folder, dir) = imported("marian");
    let LoadedWeights::Dense(weights) = checkpoint::load(&dir).unwrap().weights else {
        panic!("not quantized")
    };
    let bias = weights.iter().find(|one| one.name == "head.bias").unwrap();
    let low: Vec<usize> = (0..45).filter(|&token| bias.values[token] < -100.0).collect();
    assert_eq!(low, [44]);
    let folder = changed("marian", "generation_config.json", |keys| {
        keys["no_repeat_ngram_size"] = json!(3);
    });
    assert!(refusal(&folder).contains("`renormalize_logits` = true is not supported"));
    let of_t5 = |keys: Value| with_keys("t5", json!({}), Some(keys));
    let folder = of_t5(json!({"renormalize_logits": true, "bad_words_ids": [[0]]}));
    assert!(refusal(&folder).contains("`renormalize_logits` = true is not supported"));
    // Without barred tokens, the probabilities sum to 1 anyway.
    open(of_t5(json!({"renormalize_logits": true})).path()).unwrap();
}

#[test]
fn lengths_count_the_start_token() {
    let with = |keys: Value| decode(&with_keys("marian", json!({}), Some(keys)));
    let found = with(json!({"eos_token_id": 0, "max_length": 40, "min_length": 7}));
    assert_eq!((found.max_new_factor, found.max_new_extra, found.min_length), (0.0, 39, 6));
    let found = with(json!({"eos_token_id": 0, "max_length": 40, "max_new_tokens": 12, "min_new_tokens": 3}));
    assert_eq!((found.max_new_extra, found.min_length), (12, 3));
    assert_eq!(with(json!({"eos_token_id": 0})).max_new_factor, 1.5);
    // The defaults of `transformers`.
    let unset = with(json!({"eos_token_id": 0, "max_length": 20}));
    assert_eq!((unset.max_new_factor, unset.max_new_extra), (1.5, 10));
}

#[test]
fn the_search_is_that_of_one_file() {
    let config = json!({"num_beams": 7, "no_repeat_ngram_size": 2});
    let of = |generation: Option<Value>| with_keys("marian", config.clone(), generation);
    let alone = decode(&of(None));
    assert_eq!((alone.beam_width, alone.no_repeat_ngram), (7, 2));
    let other = decode(&of(Some(json!({"eos_token_id": 0, "num_beams": 3}))));
    assert_eq!((other.beam_width, other.no_repeat_ngram), (3, 0));
    // If a file was made from a `config.json` with generation settings, those of `config.json` are used.
    let file = json!({
        "_from_model_config": true, "eos_token_id": 0, "num_beams": 3, "renormalize_logits": true, "bad_words_ids": [[44]],
    });
    let copied = open(of(Some(file.clone())).path()).unwrap().config;
    assert_eq!((copied.decode.beam_width, copied.decode.no_repeat_ngram), (7, 2));
    assert_eq!(decoder(&copied).suppress_tokens, Some(Vec::new()));
    let usual = json!({"num_beams": 1, "max_length": 20, "length_penalty": 1, "forced_eos_token_id": 0});
    let config = open(with_keys("marian", usual, Some(file)).path()).unwrap().config;
    assert_eq!((config.decode.beam_width, config.decode.max_new_factor), (3, 1.5));
    assert_eq!(decoder(&config).suppress_tokens, Some(vec!["<pad>".to_owned()]));
}

#[test]
fn classes_have_tokens_of_their_own() {
    let folder = |kind: &str, key: &str, value: Option<Value>| {
        let folder = changed(kind, "config.json", |keys| {
            let keys = keys.as_object_mut().unwrap();
            keys.remove(key);
            keys.extend(value.map(|value| (key.to_owned(), value)));
        });
        fs::remove_file(folder.path().join("generation_config.json")).unwrap();
        folder
    };
    let model = |kind: &str, key: &str, value| {
        let folder = folder(kind, key, value);
        let family = open(folder.path()).unwrap().config.model.family;
        family.translator().unwrap().clone()
    };
    let start_token = |model: Translator| model.decoder.decoder_start_token;
    let last = "forced_eos_token_id";
    assert_eq!(model("marian", last, None).forced_eos_token.as_deref(), Some("</s>"));
    assert_eq!(model("marian", last, Some(Value::Null)).forced_eos_token, None);
    let start = "decoder_start_token_id";
    assert_eq!(start_token(model("bart", start, None)).as_deref(), Some("</s>"));
    // Without a start token of its own, the decoder starts with `<s>`.
    assert_eq!(start_token(model("mbart", start, None)).as_deref(), Some("<s>"));
    let forces = |kind: &str| {
        let keys = json!({"force_bos_token_to_be_generated": true, "forced_bos_token_id": null});
        let folder = with_keys(kind, keys, None);
        let family = open(folder.path()).unwrap().config.model.family;
        family.translator().unwrap().forced_bos_token.clone()
    };
    assert_eq!(forces("bart").as_deref(), Some("<s>"));
    assert_eq!(forces("mbart"), None);
}

#[test]
fn what_differs_in_the_search_is_told() {
    let notes = |kind: &str, generation: Value| {
        let folder = changed(kind, "generation_config.json", |keys| {
            let keys = keys.as_object_mut().unwrap();
            keys.extend(generation.as_object().unwrap().clone());
        });
        open(folder.path()).unwrap().notes.join(" ")
    };
    assert_eq!(notes("bart", json!({"early_stopping": true})), "");
    let folder = changed("llama", "config.json", |_| ());
    let settings = json!({"clean_up_tokenization_spaces": true}).to_string();
    fs::write(folder.path().join("tokenizer_config.json"), settings).unwrap();
    let told = open(folder.path()).unwrap().notes.join(" ");
    assert!(told.contains("`clean_up_tokenization_spaces`"), "{told}");
    assert!(notes("gpt2", json!({"max_length": 50})).contains("`max_length`"));
    assert!(notes("gpt2", json!({"num_beams": 4})).contains("`num_beams`"));
    assert!(notes("gpt2", json!({"no_repeat_ngram_size": 3})).contains("`no_repeat_ngram_size`"));
}

#[test]
fn files_of_published_models_are_known() {
    let common = |more: Value| {
        let mut keys = json!({"_from_model_config": true, "transformers_version": "4.31.0.dev0"});
        let more = more.as_object().unwrap().clone();
        keys.as_object_mut().unwrap().extend(more);
        keys
    };
    for (kind, keys, notes) in [
        // facebook/bart-large-cnn
        (
            "bart",
            json!({
                "bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": true, "eos_token_id": 2,
                "forced_bos_token_id": 0, "forced_eos_token_id": 2, "length_penalty": 2.0, "max_length": 142,
                "min_length": 56, "no_repeat_ngram_size": 3, "num_beams": 4, "pad_token_id": 1,
            }),
            0,
        ),
        // facebook/mbart-large-50-many-to-many-mmt, facebook/m2m100_418M, facebook/nllb-200-distilled-600M
        (
            "m2m_100",
            json!({
                "bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": true, "eos_token_id": 2,
                "max_length": 200, "num_beams": 5, "pad_token_id": 1,
            }),
            0,
        ),
        // t5-small
        ("t5", json!({"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}), 0),
        // Helsinki-NLP/opus-mt-en-de
        (
            "marian",
            json!({
                "bad_words_ids": [[44]], "bos_token_id": 0, "decoder_start_token_id": 44, "eos_token_id": 0,
                "forced_eos_token_id": 0, "max_length": 512, "num_beams": 6, "pad_token_id": 44, "renormalize_logits": true,
            }),
            0,
        ),
        // gpt2
        ("gpt2", json!({"bos_token_id": 0, "eos_token_id": 0}), 0),
        // meta-llama/Llama-3.2-1B
        (
            "llama3",
            json!({
                "bos_token_id": 1, "do_sample": true, "eos_token_id": [2, 3], "temperature": 0.6, "top_p": 0.9,
            }),
            0,
        ),
        // TinyLlama
        ("llama", json!({"bos_token_id": 1, "eos_token_id": 2, "max_length": 2048, "pad_token_id": 0}), 1),
    ] {
        let folder = with_keys(kind, json!({}), Some(common(keys)));
        match open(folder.path()) {
            Ok(foreign) => assert_eq!(foreign.notes.len(), notes, "{kind}: {:?}", foreign.notes),
            Err(error) => panic!("{kind}: {error}"),
        }
    }
}

#[test]
fn the_end_of_a_beam_search_is_that_of_the_owner() {
    let stopping = |value: Value| {
        let folder = changed("bart", "generation_config.json", |keys| keys["early_stopping"] = value);
        open(folder.path()).map(|foreign| foreign.config.decode.early_stopping)
    };
    assert_eq!(stopping(json!(true)).unwrap(), EarlyStopping::Always);
    assert_eq!(stopping(json!(false)).unwrap(), EarlyStopping::Heuristic);
    assert_eq!(stopping(json!(null)).unwrap(), EarlyStopping::Heuristic);
    assert_eq!(stopping(json!("never")).unwrap(), EarlyStopping::Never);
    assert!(stopping(json!("soon")).is_err());
}

#[test]
fn the_end_of_a_text_is_never_barred_by_bad_words() {
    let folder = changed("marian", "generation_config.json", |keys| {
        keys["bad_words_ids"] = json!([[44], [0]]);
    });
    let config = open(folder.path()).unwrap().config;
    assert_eq!(decoder(&config).suppress_tokens, Some(vec!["<pad>".to_owned()]));
}

#[test]
fn encoders_generate_nothing() {
    let leftover =
        json!({"bos_token_id": 0, "eos_token_id": 2, "is_encoder_decoder": false, "pad_token_id": 0});
    let folder = with_keys("bert", leftover, None);
    let special = open(folder.path()).unwrap().config.tokenizer.special;
    assert_eq!((special.bos.as_str(), special.eos.as_str()), ("[CLS]", "[SEP]"));
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
    assert_eq!((decode.beam_width, decode.length_penalty), (4, 0.8));
    assert_eq!((decode.no_repeat_ngram, decode.max_new_extra), (3, 39));
    let translator = config.model.family.translator().unwrap();
    let decoder = decoder(&config);
    assert_eq!(decoder.decoder_start_token.as_deref(), Some("<pad>"));
    assert_eq!(translator.forced_eos_token.as_deref(), Some("</s>"));
    assert_eq!(decoder.suppress_tokens.as_deref(), Some(&["<pad>".to_owned()][..]));
}
