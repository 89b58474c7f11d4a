//! Tests of settings, languages and tokens that a tokenizer has, or must not have.

use super::*;

#[test]
fn of_equal_lines_the_last_counts() {
    let folder = folder("bert");
    let path = folder.path().join("vocab.txt");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let n = lines.len();
    let last = lines[n - 1];
    let mut lines: Vec<&str> = lines[..n - 1].to_vec();
    lines.splice(n - 3..n - 2, [last]);
    lines.push(last);
    fs::write(&path, lines.join("\n")).unwrap();
    let tokenizers = opened(folder.path(), &Languages::default()).unwrap().tokenizers;
    let tokenizer = tokenizers.src();
    assert_eq!(tokenizer.id(last), Some(n as TokenId - 1));
    assert_eq!(tokenizer.token(n as TokenId - 3), Some(format!("<unused-{}>", n - 3)));
}

#[test]
fn a_file_is_an_object() {
    let folder = folder("gpt2");
    for text in ["\"text\"", "3", "[]", "null"] {
        fs::write(folder.path().join("tokenizer.json"), text).unwrap();
        let problem = opened(folder.path(), &Languages::default()).unwrap_err();
        assert!(problem.to_string().contains("damaged"), "{text}: {problem}");
    }
}

#[test]
fn the_owner_names_special_tokens() {
    let folder = folder("bert");
    let map = folder.path().join("special_tokens_map.json");
    let text = fs::read_to_string(&map).unwrap();
    fs::write(&map, text.replace("[MASK]", "[unused0]")).unwrap();
    let config = opened(folder.path(), &Languages::default()).unwrap().config;
    assert_eq!(config.special.mask, "[unused0]");
    fs::write(&map, text.replace("[MASK]", "[GAP]")).unwrap();
    let problem = opened(folder.path(), &Languages::default()).unwrap_err();
    assert!(problem.to_string().contains("there is no token `[GAP]`"), "{problem}");
    fs::write(&map, "[]").unwrap();
    assert!(opened(folder.path(), &Languages::default()).is_err());
}

#[test]
fn other_settings_are_refused() {
    let folder = folder("bert");
    for (setting, expected) in [
        (r#"{"do_basic_tokenize": false}"#, "`do_basic_tokenize` = false is not supported"),
        (r#"{"do_lower_case": "no"}"#, "`do_lower_case` = \"no\" is not supported"),
        (r#"{"tokenizer_class": "BertJapaneseTokenizer"}"#, "`BertJapaneseTokenizer` is not supported"),
    ] {
        fs::write(folder.path().join("tokenizer_config.json"), setting).unwrap();
        let problem = opened(folder.path(), &Languages::default()).unwrap_err();
        assert!(problem.to_string().contains(expected), "{problem}");
    }
}

#[test]
fn languages_must_be_chosen_and_known() {
    for name in ["mbart50", "nllb", "m2m_100", "mbart"] {
        let folder = folder(name);
        let problem = opened(folder.path(), &Languages::default()).unwrap_err();
        assert!(problem.to_string().contains("source language"), "{problem}");
        assert!(problem.hint().unwrap().contains(" more"), "{name}");
        let source = Languages {
            source: Some(match name {
                "nllb" => "eng_Latn".into(),
                "m2m_100" => "__en__".into(),
                _ => "en_XX".to_owned(),
            }),
            target: None,
        };
        let problem = opened(folder.path(), &source).unwrap_err();
        assert!(problem.to_string().contains("target language"), "{problem}");
        let problem = opened(folder.path(), &languages("tlh", "en_XX")).unwrap_err();
        assert!(problem.to_string().contains("no language `tlh`"), "{problem}");
    }
}

#[test]
fn languages_change_in_their_places() {
    let cases = [
        ("mbart50", "fr_XX", "de_DE"),
        ("mbart", "fr_XX", "de_DE"),
        ("nllb_legacy", "fra_Latn", "deu_Latn"),
        ("m2m_100", "fr", "de"),
    ];
    let chosen = fixture().models;
    for (name, source, target) in cases {
        let [before, after] = chosen[name].languages.clone().unwrap();
        let folder = folder(name);
        let fresh = opened(folder.path(), &languages(source, target)).unwrap();
        let fresh = fresh.model;
        let Opened { tokenizers, mut model, .. } =
            opened(folder.path(), &languages(&before, &after)).unwrap();
        assert_ne!(model, fresh, "{name}");
        languages(source, target).apply(&tokenizers, &mut model.family).unwrap();
        assert_eq!(model, fresh, "{name}");
    }
}

#[test]
fn tables_are_not_filled_without_bounds() {
    let folder = folder("gpt2");
    let path = folder.path().join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    let huge = text.replace("\"vocab_size\": ", "\"vocab_size\": 9999999");
    fs::write(&path, huge).unwrap();
    let problem = opened(folder.path(), &Languages::default()).unwrap_err();
    assert!(problem.to_string().contains("but the model has 9999999"), "{problem}");
}

#[test]
fn pieces_of_words_are_joined() {
    let folder = folder("bert");
    let opened = opened(folder.path(), &Languages::default()).unwrap();
    let tokenizer = opened.tokenizers.tgt();
    let piece = |token: &str| tokenizer.piece(tokenizer.id(token).unwrap());
    assert_eq!(piece("##a"), ("a".to_owned(), Joint::None));
    assert_eq!(piece("a"), ("a".to_owned(), Joint::Blank));
}

#[test]
fn a_text_may_end_in_several_ways() {
    let change = |kind: &str, ends: &str| {
        let folder = folder(kind);
        let path = folder.path().join("config.json");
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("\"eos_token_id\": ", &format!("\"eos_token_id\": {ends}, \"_\": "));
        fs::write(&path, text).unwrap();
        folder
    };
    let folder = change("gpt2", "[7, 419]");
    let Opened { tokenizers, model, config, .. } = opened(folder.path(), &Languages::default()).unwrap();
    assert_eq!(tokenizers.ends(&model).unwrap(), [7, 419]);
    assert_eq!(tokenizers.tgt().token(7), Some(config.special.eos));
    // The token that the tokenizer puts at the end matters more than the order.
    let folder = change("t5", "[9, 2]");
    let problem = opened(folder.path(), &Languages::default()).unwrap_err();
    let problem = problem.to_string();
    assert!(problem.contains("as a second end of translations"), "{problem}");
}

/// Replaces `from` in the file `name` of `folder`.
fn replace(folder: &tempfile::TempDir, name: &str, from: &str, to: &str) {
    let path = folder.path().join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn refusal(folder: &tempfile::TempDir) -> String {
    let problem = opened(folder.path(), &Languages::default()).unwrap_err();
    problem.to_string()
}

#[test]
fn surrounding_tokens_that_cannot_be_kept_are_refused() {
    let ending = folder("llama_bare");
    replace(&ending, "tokenizer_config.json", "\"add_bos_token\": false", "\"add_eos_token\": true");
    let problem = refusal(&ending);
    assert!(problem.contains("it puts `</s>` at the end of a text, which is to be continued"), "{problem}");
    let endless = folder("bert_settings");
    let file = endless.path().join("tokenizer.json");
    let mut stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    stored["post_processor"] = Value::Null;
    fs::write(file, stored.to_string()).unwrap();
    replace(&endless, "config.json", "\"model_type\"", "\"eos_token_id\": 4, \"model_type\"");
    let problem = refusal(&endless);
    assert!(problem.contains("it puts no token at the end of a text"), "{problem}");
}

#[test]
fn settings_that_need_another_conversion_are_refused() {
    let folder = folder("llama_bare");
    replace(&folder, "tokenizer_config.json", "add_bos_token", "add_prefix_space");
    let problem = refusal(&folder);
    assert!(problem.contains("`add_prefix_space` = false is not supported"), "{problem}");
    let settings = "{\"tokenizer_class\": \"GemmaTokenizer\"}";
    fs::write(folder.path().join("tokenizer_config.json"), settings).unwrap();
    let problem = refusal(&folder);
    assert!(problem.contains("`GemmaTokenizer`"), "{problem}");
}

#[test]
fn declared_tokens_must_fit() {
    let folder = folder("bert_added");
    replace(&folder, "added_tokens.json", "\"walks\": ", "\"walks\": 9");
    let problem = refusal(&folder);
    assert!(problem.contains("cannot be token"), "{problem}");
    fs::write(folder.path().join("added_tokens.json"), "{\"walks\": -1}").unwrap();
    assert!(refusal(&folder).contains("`walks` has no valid id"));
}

#[test]
fn lists_of_languages_are_chosen_by_name() {
    let folder = folder("m2m_100");
    let set = |name: &str| {
        let text = format!("{{\"tokenizer_class\": \"M2M100Tokenizer\", \"language_codes\": \"{name}\"}}");
        fs::write(folder.path().join("tokenizer_config.json"), text).unwrap();
        opened(folder.path(), &languages("de", "is"))
    };
    let ids = |tokenizers: &Tokenizers| ["__en__", "__is__"].map(|token| tokenizers.src().id(token));
    let all = ids(&set("m2m100").unwrap().tokenizers);
    let few = ids(&set("wmt21").unwrap().tokenizers);
    let first = all[0].unwrap() - 18; // `__af__`
    assert_eq!(few, [first, first + 2].map(Some));
    let problem = set("other").unwrap_err().to_string();
    assert!(problem.contains("`language_codes` = \"other\""), "{problem}");
}

#[test]
fn both_sides_of_marian_mt_are_those_of_transformers() {
    let expected = &fixture().models["marian"];
    let folder = folder("marian");
    let opened = opened(folder.path(), &Languages::default()).unwrap();
    assert_eq!((expected.chosen.len(), expected.targets.len()), (60, 300));
    for (text, ids) in &expected.chosen {
        assert_eq!(opened.framed(text), *ids, "{text:?}");
    }
    let target = opened.tokenizers.tgt();
    for (text, ids, spelled) in &expected.targets {
        let (_, inner) = ids.split_last().unwrap();
        assert_eq!(target.encode(text).unwrap(), inner, "{text:?}");
        assert_eq!(target.decode(ids).unwrap().trim(), spelled, "{text:?}");
    }
}

#[test]
fn special_tokens_beyond_the_vocabulary_are_left_out() {
    let folder = folder("bart");
    let path = folder.path().join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let vocab = config["vocab_size"].as_u64().unwrap();
    let mut with = |vocab: u64| {
        config["vocab_size"] = vocab.into();
        fs::write(&path, config.to_string()).unwrap();
        opened(folder.path(), &Languages::default())
    };
    let all = with(vocab).unwrap();
    assert_eq!(all.tokenizers.src().special().mask, Some(vocab as TokenId - 1));
    let fewer = with(vocab - 1).unwrap();
    assert_eq!(fewer.tokenizers.src().special().mask, None);
    assert_eq!(fewer.tokenizers.src().vocab_size(), vocab as usize - 1);
    assert_eq!(fewer.framed("a <mask>"), all.framed("a <mask>"));
    // A word of the text is beyond the vocabulary.
    assert!(with(vocab - 6).is_err());
}
