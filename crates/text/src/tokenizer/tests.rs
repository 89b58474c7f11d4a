use attentive_config::{TokenizerConfig, TokenizerKind};

use super::*;
use crate::{Masks, learn};

const TEXT: &str = "ein Mann fährt auf einem Fahrrad. ein Kind fährt auf einem Rad, oder (im Rad).";
const GAP: TokenId = 4;

fn tokenizer(kind: TokenizerKind) -> Tokenizer {
    let config = TokenizerConfig { kind, vocab_size: 60, min_frequency: 1, ..TokenizerConfig::default() };
    let tokenizers = learn(&config, Masks::With, &[], &[TEXT]).expect("text");
    tokenizers.tgt().clone()
}

/// The tokens of a text with masks, `_` for each mask.
fn tokens(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let ids = tokenizer.encode_masked(text, GAP).expect("text");
    let name = |&id: &TokenId| match id {
        GAP => "_".into(),
        _ => tokenizer.token(id).expect("known"),
    };
    ids.iter().map(name).collect()
}

#[test]
fn text_around_a_mask_is_split_as_around_a_word() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let tokenizer = tokenizer(kind);
        let whole = |text: &str| -> Vec<String> {
            let ids = tokenizer.encode(text).expect("text");
            ids.iter().map(|&id| tokenizer.token(id).expect("known")).collect()
        };
        let full_stop = tokens(&tokenizer, "auf einem <mask>.");
        assert_eq!(full_stop, [whole("auf einem"), vec!["_".into(), ".".into()]].concat());
        assert_eq!(
            tokens(&tokenizer, "  <mask> fährt <mask> <mask>rad"),
            [
                vec!["_".into()],
                whole("fährt"),
                vec!["_".into(), "_".into()],
                // Continues a word, so there is no word mark.
                tokens(&tokenizer, "<mask>rad")[1..].to_vec(),
            ]
            .concat()
        );
        let inside = tokens(&tokenizer, "<mask>rad").concat();
        assert_eq!(inside, "_rad");
        assert_eq!(tokens(&tokenizer, "<mask> \t"), ["_"]);
        for text in [TEXT, "", " ", "▁ein", "ein <s> Mann"] {
            assert_eq!(tokens(&tokenizer, text), whole(text), "{text}");
        }
    }
}

#[test]
fn spaces_are_tokens_in_character_vocabularies() {
    let tokenizer = tokenizer(TokenizerKind::Char);
    assert_eq!(tokens(&tokenizer, "in<mask> <mask>R"), ["i", "n", "_", " ", "_", "R"]);
    let tokenizer = self::tokenizer(TokenizerKind::Word);
    assert_eq!(tokens(&tokenizer, "ein <mask> fährt"), ["ein", "_", "fährt"]);
}

#[test]
fn continued_text_has_the_tokens_of_the_whole() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word] {
        let tokenizer = tokenizer(kind);
        let pieces = tokenizer.encode_continued(&format!("{WORD_MARK}{TEXT}"));
        if tokenizer.marks_words() {
            assert_eq!(pieces.expect("text"), tokenizer.encode(TEXT).expect("text"));
        } else {
            let words = TEXT.split_whitespace().count();
            assert_eq!(pieces.expect("text").len(), words);
        }
    }
}

#[test]
fn pieces_show_how_they_join_the_previous_text() {
    let piece = |kind, token: &str| {
        let tokenizer = tokenizer(kind);
        let id = tokenizer.inner.id(token).expect("known");
        tokenizer.piece(id)
    };
    let expect = |text: &str, joint| (text.to_owned(), joint);
    assert_eq!(piece(TokenizerKind::Bpe, "▁ein"), expect("ein", Joint::Blank));
    assert_eq!(piece(TokenizerKind::Bpe, "."), expect(".", Joint::None));
    assert_eq!(piece(TokenizerKind::Word, "Mann"), expect("Mann", Joint::Blank));
    assert_eq!(piece(TokenizerKind::Char, "M"), expect("M", Joint::Plain));
}

#[test]
fn special_tokens_of_the_file_are_not_decoded() {
    let json = tokenizer(TokenizerKind::Word).to_json().to_vec();
    let mut document: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let added = document["added_tokens"].as_array_mut().expect("tokens");
    let n = tokenizer(TokenizerKind::Word).vocab_size() as TokenId;
    for (id, token, special) in [(n, "<tag>", true), (n + 1, "<plain>", false)] {
        let mut entry = added[0].clone();
        entry["id"] = id.into();
        entry["content"] = token.into();
        entry["special"] = special.into();
        added.push(entry);
    }
    let mut tokenizer =
        Tokenizer::from_json(document.to_string().into(), &attentive_config::SpecialNames::default())
            .expect("a tokenizer");
    let mann = tokenizer.id("Mann").expect("known");
    let ids = [n, mann, n + 1];
    assert_eq!(tokenizer.decode(&ids).unwrap(), "Mann <plain>");
    tokenizer.start_with(n + 1);
    assert_eq!(tokenizer.decode(&ids).unwrap(), "Mann");
    // A word remains a word.
    tokenizer.start_with(mann);
    assert_eq!(tokenizer.decode(&ids).unwrap(), "Mann <plain>");
}

#[test]
fn each_word_has_one_id() {
    let tokenizer = tokenizer(TokenizerKind::Word);
    let ids = tokenizer.encode_words(" ein\u{a0}Mann <s> \u{b4}x ").expect("text");
    assert_eq!(ids.len(), 4);
    assert_eq!(ids[2..], [tokenizer.special.unk; 2]);
    assert!(tokenizer.encode_words(" \t").expect("text").is_empty());
}

/// Regression test: a line break within a string of the decoder once caused a panic.
#[test]
fn a_damaged_decoder_is_refused() {
    let json = String::from_utf8(tokenizer(TokenizerKind::Bpe).to_json().to_vec()).expect("JSON");
    let (model, decoder) = json.split_once("\"decoder\"").expect("a decoder");
    let damaged = format!("{model}\"decoder\"{}", decoder.replacen("Meta", "Me\nta", 1));
    let problem = Tokenizer::from_json(damaged.into_bytes(), &attentive_config::SpecialNames::default())
        .expect_err("damaged");
    assert!(problem.contains("control character"), "{problem}");
}

/// Regression test: a normalizer that is no object, and a number of the decoder that no `f64` holds, once
/// caused a panic.
#[test]
fn every_section_may_be_anything() {
    let whole = tokenizer(TokenizerKind::Bpe).to_json().to_vec();
    let whole: serde_json::Value = serde_json::from_slice(&whole).expect("JSON");
    let sections = whole.as_object().expect("an object").keys();
    for section in sections.map(String::as_str).chain(["unknown"]) {
        for value in ["1e999", "-1", "[]", "{\"type\":1e999}", "{\"type\":\"BPE\"}", "\"\\ud800\""] {
            let mut document = whole.clone();
            document[section] = "HERE".into();
            let text = document.to_string().replacen("\"HERE\"", value, 1);
            let read = Tokenizer::from_json(text.into_bytes(), &SpecialNames::default());
            let is_ignored = ["unknown", "truncation", "padding"].contains(&section);
            let is_none = section == "added_tokens" && value == "[]";
            if !is_ignored && !is_none {
                read.expect_err(&format!("{section}: {value}"));
            }
        }
    }
}

#[test]
fn duplicate_ids_are_refused_with_both_tokens() {
    let json = |kind| String::from_utf8(tokenizer(kind).to_json().to_vec()).expect("JSON");
    for kind in [TokenizerKind::Word, TokenizerKind::Bpe, TokenizerKind::Char] {
        let mut document: serde_json::Value = serde_json::from_str(&json(kind)).expect("JSON");
        let vocab = document["model"]["vocab"].as_object_mut().expect("an object");
        let (one, other) = {
            let mut learned = vocab.iter().filter(|(_, id)| id.as_u64() > Some(4));
            let name = |entry: Option<(&String, _)>| entry.expect("a token").0.clone();
            let one = name(learned.next());
            (one, name(learned.next()))
        };
        vocab[&other] = vocab[&one].clone();
        let problem =
            Tokenizer::from_json(document.to_string().into(), &attentive_config::SpecialNames::default())
                .expect_err("one id");
        assert!(problem.contains("have the same id"), "{kind:?}: {problem}");
        for token in [one, other] {
            assert!(problem.contains(&format!("`{token}`")), "{kind:?}: {problem}");
        }
    }
}

#[test]
fn continuations_are_tokens_within_words() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char] {
        let tokenizer = tokenizer(kind);
        let continuations = tokenizer.continuations();
        for id in tokenizer.encode(TEXT).expect("text") {
            let (piece, joint) = tokenizer.piece(id);
            let within = joint != Joint::Blank && piece.starts_with(char::is_alphabetic);
            assert_eq!(continuations.contains(&id), within, "{kind:?}: {piece}");
        }
        assert!(!continuations.contains(&tokenizer.special().eos));
    }
}
