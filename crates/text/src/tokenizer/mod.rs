//! The tokenizer of one vocabulary.

mod added;
mod by_word;
mod file;
mod inner;
mod spelling;
mod unnamed;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tokenizers::{
    AddedToken, Decoder, Encoding, Model, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer,
};

pub use self::spelling::Joint;
pub use self::unnamed::Unnamed;
use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::foreign::try_contain;
use attentive_base::shown::shown;
use attentive_config::SpecialNames;

use self::inner::Inner;
use super::special::{MASK, SpecialTokens};

/// Prefix of the first token of a word in subword vocabularies.
pub(super) const WORD_MARK: char = '▁';

/// The prefix of tokens to which unknown text is mapped if it equals the rest of the token. It is a Unicode
/// noncharacter, so that no ordinary text becomes such a token.
pub const UNKNOWN_SPELLING: char = '\u{10FFFF}';

/// The prefix of tokens that never occur in a text.
pub const UNREACHABLE: char = '\u{10FFFE}';

/// Converts text to token ids and back. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: Arc<Inner>,
    json: Arc<Vec<u8>>,
    special: SpecialTokens,
    vocab_size: usize,
    /// True if there are tokens with [`UNKNOWN_SPELLING`].
    spells_unknown: bool,
    /// True if a tagger reads subwords.
    in_pieces: bool,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`, in which the tokens `names` have special roles.
    ///
    /// # Errors
    /// Those of [`Unnamed::load`] and [`Unnamed::named`].
    pub fn load(path: &Path, names: &SpecialNames) -> Result<Self> {
        Unnamed::load(path)?.named(path, names)
    }

    /// Parses and checks a `tokenizer.json`; otherwise describes the problem.
    pub fn from_json(json: Vec<u8>, names: &SpecialNames) -> Result<Self, String> {
        Unnamed::from_json(json)?.with(names)
    }

    /// Returns the `tokenizer.json` from which this tokenizer was loaded.
    pub fn to_json(&self) -> &[u8] {
        &self.json
    }

    /// Returns the token ids of `text`, without `<s>` and `</s>`. Special tokens spelled out in the text are
    /// treated as ordinary text.
    ///
    /// # Errors
    /// [`Error::Data`] if a tokenizer from another program cannot encode the text. Learned tokenizers never
    /// fail.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        if self.spells_unknown {
            return self.encode_spelled(text);
        }
        let encoding = self.contained(text, |inner| inner.encode(text, OffsetType::None))?;
        let ids = encoding.get_ids().iter();
        Ok(ids.map(|&id| self.known(id)).collect())
    }

    /// The tokens of `text` with their places.
    fn encoding(&self, text: &str) -> Result<Encoding> {
        self.contained(text, |inner| inner.encode(text, OffsetType::Byte))
    }

    /// The result of `work`, which encodes `text`.
    fn contained<T>(&self, text: &str, work: impl FnOnce(&Inner) -> tokenizers::Result<T>) -> Result<T> {
        let done = try_contain(|| work(&self.inner).map_err(|error| error.to_string()));
        done.map_err(|problem| {
            let shown = shown(text);
            Error::data(format!("the tokenizer cannot encode `{shown}`: {problem}"), FAULTY)
        })
    }

    /// [`Tokenizer::encode`] before tokens for unknown text are replaced.
    fn encode_spelled(&self, text: &str) -> Result<Vec<TokenId>> {
        let unk = self.special.unk;
        let name = self.inner.token(unk).unwrap_or_default();
        let encoding = self.encoding(text)?;
        let tokens = encoding.get_tokens().iter().zip(encoding.get_offsets());
        let ids = encoding.get_ids().iter().zip(tokens);
        let spelled = |(&id, (token, &(start, end))): (&TokenId, (&String, &(usize, usize)))| {
            if id != unk {
                return self.known(id);
            }
            // Some kinds of models name the token, others the text.
            let spelling = if *token == name { text.get(start..end).unwrap_or_default() } else { token };
            let found = self.inner.id(&format!("{UNKNOWN_SPELLING}{spelling}"));
            found.map_or(unk, |id| self.known(id))
        };
        Ok(ids.map(spelled).collect())
    }

    /// Returns the range of bytes of `text` from which each token of [`Tokenizer::encode`] comes. A range may
    /// be empty, and it may begin or end within a character that several tokens share.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn offsets(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let encoding = self.encoding(text)?;
        let offsets = encoding.get_offsets().iter();
        Ok(offsets.map(|&(start, end)| start..end).collect())
    }

    /// Returns the parts of `text` that are read as `<unk>`, each of them once, in the order of the text.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn unknown(&self, text: &str) -> Result<Vec<String>> {
        let ids = self.encode(text)?;
        let encoding = self.encoding(text)?;
        let tokens = ids.iter().zip(encoding.get_offsets());
        let unknown = tokens.filter(|(id, _)| **id == self.special.unk);
        let parts = unknown.filter_map(|(_, &(start, end))| text.get(start..end));
        let parts = parts.map(str::trim).filter(|part| !part.is_empty());
        let mut seen = HashSet::new();
        Ok(parts.filter(|part| seen.insert(*part)).map(str::to_owned).collect())
    }

    /// `id`, or `<unk>` if it is beyond the vocabulary of the model.
    fn known(&self, id: TokenId) -> TokenId {
        if (id as usize) < self.vocab_size { id } else { self.special.unk }
    }

    /// Returns the token ids of a text with `<mask>` placeholders, which become `mask`. The surrounding text
    /// is split as if there were text in place of the placeholders: the full stop of `a <mask>.` does not
    /// become a separate word.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn encode_masked(&self, text: &str, mask: TokenId) -> Result<Vec<TokenId>> {
        let takes_blanks = self.inner.added.token(mask).is_some_and(|mask| mask.lstrip);
        let mut ids = Vec::new();
        let n_parts = text.split(MASK).count();
        for (number, part) in text.split(MASK).enumerate() {
            if number > 0 {
                ids.push(mask);
            }
            let part = if takes_blanks && number + 1 < n_parts { part.trim_end() } else { part };
            let is_continued = number > 0 && !part.starts_with(char::is_whitespace);
            if is_continued {
                ids.extend(self.encode_continued(part)?);
            } else {
                ids.extend(self.encode(part)?);
            }
        }
        Ok(ids)
    }

    /// [`Tokenizer::encode`] for a text that continues a word.
    fn encode_continued(&self, text: &str) -> Result<Vec<TokenId>> {
        let mut pieces = self.pieces(text)?;
        if let Some(first) = pieces.first_mut()
            && self.marks_words()
            && !text.starts_with(WORD_MARK)
        {
            *first = first.trim_start_matches(WORD_MARK).to_owned();
        }
        let mut ids = Vec::new();
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let tokens = self.contained(text, |inner| inner.model.tokenize(piece))?;
            ids.extend(tokens.into_iter().map(|token| self.known(token.id)));
        }
        Ok(ids)
    }

    /// Returns the text of `ids`. Special tokens and ids outside the vocabulary are skipped.
    ///
    /// # Errors
    /// [`Error::Data`] if a tokenizer from another program cannot decode the tokens. Learned tokenizers never
    /// fail.
    pub fn decode(&self, ids: &[TokenId]) -> Result<String> {
        let ids = ids.iter().filter(|&&id| !self.is_special(id));
        let tokens: Vec<String> = ids.filter_map(|&id| self.token(id)).collect();
        let Some(decoder) = &self.inner.decoder else {
            // Without a decoder, tokens are words.
            return Ok(tokens.join(" "));
        };
        let decoded = try_contain(|| decoder.decode(tokens).map_err(|error| error.to_string()));
        decoded.map_err(|problem| {
            Error::data(format!("the tokenizer cannot make text of its tokens: {problem}"), FAULTY)
        })
    }

    /// Returns true if `id` is never part of a text: one of [`SpecialTokens`], a token that the tokenizer
    /// file marks as special, or a start token that the file adds to the vocabulary. A start token from the
    /// vocabulary itself may be an ordinary word.
    pub(super) fn is_special(&self, id: TokenId) -> bool {
        let is_marked = |token: &AddedToken| token.special || id == self.special.start;
        self.special.contains(id) || self.inner.added.token(id).is_some_and(is_marked)
    }

    /// Returns true if `id` is a piece of text: neither special nor unknown, nor added to the vocabulary as a
    /// whole, such as the code of a language.
    pub fn is_of_text(&self, id: TokenId) -> bool {
        !self.special.contains(id) && self.inner.added.token(id).is_none()
    }

    /// Returns true if `id` is a single byte, such as `<0x0A>`.
    pub(super) fn is_byte(&self, id: TokenId) -> bool {
        let token = self.inner.token(id).unwrap_or_default();
        let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
        digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
    }

    /// Returns the number of tokens, including special ones; every id is below it.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Returns the tokens that are not special, in the order of their ids: the labels or tags, if this is
    /// their tokenizer.
    pub fn labels(&self) -> Vec<String> {
        let ids = (0..self.vocab_size as TokenId).filter(|&id| !self.special.contains(id));
        ids.filter_map(|id| self.token(id)).collect()
    }

    /// Returns true if any token that is not special has a letter.
    pub fn has_letters(&self) -> bool {
        let ids = (0..self.vocab_size as TokenId).filter(|&id| !self.is_special(id));
        ids.filter_map(|id| self.token(id)).any(|token| token.contains(char::is_alphabetic))
    }

    /// Returns true if a tagger reads subwords (see [`Tokenizer::encode_pieces`]); otherwise each word is one
    /// token.
    pub fn in_pieces(&self) -> bool {
        self.in_pieces
    }

    /// Sets whether a tagger reads subwords.
    pub(super) fn read_in_pieces(&mut self, in_pieces: bool) {
        self.in_pieces = in_pieces;
    }

    /// Sets the token that the decoder reads first.
    pub(super) fn start_with(&mut self, start: TokenId) {
        self.special.start = start;
    }

    /// Sets the tokens that the encoder reads before every text and after its end.
    pub(super) fn frame_with(&mut self, [first, last]: [Option<TokenId>; 2]) {
        self.special.first = first;
        self.special.last = last;
    }

    /// The tokens that the file adds to the vocabulary of its model, with their ids.
    pub(super) fn added(&self) -> Vec<(TokenId, String)> {
        let added = self.inner.added.ids().iter();
        added.map(|(token, &id)| (id, token.clone())).collect()
    }

    /// Sets the token with which every translation begins.
    pub(super) fn force(&mut self, forced: Option<TokenId>) {
        self.special.forced = forced;
    }

    /// Returns the ids of the special tokens.
    pub fn special(&self) -> SpecialTokens {
        self.special
    }

    /// The normalized pieces of `text` that are looked up in the vocabulary.
    pub(super) fn pieces(&self, text: &str) -> Result<Vec<String>> {
        let pieces = self.contained(text, |inner| {
            let mut text = NormalizedString::from(text);
            if let Some(normalizer) = &inner.normalizer {
                normalizer.normalize(&mut text)?;
            }
            let mut pieces = PreTokenizedString::from(text);
            if let Some(pre_tokenizer) = &inner.pre_tokenizer {
                pre_tokenizer.pre_tokenize(&mut pieces)?;
            }
            Ok(pieces)
        })?;
        let pieces = pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
        Ok(pieces.into_iter().map(|(piece, ..)| piece.to_owned()).collect())
    }
}

/// All tokens of a `tokenizer.json` with their ids; otherwise describes the problem.
pub fn vocabulary(json: &[u8]) -> Result<HashMap<String, TokenId>, String> {
    Ok(file::parse(json)?.vocabulary())
}

/// The hint of errors that only a tokenizer of another program causes.
const FAULTY: &str = "its `tokenizer.json` is at fault: get the model again, or repair the file";

#[cfg(test)]
mod tests;
