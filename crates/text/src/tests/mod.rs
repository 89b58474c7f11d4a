mod learning;
mod symbols;

use std::fs;

use attentive_base::error::Error;
use attentive_config::{Normalization, TokenizerConfig, TokenizerKind, Vocabulary};
use tempfile::tempdir;

use super::*;

const KINDS: [TokenizerKind; 4] =
    [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char];

const SRC: &str = "\
    the cat sees the dog\n\
    the dog sees a cat and a bird\n\
    a small bird sings < in the garden > of the house / and the dogs sing\n\
    singing birds and sleeping cats are in the small gardens of small houses\n";
const TGT: &str = "\
    die Katze sieht den Hund\n\
    der Hund sieht eine Katze und einen Vogel\n\
    ein kleiner Vogel singt im Garten des Hauses und die Hunde singen\n\
    singende Vögel und schlafende Katzen sind in den kleinen Gärten kleiner Häuser\n";

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn config(kind: TokenizerKind) -> TokenizerConfig {
    TokenizerConfig { kind, vocab_size: 90, min_frequency: 1, ..TokenizerConfig::default() }
}

fn learned(config: &TokenizerConfig) -> Tokenizers {
    learn(config, Masks::Without, &lines(SRC), &lines(TGT)).unwrap()
}

fn tokens(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let ids = tokenizer.encode(text).unwrap();
    ids.iter().map(|&id| tokenizer.token(id).unwrap()).collect()
}

#[test]
fn known_text_round_trips() {
    for kind in KINDS {
        let tokenizers = learned(&config(kind));
        for text in lines(SRC).iter().chain(&lines(TGT)) {
            let ids = tokenizers.tgt().encode(text).unwrap();
            assert_eq!(tokenizers.tgt().decode(&ids).unwrap(), *text, "{kind:?}");
            assert!(ids.iter().all(|&id| id >= 4 && (id as usize) < tokenizers.tgt().vocab_size()));
        }
    }
}

#[test]
fn special_tokens_in_text_are_ordinary_text() {
    for kind in KINDS {
        let (mut src, mut tgt) = (lines(SRC), lines(TGT));
        for side in [&mut src, &mut tgt] {
            side.extend(vec!["a </s> b <s> x</s> <pad><unk> </s></s> <s".to_owned(); 50]);
        }
        let tokenizers = learn(&config(kind), Masks::Without, &src, &tgt).unwrap();
        let tokenizer = tokenizers.src();
        for text in ["a </s> b", "</s>", "<s><pad>x</s>", "</s></s><unk>", "＜/s＞", "<</s>>", "<s"] {
            let ids = tokenizer.encode(text).unwrap();
            assert!(ids.iter().all(|id| ![0, 2, 3].contains(id)), "{kind:?} encodes `{text}` as {ids:?}");
        }
        if kind != TokenizerKind::Word {
            let text = "a </s> b <unk>";
            assert_eq!(tokenizer.decode(&tokenizer.encode(text).unwrap()).unwrap(), text, "{kind:?}");
        }
    }
}

#[test]
fn any_text_can_be_encoded() {
    let long = "the cat ".repeat(40_000) + &"x".repeat(300_000);
    for kind in KINDS {
        let tokenizers = learned(&config(kind));
        for text in
            ["", " ", "\0", "a\0b", "\u{1}\u{7f}\u{85}", "\r\n\t", "漢字 🦀", "▁", "\u{200d}", long.as_str()]
        {
            tokenizers.src().encode(text).unwrap();
        }
        assert!(tokenizers.src().encode("").unwrap().is_empty());
    }
    let bpe = learned(&config(TokenizerKind::Bpe));
    assert_eq!(tokens(bpe.src(), "漢字"), ["▁", "<unk>"]);
    let char = learned(&config(TokenizerKind::Char));
    assert_eq!(tokens(char.src(), "a 漢字"), ["a", " ", "<unk>", "<unk>"]);
}

#[test]
fn each_token_comes_from_its_part_of_the_text() {
    let text = "die  Vögel singen";
    for kind in KINDS {
        let tokenizers = learned(&config(kind));
        let (tokenizer, offsets) = (tokenizers.tgt(), tokenizers.tgt().offsets(text).unwrap());
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(offsets.len(), ids.len());
        for (id, range) in ids.into_iter().zip(offsets) {
            let part = text[range].trim();
            let spelled = tokenizer.decode(&[id]).unwrap();
            assert!(part == spelled.trim() || id == tokenizer.special().unk, "{kind:?}: {part} {spelled}");
        }
    }
}

#[test]
fn decoding_drops_special_and_unknown_ids() {
    for kind in KINDS {
        let tokenizer = learned(&config(kind)).src().clone();
        let mut ids = vec![2];
        ids.extend(tokenizer.encode("the cat").unwrap());
        ids.extend([3, 0, 1, 1_000_000]);
        assert_eq!(tokenizer.decode(&ids).unwrap(), "the cat", "{kind:?}");
    }
}

#[test]
fn text_is_normalized() {
    let base = TokenizerConfig { vocab_size: 200, ..config(TokenizerKind::Char) };
    let round = |config: &TokenizerConfig, text: &str| {
        let src = lines("ﬁne Cafe\u{301} fine Café É e\u{301}");
        let tokenizers = learn(config, Masks::Without, &src, &src).unwrap();
        tokenizers.src().decode(&tokenizers.src().encode(text).unwrap()).unwrap()
    };
    let text = "ﬁne Cafe\u{301}";
    for (normalization, expected) in
        [(Normalization::None, text), (Normalization::Nfc, "ﬁne Café"), (Normalization::Nfkc, "fine Café")]
    {
        for kind in [TokenizerKind::Char, TokenizerKind::Bpe, TokenizerKind::Word] {
            let config = TokenizerConfig { normalization, kind, ..base.clone() };
            assert_eq!(round(&config, text), expected);
        }
    }
    let lowercase = TokenizerConfig { lowercase: true, ..base.clone() };
    assert_eq!(round(&lowercase, "Fine CAFÉ"), "fine café");
    let bpe = TokenizerConfig { kind: TokenizerKind::Bpe, ..base.clone() };
    assert_eq!(round(&bpe, "  fine\t \u{a0}Café\n"), "fine Café");
    assert_eq!(round(&base, " fine  Café"), " fine  Café");
}

#[test]
fn damaged_files_are_refused() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tokenizer.json");
    let refused = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let error = Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
        assert!(matches!(&error, Error::Model { path: at, .. } if *at == path), "{error}");
        assert!(error.hint().is_some());
        error.to_string()
    };
    for kind in KINDS {
        let json = String::from_utf8(learned(&config(kind)).src().to_json().to_vec()).unwrap();
        for cut in [0, 1, json.len() / 3, json.len() / 2, json.len() - 3] {
            refused(&json.as_bytes()[..cut]);
        }
        let message = refused(json.replace("</s>", "</t>").as_bytes());
        assert!(message.contains("`</s>` is missing"), "{message}");
    }
    refused(b"\xff\xfe\0");
    refused(b"{}");
    refused(b"[1, 2]");
    let word = String::from_utf8(learned(&config(TokenizerKind::Word)).src().to_json().to_vec()).unwrap();
    let message = refused(word.replace("\"the\": 4", "\"the\": 4000").as_bytes());
    assert!(message.contains("has id 4000"), "{message}");
}

#[test]
fn missing_files_are_named() {
    let dir = tempdir().unwrap();
    let error = Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
    assert!(matches!(error, Error::Model { .. }), "{error}");
    let src = learned(&config(TokenizerKind::Bpe)).src().to_json().to_vec();
    fs::write(dir.path().join("tokenizer.src.json"), src).unwrap();
    let error = Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
    assert!(error.to_string().contains("tokenizer.tgt.json"), "{error}");
    fs::create_dir(dir.path().join("tokenizer.json")).unwrap();
    let error = Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

/// Characters that mean nothing change no token, and those that shape letters or emoji do.
#[test]
fn ignorable_characters_change_no_token() {
    for kind in KINDS {
        let tokenizers = learned(&config(kind));
        let tokenizer = tokenizers.src();
        let expected = tokenizer.encode("the dog sees").unwrap();
        for c in [
            '\u{200b}', '\u{200e}', '\u{2060}', '\u{ad}', '\u{202a}', '\u{180e}', '\u{34f}', '\u{3164}',
            '\u{feff}', '\u{200d}', '\u{fe0f}',
        ] {
            let text = format!("{c}th{c}e {c}do{c}g{c} sees{c}");
            assert_eq!(tokenizer.encode(&text).unwrap(), expected, "{kind:?} {c:?}");
            assert!(tokenizer.encode(&c.to_string()).unwrap().is_empty(), "{kind:?} {c:?}");
        }
        let none = TokenizerConfig { normalization: Normalization::None, ..config(kind) };
        let unchanged = learned(&none);
        assert_ne!(
            unchanged.src().encode("the d\u{ad}og").unwrap(),
            unchanged.src().encode("the dog").unwrap()
        );
    }
}
