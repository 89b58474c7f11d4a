//! Tests that written models divide texts as the tokenizers from which they were made.

use attentive_config::{SpecialNames, TokenizerConfig, TokenizerKind};
use attentive_text::{Masks, Tokenizer, learn};

use super::SentencePiece;
use super::tests::{MODELS, folder, lines, special, tokenizer};

const TEXT: [&str; 6] = [
    "the cat sees the dog (and the bird)",
    "eine kleine Katze sieht 12 Vögel über dem Haus.",
    "„Ja“, sagt er: 3,50 € für den naïven Émile!",
    "the cats see  dogs\tand birds",
    "Der Hund schläft im Schnee – wie so oft.",
    "x = y + z; a_b-c/d",
];

/// The tokenizer of `pieces`, whose special tokens are `names`.
fn again(pieces: &SentencePiece, names: [&str; 4]) -> Tokenizer {
    let read = SentencePiece::parse(&pieces.to_bytes()).unwrap();
    assert_eq!(read.pieces, pieces.pieces);
    tokenizer(&read.tokenizer(), &special(names))
}

#[test]
fn models_come_back() {
    for model in MODELS {
        let read = SentencePiece::read(&folder().join(format!("{model}.model"))).unwrap();
        let names = ["</s>", "<unk>", "<s>", "</s>"];
        let own = tokenizer(&read.tokenizer(), &special(names));
        let made = SentencePiece::of(&own, own.vocab_size()).unwrap();
        assert_eq!(made.charsmap, read.charsmap, "{model}");
        let back = again(&made, names);
        for line in lines().iter().filter(|line| !line.text.contains('<')) {
            assert_eq!(
                back.encode(&line.text).unwrap(),
                own.encode(&line.text).unwrap(),
                "{model}: {:?}",
                line.text
            );
        }
    }
}

#[test]
fn learned_unigram_models_divide_texts_in_the_same_way() {
    let text = TEXT.map(str::to_owned);
    let base = TokenizerConfig {
        kind: TokenizerKind::Unigram,
        vocab_size: 120,
        min_frequency: 1,
        ..TokenizerConfig::default()
    };
    for config in [
        base.clone(),
        TokenizerConfig { lowercase: true, ..base.clone() },
        TokenizerConfig { split_digits: true, ..base.clone() },
        TokenizerConfig { split_punctuation: false, split_by_script: false, ..base },
    ] {
        let learned = learn(&config, Masks::Without, &[], &text).unwrap();
        let own = learned.tgt();
        let mut made = SentencePiece::of(own, own.vocab_size()).unwrap();
        made.pad(128);
        let back = again(&made, ["<pad>", "<unk>", "<s>", "</s>"]);
        assert_eq!(back.vocab_size(), 128);
        for line in
            TEXT.iter().chain(&["", "  ", "e\u{301}mile", "the ｃａｔ", "sees\u{a0}the\u{ad} cat", "ﬁnden"])
        {
            let (ours, theirs) = (own.encode(line).unwrap(), back.encode(line).unwrap());
            assert_eq!(theirs, ours, "{config:?} {line:?}");
            assert_eq!(back.decode(&theirs).unwrap(), own.decode(&ours).unwrap());
        }
    }
}

#[test]
fn other_tokenizers_are_refused() {
    let text = TEXT.map(str::to_owned);
    for (kind, expected) in [(TokenizerKind::Word, "not subwords"), (TokenizerKind::Char, "not subwords")] {
        let config =
            TokenizerConfig { kind, vocab_size: 100, min_frequency: 1, ..TokenizerConfig::default() };
        let learned = learn(&config, Masks::Without, &[], &text).unwrap();
        let problem = SentencePiece::of(learned.tgt(), 50).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
    let read = SentencePiece::read(&folder().join("unigram.model")).unwrap();
    let mut file = read.tokenizer();
    file["pre_tokenizer"] = serde_json::json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let names = SpecialNames { pad: "</s>".into(), bos: "<s>".into(), ..SpecialNames::default() };
    let problem = SentencePiece::of(&tokenizer(&file, &names), 50).unwrap_err();
    assert!(problem.contains("`ByteLevel`"), "{problem}");
}
