//! Learning of vocabularies.

use super::*;

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
        let loaded = Tokenizers::load(dir.path(), &attentive_config::SpecialNames::default()).unwrap();
        assert_eq!(loaded.files(), tokenizers.files());
        assert_eq!(tokens(loaded.tgt(), "Katze und cat"), tokens(tokenizers.tgt(), "Katze und cat"));
    }
}

#[test]
fn the_most_frequent_words_are_learned() {
    let config = TokenizerConfig { vocab_size: 6, ..config(TokenizerKind::Word) };
    let src = lines("b b c c a");
    let tokenizers = learn(&config, Masks::Without, &src, &[]).unwrap();
    assert_eq!(tokens(tokenizers.src(), "a b c"), ["<unk>", "b", "c"]);
    let frequent = TokenizerConfig { vocab_size: 50, min_frequency: 3, ..config };
    assert!(matches!(learn(&frequent, Masks::Without, &src, &[]), Err(Error::Data { .. })));
}

#[test]
fn rare_characters_are_unknown() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Char] {
        let config = TokenizerConfig { min_frequency: 2, vocab_size: 20, ..config(kind) };
        let tokenizers = learn(&config, Masks::Without, &lines("abab abab aqb"), &[]).unwrap();
        let unknown = tokenizers.src().encode("q").unwrap();
        assert!(unknown.contains(&1), "{kind:?}");
        let text = "ab ab";
        assert_eq!(tokenizers.src().decode(&tokenizers.src().encode(text).unwrap()).unwrap(), text);
    }
}

#[test]
fn a_vocabulary_that_is_too_small_is_refused() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Char] {
        let size = |vocab_size| TokenizerConfig { vocab_size, ..config(kind) };
        let error = learn(&size(10), Masks::Without, &lines("abcdefg"), &[]).unwrap_err();
        assert!(matches!(&error, Error::Config { key, .. } if key == "tokenizer.vocab_size"), "{error}");
        let characters = if kind == TokenizerKind::Char { 7 } else { 8 };
        assert!(error.to_string().contains(&format!("at least {}", 4 + characters)), "{error}");
        let exact = learn(&size(4 + characters), Masks::Without, &lines("abcdefg"), &[]).unwrap();
        assert_eq!(exact.src().vocab_size(), 4 + characters, "{kind:?}");
    }
}

#[test]
fn empty_text_is_refused() {
    for kind in KINDS {
        for text in [vec![], vec![String::new(), "  ".repeat(usize::from(kind != TokenizerKind::Char))]] {
            let error = learn(&config(kind), Masks::Without, &text, &text).unwrap_err();
            assert!(matches!(error, Error::Data { .. }), "{kind:?}: {error}");
        }
    }
}

#[test]
fn learning_is_deterministic() {
    for kind in KINDS {
        let files = [learned(&config(kind)).files(), learned(&config(kind)).files()];
        assert!(files[0] == files[1], "{kind:?}");
    }
}

/// Floating-point sums are reproducible only in a fixed order.
#[test]
fn learning_does_not_depend_on_threads() {
    for kind in KINDS {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| learned(&config(kind)).files())
        };
        assert!(on(1) == on(3), "{kind:?}");
    }
}
