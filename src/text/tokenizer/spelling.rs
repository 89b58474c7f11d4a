//! How a vocabulary spells its tokens.

use tokenizers::decoders::DecoderWrapper;

use super::{Tokenizer, UNKNOWN_SPELLING, UNREACHABLE, WORD_MARK};
use crate::batch::TokenId;
use crate::error::{Error, Result};

/// How a token is joined to the text before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// Unchanged.
    Plain,
    /// With a space: the token begins a word.
    Blank,
    /// Without a space: the token continues a word.
    None,
}

impl Tokenizer {
    /// The token with this id, as spelled in the vocabulary.
    pub fn token(&self, id: TokenId) -> Option<String> {
        let mut token = self.inner.id_to_token(id)?;
        if token.starts_with([UNKNOWN_SPELLING, UNREACHABLE]) {
            token.remove(0);
        }
        Some(token)
    }

    /// Each of `ids` as spelled in the vocabulary; empty for ids outside of it.
    pub fn spelled(&self, ids: &[TokenId]) -> Vec<String> {
        let spelled = ids.iter().map(|&id| self.token(id).unwrap_or_default());
        spelled.collect()
    }

    /// The ids of `tokens`, spelled as in the vocabulary: the inverse of [`Tokenizer::spelled`].
    ///
    /// # Errors
    /// [`Error::Data`] for a token that is not in the vocabulary, naming it.
    pub fn ids(&self, tokens: &[String]) -> Result<Vec<TokenId>> {
        let known = |token: &String| {
            self.id(token).ok_or_else(|| Error::Data {
                problem: format!("`{token}` is not a token of the model's vocabulary"),
                hint: Some("write each token as the vocabulary spells it, as in `</s>`".into()),
            })
        };
        tokens.iter().map(known).collect()
    }

    /// A token as displayed, and how it is joined to the text before it. The word mark is removed, which may leave an
    /// empty string.
    pub fn piece(&self, id: TokenId) -> (String, Joint) {
        let token = self.token(id).unwrap_or_default();
        match self.inner.get_decoder() {
            // Without a decoder, tokens are words.
            None => (token, Joint::Blank),
            Some(DecoderWrapper::WordPiece(pieces)) => match token.strip_prefix(&pieces.prefix) {
                Some(rest) => (rest.to_owned(), Joint::None),
                None => (token, Joint::Blank),
            },
            Some(_) if !self.marks_words() => (token, Joint::Plain),
            Some(_) => match token.strip_prefix(WORD_MARK) {
                Some(rest) => (rest.to_owned(), Joint::Blank),
                None => (token, Joint::None),
            },
        }
    }

    /// Whether tokens are subwords, with a mark on the first one of each word.
    pub(super) fn marks_words(&self) -> bool {
        let is_marked = |decoder: &DecoderWrapper| matches!(decoder, DecoderWrapper::Metaspace(_));
        match self.inner.get_decoder() {
            Some(DecoderWrapper::Sequence(steps)) => steps.get_decoders().iter().any(is_marked),
            decoder => decoder.is_some_and(is_marked),
        }
    }

    /// The id of `token`, as it stands in the vocabulary.
    pub fn id(&self, token: &str) -> Option<TokenId> {
        let marked = [UNKNOWN_SPELLING, UNREACHABLE].iter();
        let mut marked = marked.map(|mark| format!("{mark}{token}"));
        let plain = self.inner.token_to_id(token);
        plain.or_else(|| marked.find_map(|token| self.inner.token_to_id(&token)))
    }
}
