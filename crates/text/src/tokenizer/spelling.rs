//! The spelling of tokens in a vocabulary.

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use tokenizers::decoders::DecoderWrapper;

use super::{Tokenizer, UNKNOWN_SPELLING, UNREACHABLE, WORD_MARK};
use crate::is_in_word;

/// The way in which a token is joined to the preceding text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// The token is appended unchanged.
    Plain,
    /// A space is inserted: the token begins a word.
    Blank,
    /// No space is inserted: the token continues a word.
    None,
}

impl Tokenizer {
    /// Returns the token with this id, as spelled in the vocabulary.
    pub fn token(&self, id: TokenId) -> Option<String> {
        let mut token = self.inner.token(id)?;
        if token.starts_with([UNKNOWN_SPELLING, UNREACHABLE]) {
            token.remove(0);
        }
        Some(token)
    }

    /// Returns each of `ids` as spelled in the vocabulary; an empty string for ids outside of it.
    pub fn spelled(&self, ids: &[TokenId]) -> Vec<String> {
        let spelled = ids.iter().map(|&id| self.token(id).unwrap_or_default());
        spelled.collect()
    }

    /// Returns the ids of `tokens`, spelled as in the vocabulary: the inverse of [`Tokenizer::spelled`].
    ///
    /// # Errors
    /// [`Error::Data`] with the token, if it is not in the vocabulary.
    pub fn ids(&self, tokens: &[String]) -> Result<Vec<TokenId>> {
        let known = |token: &String| {
            self.id(token).ok_or_else(|| {
                Error::data(
                    format!("`{token}` is not a token of the model's vocabulary"),
                    "write each token as the vocabulary spells it, as in `</s>`",
                )
            })
        };
        tokens.iter().map(known).collect()
    }

    /// Returns a token for display, and the way in which it is joined to the preceding text. The word mark is
    /// removed, which may leave an empty string.
    pub fn piece(&self, id: TokenId) -> (String, Joint) {
        let token = self.token(id).unwrap_or_default();
        let Some(decoder) = &self.inner.decoder else {
            // Without a decoder, tokens are words.
            return (token, Joint::Blank);
        };
        match decoder.only() {
            Some(DecoderWrapper::WordPiece(pieces)) => match token.strip_prefix(&pieces.prefix) {
                Some(rest) => (rest.to_owned(), Joint::None),
                None => (token, Joint::Blank),
            },
            _ if !self.marks_words() => (token, Joint::Plain),
            _ => match token.strip_prefix(WORD_MARK) {
                Some(rest) => (rest.to_owned(), Joint::Blank),
                None => (token, Joint::None),
            },
        }
    }

    /// Returns the tokens that continue the word before them: those that begin with a character of a word,
    /// without a space before it; see [`is_in_word`].
    pub fn continuations(&self) -> Vec<TokenId> {
        let continues = |&id: &TokenId| {
            if self.is_special(id) {
                return false;
            }
            match self.piece(id) {
                (_, Joint::Blank) => false,
                (piece, Joint::None) => self.is_byte(id) || piece.starts_with(is_in_word),
                // The token may be part of a character.
                (_, Joint::Plain) => self.decode(&[id]).is_ok_and(|text| {
                    text.starts_with(|c| c == char::REPLACEMENT_CHARACTER || is_in_word(c))
                }),
            }
        };
        (0..self.vocab_size as TokenId).filter(continues).collect()
    }

    /// Returns true if tokens are subwords, with a mark on the first one of each word.
    pub(super) fn marks_words(&self) -> bool {
        let is_marked = |step: &DecoderWrapper| matches!(step, DecoderWrapper::Metaspace(_));
        let decoder = self.inner.decoder.as_ref();
        decoder.is_some_and(|decoder| decoder.library().any(is_marked))
    }

    /// Returns the id of `token`, spelled as in the vocabulary.
    pub fn id(&self, token: &str) -> Option<TokenId> {
        let marked = [UNKNOWN_SPELLING, UNREACHABLE].iter();
        let mut marked = marked.map(|mark| format!("{mark}{token}"));
        let plain = self.inner.id(token);
        plain.or_else(|| marked.find_map(|token| self.inner.id(&token)))
    }
}
