//! Converts models of SentencePiece (Kudo and Richardson 2018), `.spm` and `.model`, to tokenizers in Hugging
//! Face's format.

mod document;
mod of_tokenizer;
mod protobuf;
mod vocabulary_token;
mod writing;

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

pub(super) use self::document::{added, splitter};
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_base::regular_file;
use attentive_config::TokenizerKind;

use self::protobuf::{Field, ProtobufMessage};
use self::vocabulary_token::VocabularyToken;
use super::keys::not_understood;

/// A model of SentencePiece.
#[derive(Debug)]
pub(super) struct SentencePiece {
    pieces: Vec<Piece>,
    kind: Kind,
    byte_fallback: bool,
    /// The normalization, as compiled by SentencePiece.
    charsmap: Vec<u8>,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Piece {
    text: String,
    score: f32,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Normal,
    Unknown,
    Control,
    Unused,
    Byte,
    /// User-defined: it is never divided.
    Symbol,
    /// `>>xx<<`, which a user writes before a text (MarianMT).
    Language,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unigram,
    Bpe,
}

impl From<Kind> for TokenizerKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Unigram => Self::Unigram,
            Kind::Bpe => Self::Bpe,
        }
    }
}

impl SentencePiece {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// [`Error::Model`] for a damaged file, and for a model that cannot be converted exactly; [`Error::Io`]
    /// if it cannot be read.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = regular_file::read(path, regular_file::DESCRIPTION)?;
        Self::parse(&bytes).map_err(|problem| not_understood(path, problem))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut model = Self {
            pieces: Vec::new(),
            kind: Kind::Unigram,
            byte_fallback: false,
            charsmap: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
        };
        for field in ProtobufMessage::new(bytes) {
            match field? {
                (1, Field::Bytes(piece)) => model.pieces.push(Piece::parse(piece)?),
                (2, Field::Bytes(trainer)) => model.read_trainer(trainer)?,
                (3, Field::Bytes(normalizer)) => model.read_normalizer(normalizer)?,
                (5, Field::Bytes(denormalizer)) => Self::refuse_denormalizer(denormalizer)?,
                _ => {}
            }
        }
        if model.pieces.is_empty() {
            return Err("not a SentencePiece model: it has no pieces".into());
        }
        let has_unused = model.pieces.iter().any(|piece| piece.role == Role::Unused);
        if model.kind == Kind::Bpe && has_unused {
            return Err("unused pieces in a BPE model are not supported".into());
        }
        Ok(model)
    }

    /// Reads `TrainerSpec` of sentencepiece_model.proto.
    fn read_trainer(&mut self, bytes: &[u8]) -> Result<(), String> {
        for field in ProtobufMessage::new(bytes) {
            match field? {
                (3, Field::Number(1)) => self.kind = Kind::Unigram,
                (3, Field::Number(2)) => self.kind = Kind::Bpe,
                (3, Field::Number(_)) => {
                    return Err("only unigram and BPE models can be read, not words or characters".into());
                }
                (24, Field::Number(1)) => {
                    return Err("`treat_whitespace_as_suffix` is not supported".into());
                }
                (35, Field::Number(flag)) => self.byte_fallback = flag != 0,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads `NormalizerSpec` of sentencepiece_model.proto.
    fn read_normalizer(&mut self, bytes: &[u8]) -> Result<(), String> {
        for field in ProtobufMessage::new(bytes) {
            match field? {
                (2, Field::Bytes(charsmap)) => self.charsmap = charsmap.to_vec(),
                (3, Field::Number(flag)) => self.add_dummy_prefix = flag != 0,
                (4, Field::Number(flag)) => self.remove_extra_whitespaces = flag != 0,
                (5, Field::Number(0)) => {
                    return Err("`escape_whitespaces` = false is not supported".into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a `NormalizerSpec` that changes outputs.
    fn refuse_denormalizer(bytes: &[u8]) -> Result<(), String> {
        for field in ProtobufMessage::new(bytes) {
            if let (2, Field::Bytes([_, ..])) = field? {
                return Err("`denormalizer_spec` is not supported".into());
            }
        }
        Ok(())
    }

    /// Returns the pieces, in the order of their ids.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(|piece| piece.text.as_str())
    }

    /// Returns the kind of tokenizer.
    pub(super) fn kind(&self) -> TokenizerKind {
        self.kind.into()
    }

    /// Returns the `tokenizer.json` with the ids of the pieces in this file.
    pub(super) fn tokenizer(&self) -> Value {
        let tokens = self.pieces.iter().map(VocabularyToken::of).collect();
        self.tokenizer_of(tokens)
    }

    /// Returns the `tokenizer.json` for the vocabulary `ids`, which holds pieces as strings. Pieces of this
    /// file that it does not have follow as tokens beyond the vocabulary, which stand for unknown text.
    ///
    /// # Errors
    /// Describes a vocabulary with gaps.
    pub(super) fn tokenizer_with(&self, ids: &HashMap<String, TokenId>) -> Result<Value, String> {
        let own: HashMap<&str, &Piece> =
            self.pieces.iter().map(|piece| (piece.text.as_str(), piece)).collect();
        let mut tokens: Vec<Option<VocabularyToken>> = vec![None; ids.len()];
        for (text, &id) in ids {
            let token = tokens
                .get_mut(id as usize)
                .filter(|token| token.is_none())
                .ok_or_else(|| format!("the id {id} of `{text}` is taken, or beyond the vocabulary"))?;
            *token = Some(match own.get(text.as_str()) {
                Some(piece) => VocabularyToken::of(piece),
                None => VocabularyToken::foreign(text),
            });
        }
        let mut tokens: Vec<VocabularyToken> = tokens.into_iter().flatten().collect();
        let is_beyond = |piece: &&Piece| {
            matches!(piece.role, Role::Normal | Role::Symbol) && !ids.contains_key(&piece.text)
        };
        tokens.extend(self.pieces.iter().filter(is_beyond).map(VocabularyToken::of));
        Ok(self.tokenizer_of(tokens))
    }

    /// Returns the `tokenizer.json` in which the tokens `front` replace the first three pieces: `<unk>`,
    /// `<s>` and `</s>`.
    ///
    /// # Errors
    /// Describes other first pieces.
    pub(super) fn tokenizer_behind(&self, front: &[&str]) -> Result<Value, String> {
        let begins = |names: [&str; 3]| {
            let pieces = self.texts().take(names.len());
            pieces.eq(names)
        };
        if !begins(["<unk>", "<s>", "</s>"]) {
            return Err("its first pieces are not `<unk>`, `<s>` and `</s>`".into());
        }
        let (replaced, rest) = self.pieces.split_at(3);
        let own = |token: &str| replaced.iter().find(|piece| piece.text == token);
        let front = front.iter().map(|token| match own(token) {
            Some(piece) => VocabularyToken::of(piece),
            None => VocabularyToken::foreign(token),
        });
        Ok(self.tokenizer_of(front.chain(rest.iter().map(VocabularyToken::of)).collect()))
    }

    /// Returns the id of the piece `text` in this file.
    pub(super) fn id(&self, text: &str) -> Option<TokenId> {
        let place = self.texts().position(|piece| piece == text);
        place.map(|place| place as TokenId)
    }
}

impl Piece {
    /// Parses a `SentencePiece` of sentencepiece_model.proto.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut piece = Self { text: String::new(), score: 0.0, role: Role::Normal };
        for field in ProtobufMessage::new(bytes) {
            match field? {
                (1, Field::Bytes(text)) => {
                    let text = str::from_utf8(text).map_err(|_| "a piece is not UTF-8")?;
                    piece.text = text.into();
                }
                (2, Field::Four(score)) => piece.score = f32::from_le_bytes(score),
                (3, Field::Number(role)) => {
                    piece.role = match role {
                        1 => Role::Normal,
                        2 => Role::Unknown,
                        3 => Role::Control,
                        4 => Role::Symbol,
                        5 => Role::Unused,
                        6 => Role::Byte,
                        _ => {
                            return Err(format!("piece `{}` is of the unknown type {role}", piece.text));
                        }
                    };
                }
                _ => {}
            }
        }
        if !piece.score.is_finite() {
            return Err(format!("the score of piece `{}` is not finite", piece.text));
        }
        Ok(piece)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod writing_tests;
