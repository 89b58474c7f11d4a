//! Incremental decoding of token ids.

use attentive_base::batch::TokenId;
use attentive_base::error::Result;

use super::Tokenizer;

/// Maximum number of previous tokens that the text of a token may depend on.
const KEPT: usize = 32;

/// Decodes tokens one by one into whole characters: the concatenated pieces equal the text of all tokens.
///
/// If a vocabulary has tokens of single bytes, a run of them is decoded as a whole: its text may change with
/// every further byte, so it is returned when the run ends.
#[derive(Clone, Debug)]
pub struct Detokenizer<'a> {
    tokenizer: &'a Tokenizer,
    /// The most recent tokens.
    ids: Vec<TokenId>,
    /// The part of the text of `ids` that has been returned.
    known: String,
}

impl<'a> Detokenizer<'a> {
    /// Creates a detokenizer for the tokens that follow `ids`, whose text is already known.
    ///
    /// # Errors
    /// Those of [`Tokenizer::decode`].
    pub fn after(tokenizer: &'a Tokenizer, ids: &[TokenId]) -> Result<Self> {
        let mut detokenizer = Self { tokenizer, ids: ids.to_vec(), known: String::new() };
        detokenizer.forget()?;
        Ok(detokenizer)
    }

    /// Adds the next token and returns the text that it adds. The text may be empty if the token ends in the
    /// middle of a character or of a run of bytes.
    ///
    /// # Errors
    /// Those of [`Tokenizer::decode`].
    pub fn push(&mut self, id: TokenId) -> Result<String> {
        self.ids.push(id);
        if self.tokenizer.is_byte(id) || self.tokenizer.is_special(id) {
            return Ok(String::new());
        }
        let text = self.tokenizer.decode(&self.ids)?;
        // The tokens may end in the middle of a character.
        if text.ends_with(char::REPLACEMENT_CHARACTER) {
            return Ok(String::new());
        }
        let new = self.new_part(&text);
        self.known = text;
        if self.ids.len() > 2 * KEPT {
            self.forget()?;
        }
        Ok(new)
    }

    /// Returns the remaining text, after the last token.
    ///
    /// # Errors
    /// Those of [`Tokenizer::decode`].
    pub fn finish(self) -> Result<String> {
        Ok(self.new_part(&self.tokenizer.decode(&self.ids)?))
    }

    /// The part of `text` after the known part. The end of the known part may have changed if it was in the
    /// middle of a run of bytes.
    fn new_part(&self, text: &str) -> String {
        let same = { self.known.chars().zip(text.chars()) }.take_while(|(one, other)| one == other);
        text[same.map(|(c, _)| c.len_utf8()).sum()..].to_owned()
    }

    /// Keeps only the most recent tokens, so that the cost per token does not grow with the text.
    fn forget(&mut self) -> Result<()> {
        self.ids.drain(..self.ids.len().saturating_sub(KEPT));
        self.known = self.tokenizer.decode(&self.ids)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;
    use attentive_config::{TokenizerConfig, TokenizerKind};

    use super::*;
    use crate::{Masks, learn};

    fn learned(kind: TokenizerKind) -> Tokenizer {
        let config = TokenizerConfig { kind, vocab_size: 40, min_frequency: 1, ..TokenizerConfig::default() };
        let text = ["the cat sees the dog", "a small bird sings für the \u{fffd}"];
        let text = text.map(str::to_owned);
        let tokenizers = learn(&config, Masks::Without, &[], &text).unwrap();
        tokenizers.tgt().clone()
    }

    /// A word vocabulary with three tokens of single bytes, the last: two halves of a character, and a digit.
    fn bytes() -> Tokenizer {
        let mut json: serde_json::Value =
            serde_json::from_slice(learned(TokenizerKind::Word).to_json()).unwrap();
        json["decoder"] = serde_json::from_str(
            r#"{"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}"#,
        )
        .unwrap();
        let vocab = json["model"]["vocab"].as_object_mut().unwrap();
        for (id, byte) in (vocab.len()..).zip(["<0xC3>", "<0xA4>", "<0x31>"]) {
            vocab.insert(byte.into(), id.into());
        }
        Tokenizer::from_json(serde_json::to_vec(&json).unwrap(), &attentive_config::SpecialNames::default())
            .unwrap()
    }

    #[test]
    fn the_pieces_add_up_to_the_whole() {
        let mut random = Random::new(4, 0);
        let kinds = [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Word, TokenizerKind::Char];
        for tokenizer in kinds.map(learned).into_iter().chain([bytes()]) {
            for _ in 0..50 {
                let id = |_| random.below(tokenizer.vocab_size()) as TokenId;
                let ids: Vec<TokenId> = (0..150).map(id).collect();
                // A run of bytes is decoded as a whole.
                let ends_run = |&given: &usize| {
                    let last = given.checked_sub(1).map(|last| ids[last]);
                    last.is_none_or(|id| !tokenizer.is_byte(id) && !tokenizer.is_special(id))
                };
                let given = (0..50).rev().skip(random.below(49)).find(ends_run).unwrap_or(0);
                let mut detokenizer = Detokenizer::after(&tokenizer, &ids[..given]).unwrap();
                let mut text = tokenizer.decode(&ids[..given]).unwrap();
                for &id in &ids[given..] {
                    text += &detokenizer.push(id).unwrap();
                }
                text += &detokenizer.finish().unwrap();
                assert_eq!(text, tokenizer.decode(&ids).unwrap());
            }
        }
    }

    #[test]
    fn bytes_wait_for_the_end_of_their_run() {
        let tokenizer = bytes();
        let digit = tokenizer.vocab_size() as TokenId - 1;
        let (first, second) = (digit - 2, digit - 1);
        let (dog, end) = (tokenizer.encode("dog").unwrap()[0], tokenizer.special().eos);
        let streamed = |ids: &[TokenId]| {
            let mut detokenizer = Detokenizer::after(&tokenizer, &[dog]).unwrap();
            let pieces = ids.iter().map(|&id| detokenizer.push(id).unwrap());
            let mut pieces = Vec::from_iter(pieces);
            pieces.push(detokenizer.finish().unwrap());
            pieces
        };
        assert_eq!(streamed(&[first, second, dog, first]), ["", "", "ädog", "", "\u{fffd}"]);
        // A wrong byte changes the text of the bytes before it.
        let broken = "\u{fffd}\u{fffd}dog";
        assert_eq!(streamed(&[digit, first, dog, dog]), ["", "", broken, "dog", ""]);
        assert_eq!(streamed(&[digit, end, first, dog]), ["", "", "", broken, ""]);
        // Text that is already known is not changed, but nothing is lost.
        let mut detokenizer = Detokenizer::after(&tokenizer, &[dog, digit]).unwrap();
        assert_eq!(detokenizer.push(first).unwrap(), "");
        assert_eq!(detokenizer.push(dog).unwrap(), broken);
    }
}
