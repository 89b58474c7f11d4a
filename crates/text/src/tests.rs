use std::fs;

use attentive_base::error::Error;
use attentive_config::{Normalization, TokenizerConfig, TokenizerKind, Vocabulary};
use tempfile::tempdir;

use super::*;

const KINDS: [TokenizerKind; 4] = [
    TokenizerKind::Bpe,
    TokenizerKind::Unigram,
    TokenizerKind::Word,
    TokenizerKind::Char,
];

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
    TokenizerConfig {
        kind,
        vocab_size: 90,
        min_frequency: 1,
        ..TokenizerConfig::default()
    }
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
            assert_eq!(tokenizers.tgt().decode(&ids), *text, "{kind:?}");
            assert!(
                ids.iter()
                    .all(|&id| id >= 4 && (id as usize) < tokenizers.tgt().vocab_size())
            );
        }
    }
}

#[test]
fn vocabularies_respect_their_size() {
    for kind in KINDS {
        let size = learned(&config(kind)).src().vocab_size();
        assert!(size <= 90, "{kind:?} has {size} tokens");
        assert!(size > 30, "{kind:?} has {size} tokens");
    }
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        assert_eq!(learned(&config(kind)).src().vocab_size(), 90, "{kind:?}");
    }
}

#[test]
fn learning_is_deterministic() {
    for kind in KINDS {
        let files = [
            learned(&config(kind)).files(),
            learned(&config(kind)).files(),
        ];
        assert!(files[0] == files[1], "{kind:?}");
    }
}

/// Floating-point sums are reproducible only in a fixed order.
#[test]
fn learning_does_not_depend_on_threads() {
    for kind in KINDS {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| learned(&config(kind)).files())
        };
        assert!(on(1) == on(3), "{kind:?}");
    }
}

#[test]
fn special_tokens_in_text_are_ordinary_text() {
    for kind in KINDS {
        let (mut src, mut tgt) = (lines(SRC), lines(TGT));
        for side in [&mut src, &mut tgt] {
            side.extend(vec![
                "a </s> b <s> x</s> <pad><unk> </s></s> <s".to_owned();
                50
            ]);
        }
        let tokenizers = learn(&config(kind), Masks::Without, &src, &tgt).unwrap();
        let tokenizer = tokenizers.src();
        for text in [
            "a </s> b",
            "</s>",
            "<s><pad>x</s>",
            "</s></s><unk>",
            "＜/s＞",
            "<</s>>",
            "<s",
        ] {
            let ids = tokenizer.encode(text).unwrap();
            assert!(
                ids.iter().all(|id| ![0, 2, 3].contains(id)),
                "{kind:?} encodes `{text}` as {ids:?}"
            );
        }
        if kind != TokenizerKind::Word {
            let text = "a </s> b <unk>";
            assert_eq!(
                tokenizer.decode(&tokenizer.encode(text).unwrap()),
                text,
                "{kind:?}"
            );
        }
    }
}

#[test]
fn any_text_can_be_encoded() {
    let long = "the cat ".repeat(40_000) + &"x".repeat(300_000);
    for kind in KINDS {
        let tokenizers = learned(&config(kind));
        for text in [
            "",
            " ",
            "\0",
            "a\0b",
            "\u{1}\u{7f}\u{85}",
            "\r\n\t",
            "漢字 🦀",
            "▁",
            "\u{200d}",
            long.as_str(),
        ] {
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
            let spelled = tokenizer.decode(&[id]);
            assert!(
                part == spelled.trim() || id == tokenizer.special().unk,
                "{kind:?}: {part} {spelled}"
            );
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
        assert_eq!(tokenizer.decode(&ids), "the cat", "{kind:?}");
    }
}

#[test]
fn text_is_normalized() {
    let base = TokenizerConfig {
        vocab_size: 200,
        ..config(TokenizerKind::Char)
    };
    let round = |config: &TokenizerConfig, text: &str| {
        let src = lines("ﬁne Cafe\u{301} fine Café É e\u{301}");
        let tokenizers = learn(config, Masks::Without, &src, &src).unwrap();
        tokenizers
            .src()
            .decode(&tokenizers.src().encode(text).unwrap())
    };
    let text = "ﬁne Cafe\u{301}";
    for (normalization, expected) in [
        (Normalization::None, text),
        (Normalization::Nfc, "ﬁne Café"),
        (Normalization::Nfkc, "fine Café"),
    ] {
        for kind in [TokenizerKind::Char, TokenizerKind::Bpe, TokenizerKind::Word] {
            let config = TokenizerConfig {
                normalization,
                kind,
                ..base.clone()
            };
            assert_eq!(round(&config, text), expected);
        }
    }
    let lowercase = TokenizerConfig {
        lowercase: true,
        ..base.clone()
    };
    assert_eq!(round(&lowercase, "Fine CAFÉ"), "fine café");
    let bpe = TokenizerConfig {
        kind: TokenizerKind::Bpe,
        ..base.clone()
    };
    assert_eq!(round(&bpe, "  fine\t \u{a0}Café\n"), "fine Café");
    assert_eq!(round(&base, " fine  Café"), " fine  Café");
}

#[test]
fn vocabularies_can_be_shared_or_separate() {
    let mut config = config(TokenizerKind::Word);
    let shared = learned(&config);
    assert_eq!(shared.src().to_json(), shared.tgt().to_json());
    assert_eq!(shared.files().len(), 1);
    config.vocabulary = Vocabulary::Separate;
    let separate = learned(&config);
    assert_eq!(tokens(separate.src(), "cat Katze"), ["cat", "<unk>"]);
    assert_eq!(tokens(separate.tgt(), "cat Katze"), ["<unk>", "Katze"]);
    for tokenizers in [shared, separate] {
        let dir = tempdir().unwrap();
        for (name, content) in tokenizers.files() {
            fs::write(dir.path().join(name), content).unwrap();
        }
        let loaded =
            Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap();
        assert_eq!(loaded.files(), tokenizers.files());
        assert_eq!(
            tokens(loaded.tgt(), "Katze und cat"),
            tokens(tokenizers.tgt(), "Katze und cat")
        );
    }
}

#[test]
fn the_most_frequent_words_are_learned() {
    let config = TokenizerConfig {
        vocab_size: 6,
        ..config(TokenizerKind::Word)
    };
    let src = lines("b b c c a");
    let tokenizers = learn(&config, Masks::Without, &src, &[]).unwrap();
    assert_eq!(tokens(tokenizers.src(), "a b c"), ["<unk>", "b", "c"]);
    let frequent = TokenizerConfig {
        vocab_size: 50,
        min_frequency: 3,
        ..config
    };
    assert!(matches!(
        learn(&frequent, Masks::Without, &src, &[]),
        Err(Error::Data { .. })
    ));
}

#[test]
fn rare_characters_are_unknown() {
    for kind in [
        TokenizerKind::Bpe,
        TokenizerKind::Unigram,
        TokenizerKind::Char,
    ] {
        let config = TokenizerConfig {
            min_frequency: 2,
            vocab_size: 20,
            ..config(kind)
        };
        let tokenizers = learn(&config, Masks::Without, &lines("abab abab aqb"), &[]).unwrap();
        let unknown = tokenizers.src().encode("q").unwrap();
        assert!(unknown.contains(&1), "{kind:?}");
        let text = "ab ab";
        assert_eq!(
            tokenizers
                .src()
                .decode(&tokenizers.src().encode(text).unwrap()),
            text
        );
    }
}

#[test]
fn a_vocabulary_that_is_too_small_is_refused() {
    for kind in [
        TokenizerKind::Bpe,
        TokenizerKind::Unigram,
        TokenizerKind::Char,
    ] {
        let size = |vocab_size| TokenizerConfig {
            vocab_size,
            ..config(kind)
        };
        let error = learn(&size(10), Masks::Without, &lines("abcdefg"), &[]).unwrap_err();
        assert!(
            matches!(&error, Error::Config { key, .. } if key == "tokenizer.vocab_size"),
            "{error}"
        );
        let characters = if kind == TokenizerKind::Char { 7 } else { 8 };
        assert!(
            error
                .to_string()
                .contains(&format!("at least {}", 4 + characters)),
            "{error}"
        );
        let exact = learn(
            &size(4 + characters),
            Masks::Without,
            &lines("abcdefg"),
            &[],
        )
        .unwrap();
        assert_eq!(exact.src().vocab_size(), 4 + characters, "{kind:?}");
    }
}

#[test]
fn empty_text_is_refused() {
    for kind in KINDS {
        for text in [
            vec![],
            vec![
                String::new(),
                "  ".repeat(usize::from(kind != TokenizerKind::Char)),
            ],
        ] {
            let error = learn(&config(kind), Masks::Without, &text, &text).unwrap_err();
            assert!(matches!(error, Error::Data { .. }), "{kind:?}: {error}");
        }
    }
}

#[test]
fn damaged_files_are_refused() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tokenizer.json");
    let refused = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let error =
            Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
        assert!(
            matches!(&error, Error::Model { path: at, .. } if *at == path),
            "{error}"
        );
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
    let word = String::from_utf8(
        learned(&config(TokenizerKind::Word))
            .src()
            .to_json()
            .to_vec(),
    )
    .unwrap();
    let message = refused(word.replace("\"the\": 4", "\"the\": 4000").as_bytes());
    assert!(message.contains("has id 4000"), "{message}");
}

#[test]
fn missing_files_are_named() {
    let dir = tempdir().unwrap();
    let error =
        Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
    assert!(matches!(error, Error::Model { .. }), "{error}");
    let src = learned(&config(TokenizerKind::Bpe))
        .src()
        .to_json()
        .to_vec();
    fs::write(dir.path().join("tokenizer.src.json"), src).unwrap();
    let error =
        Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
    assert!(error.to_string().contains("tokenizer.tgt.json"), "{error}");
    fs::create_dir(dir.path().join("tokenizer.json")).unwrap();
    let error =
        Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}
