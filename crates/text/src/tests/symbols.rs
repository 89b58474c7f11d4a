//! Symbols: tokens that no text is learned for.

use attentive_config::{TokenizerConfig, TokenizerKind, Vocabulary};

use crate::{Masks, learn};

const LINES: [&str; 4] =
    [">>de<< a dog runs.", ">>fr<< a cat runs.", ">>de<< Two dogs sleep.", "the cat, a dog and 2 cats"];

#[test]
fn symbols_are_one_token_wherever_they_stand() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char] {
        let config = TokenizerConfig {
            kind,
            vocab_size: 60,
            min_frequency: 1,
            symbols: vec![">>de<<".into(), ">>fr<<".into()],
            ..TokenizerConfig::default()
        };
        for vocabulary in [Vocabulary::Shared, Vocabulary::Separate] {
            let config = TokenizerConfig { vocabulary, ..config.clone() };
            let learned = learn(&config, Masks::Without, &LINES, &LINES).unwrap();
            for tokenizer in [learned.src(), learned.tgt()] {
                let id = |symbol| tokenizer.id(symbol).unwrap();
                assert_eq!([id(">>de<<"), id(">>fr<<")], [4, 5], "{kind:?}");
                // As if the symbol were put before the tokens of the text.
                for text in ["a dog runs.", "  Two  cats ", "2"] {
                    let alone = tokenizer.encode(text.trim()).unwrap();
                    let marked: Vec<_> = std::iter::once(4).chain(alone.iter().copied()).collect();
                    assert_eq!(
                        tokenizer.encode(&format!(">>de<< {}", text.trim())).unwrap(),
                        marked,
                        "{kind:?}"
                    );
                }
                let inside = tokenizer.encode("a >>fr<< dog>>de<<").unwrap();
                assert_eq!(inside.iter().filter(|id| [4, 5].contains(*id)).count(), 2, "{kind:?}");
                // Nothing else is learned from them, and special tokens are still text.
                let others = (6..tokenizer.vocab_size() as u32).filter_map(|id| tokenizer.token(id));
                assert!(others.into_iter().all(|token| !token.contains(['<', '>'])), "{kind:?}");
                assert!(!tokenizer.encode("</s>").unwrap().contains(&tokenizer.special().eos));
                assert_eq!(tokenizer.decode(&[4]).unwrap().trim(), ">>de<<");
            }
        }
    }
}

#[test]
fn languages_are_named_by_symbols() {
    let config = TokenizerConfig {
        vocab_size: 60,
        min_frequency: 1,
        symbols: vec![">>de<<".into(), "<bt>".into()],
        ..TokenizerConfig::default()
    };
    let learned = learn(&config, Masks::Without, &LINES, &LINES).unwrap();
    assert_eq!(learned.tgt().languages(), [">>de<<"]);
    assert_eq!(learned.tgt().language("de").unwrap(), ">>de<<");
    assert!(learned.tgt().language("fr").unwrap_err().to_string().contains("fr"));
}
