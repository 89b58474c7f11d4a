//! Incremental decoding of token ids.

use super::Tokenizer;
use crate::batch::TokenId;

/// Maximum number of previous tokens that the text of a token may depend on.
const KEPT: usize = 32;

/// Decodes tokens one by one into whole characters: the concatenated pieces equal the text of all tokens.
#[derive(Clone, Debug)]
pub struct Detokenizer<'a> {
    tokenizer: &'a Tokenizer,
    /// The most recent tokens.
    ids: Vec<TokenId>,
    /// Bytes of their text that have been returned.
    known: usize,
}

impl<'a> Detokenizer<'a> {
    /// A detokenizer for the tokens that follow `ids`, whose text is already known.
    pub fn after(tokenizer: &'a Tokenizer, ids: &[TokenId]) -> Self {
        let mut detokenizer = Self {
            tokenizer,
            ids: ids.to_vec(),
            known: 0,
        };
        detokenizer.forget();
        detokenizer
    }

    /// The text that the next token adds. It may be empty if the token ends in the middle of a character.
    pub fn push(&mut self, id: TokenId) -> String {
        self.ids.push(id);
        let text = self.tokenizer.decode(&self.ids);
        // With byte tokens, this marks a character whose last bytes are still missing.
        if text.ends_with(char::REPLACEMENT_CHARACTER) {
            return String::new();
        }
        let new = self.new_part(&text);
        self.known = text.len();
        if self.ids.len() > 2 * KEPT {
            self.forget();
        }
        new
    }

    /// The remaining text, after the last token.
    pub fn finish(self) -> String {
        self.new_part(&self.tokenizer.decode(&self.ids))
    }

    fn new_part(&self, text: &str) -> String {
        text.get(self.known..).unwrap_or_default().to_owned()
    }

    /// Keeps only the most recent tokens, so that the cost per token does not grow with the text.
    fn forget(&mut self) {
        self.ids.drain(..self.ids.len().saturating_sub(KEPT));
        self.known = self.tokenizer.decode(&self.ids).len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{TokenizerConfig, TokenizerKind};
    use crate::random::Random;
    use crate::text::{Masks, learn};

    fn learned(kind: TokenizerKind) -> Tokenizer {
        let config = TokenizerConfig {
            kind,
            vocab_size: 40,
            min_frequency: 1,
            ..TokenizerConfig::default()
        };
        let text = [
            "the cat sees the dog",
            "a small bird sings für the \u{fffd}",
        ];
        let text = text.map(str::to_owned);
        let tokenizers = learn(&config, Masks::Without, &[], &text).unwrap();
        tokenizers.tgt().clone()
    }

    /// A word vocabulary with two tokens that are halves of one character.
    fn bytes() -> Tokenizer {
        let mut json: serde_json::Value =
            serde_json::from_slice(learned(TokenizerKind::Word).to_json()).unwrap();
        json["decoder"] = serde_json::from_str(
            r#"{"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}"#,
        )
        .unwrap();
        let vocab = json["model"]["vocab"].as_object_mut().unwrap();
        let n = vocab.len();
        vocab.insert("<0xC3>".into(), n.into());
        vocab.insert("<0xA4>".into(), (n + 1).into());
        Tokenizer::from_json(
            serde_json::to_vec(&json).unwrap(),
            &crate::config::SpecialNames::default(),
        )
        .unwrap()
    }

    #[test]
    fn the_pieces_add_up_to_the_whole() {
        let mut random = Random::new(4, 0);
        let kinds = [
            TokenizerKind::Bpe,
            TokenizerKind::Unigram,
            TokenizerKind::Word,
            TokenizerKind::Char,
        ];
        for tokenizer in kinds.map(learned) {
            for _ in 0..50 {
                let mut id = || random.below(tokenizer.vocab_size()) as TokenId;
                let ids: Vec<TokenId> = (0..150).map(|_| id()).collect();
                let given = id() as usize % 50;
                let mut detokenizer = Detokenizer::after(&tokenizer, &ids[..given]);
                let mut text = tokenizer.decode(&ids[..given]);
                ids[given..]
                    .iter()
                    .for_each(|&id| text += &detokenizer.push(id));
                text += &detokenizer.finish();
                assert_eq!(text, tokenizer.decode(&ids));
            }
        }
    }

    #[test]
    fn half_a_character_waits_for_the_rest() {
        let tokenizer = bytes();
        let second = tokenizer.vocab_size() as TokenId - 1;
        let (first, dog) = (second - 1, tokenizer.encode("dog").unwrap()[0]);
        let mut detokenizer = Detokenizer::after(&tokenizer, &[dog]);
        let expected = ["", "ä", "", "ä", "dog", ""];
        for (id, expected) in [first, second, first, second, dog, first]
            .into_iter()
            .zip(expected)
        {
            assert_eq!(detokenizer.push(id), expected);
        }
        assert_eq!(detokenizer.finish(), "\u{fffd}");
    }
}
