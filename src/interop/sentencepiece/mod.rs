//! Models of SentencePiece (Kudo and Richardson 2018), `.spm` and `.model`, as tokenizers of Hugging Face's format.

mod protobuf;

use std::collections::HashMap;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use self::protobuf::{Field, Message};
use super::keys::not_understood;
use crate::batch::TokenId;
use crate::error::{Error, Result};

const WORD_MARK: char = '▁';
/// The score of user-defined symbols in a unigram model: better than that of any piece.
const SYMBOL_SCORE: f64 = -0.1;
/// Begins the names of tokens that no text contains, since it is no character.
const UNREACHABLE: char = '\u{10FFFF}';

/// A model of SentencePiece.
#[derive(Debug)]
pub(super) struct SentencePiece {
    pieces: Vec<Piece>,
    kind: Kind,
    byte_fallback: bool,
    /// Normalisation, as compiled by SentencePiece.
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

impl SentencePiece {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// [`Error::Model`] for a damaged file, and for a model that cannot be converted exactly; [`Error::Io`] if it cannot be read.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
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
        for field in Message::new(bytes) {
            match field? {
                (1, Field::Bytes(piece)) => model.pieces.push(Piece::parse(piece)?),
                (2, Field::Bytes(trainer)) => model.read_trainer(trainer)?,
                (3, Field::Bytes(normalizer)) => model.read_normalizer(normalizer)?,
                _ => {}
            }
        }
        if model.pieces.is_empty() {
            return Err("no model of SentencePiece: it has no pieces".into());
        }
        Ok(model)
    }

    /// `TrainerSpec` of sentencepiece_model.proto.
    fn read_trainer(&mut self, bytes: &[u8]) -> Result<(), String> {
        for field in Message::new(bytes) {
            match field? {
                (3, Field::Number(1)) => self.kind = Kind::Unigram,
                (3, Field::Number(2)) => self.kind = Kind::Bpe,
                (3, Field::Number(_)) => {
                    return Err(
                        "only unigram and BPE models can be read, not words or characters".into(),
                    );
                }
                (24, Field::Number(1)) => {
                    return Err("word marks at the end are not supported".into());
                }
                (35, Field::Number(flag)) => self.byte_fallback = flag != 0,
                _ => {}
            }
        }
        Ok(())
    }

    /// `NormalizerSpec` of sentencepiece_model.proto.
    fn read_normalizer(&mut self, bytes: &[u8]) -> Result<(), String> {
        for field in Message::new(bytes) {
            match field? {
                (2, Field::Bytes(charsmap)) => self.charsmap = charsmap.to_vec(),
                (3, Field::Number(flag)) => self.add_dummy_prefix = flag != 0,
                (4, Field::Number(flag)) => self.remove_extra_whitespaces = flag != 0,
                (5, Field::Number(0)) => {
                    return Err("blanks that are not escaped are not supported".into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The `tokenizer.json` with the ids of the pieces in this file.
    pub(super) fn tokenizer(&self) -> Value {
        let slots = self.pieces.iter().map(Slot::of).collect();
        self.tokenizer_of(slots)
    }

    /// The `tokenizer.json` for the vocabulary `ids`, which holds pieces as strings. Pieces of this file that are not in it follow
    /// as tokens beyond the vocabulary, which stand for unknown text.
    ///
    /// # Errors
    /// A vocabulary with gaps.
    pub(super) fn tokenizer_with(&self, ids: &HashMap<String, TokenId>) -> Result<Value, String> {
        let own: HashMap<&str, &Piece> = self
            .pieces
            .iter()
            .map(|piece| (piece.text.as_str(), piece))
            .collect();
        let mut slots: Vec<Option<Slot>> = vec![None; ids.len()];
        for (text, &id) in ids {
            let slot = slots
                .get_mut(id as usize)
                .filter(|slot| slot.is_none())
                .ok_or_else(|| {
                    format!("the id {id} of `{text}` is taken, or beyond the vocabulary")
                })?;
            *slot = Some(match own.get(text.as_str()) {
                Some(piece) => Slot::of(piece),
                None => Slot::foreign(text),
            });
        }
        let mut slots: Vec<Slot> = slots.into_iter().flatten().collect();
        let beyond = self
            .pieces
            .iter()
            .filter(|piece| piece.role == Role::Normal && !ids.contains_key(&piece.text));
        slots.extend(beyond.map(Slot::of));
        Ok(self.tokenizer_of(slots))
    }

    /// The `tokenizer.json` in which the tokens `front` stand in place of the first three pieces: `<unk>`, `<s>` and `</s>`.
    ///
    /// # Errors
    /// Other first pieces.
    pub(super) fn tokenizer_behind(&self, front: &[&str]) -> Result<Value, String> {
        let begins = |names: [&str; 3]| {
            let pieces = self.pieces.iter().map(|piece| piece.text.as_str());
            pieces.take(names.len()).eq(names)
        };
        if !begins(["<unk>", "<s>", "</s>"]) {
            return Err("its first pieces are not `<unk>`, `<s>` and `</s>`".into());
        }
        let (replaced, rest) = self.pieces.split_at(3);
        let own = |token: &str| replaced.iter().find(|piece| piece.text == token);
        let front = front.iter().map(|token| match own(token) {
            Some(piece) => Slot::of(piece),
            None => Slot::foreign(token),
        });
        Ok(self.tokenizer_of(front.chain(rest.iter().map(Slot::of)).collect()))
    }

    /// The number of pieces.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The id of the piece `text` in this file.
    pub(super) fn id(&self, text: &str) -> Option<TokenId> {
        let place = self.pieces.iter().position(|piece| piece.text == text);
        place.map(|place| place as TokenId)
    }

    fn tokenizer_of(&self, slots: Vec<Slot>) -> Value {
        let special: Vec<&str> = slots
            .iter()
            .filter(|slot| matches!(slot.role, Role::Control | Role::Unknown))
            .map(|slot| slot.text.as_str())
            .collect();
        let added: Vec<Value> = (0..)
            .zip(&slots)
            .filter(|(_, slot)| matches!(slot.role, Role::Control | Role::Unknown | Role::Language))
            .map(|(id, slot)| {
                let is_special = matches!(slot.role, Role::Control | Role::Unknown);
                added(id, &slot.text, is_special)
            })
            .collect();
        let symbols = symbols(&slots);
        let mut pre_tokenizers = Vec::new();
        if self.kind == Kind::Bpe {
            pre_tokenizers.extend(isolated(&symbols));
        }
        pre_tokenizers.push(metaspace(&slots));
        // Otherwise no merges lead to a special token.
        if self.kind == Kind::Unigram || !symbols.is_empty() {
            pre_tokenizers.extend(splitter(&special, self.byte_fallback));
        }
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": self.normalizers(&symbols)},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre_tokenizers},
            "post_processor": null,
            "decoder": self.decoder(),
            "model": match self.kind {
                Kind::Unigram => self.unigram(&slots),
                Kind::Bpe => self.bpe(&slots),
            },
        })
    }

    fn normalizers(&self, symbols: &[&str]) -> Vec<Value> {
        let replace = |pattern: &str, by: &str| json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": by});
        let mut steps = Vec::new();
        if !self.charsmap.is_empty() {
            let charsmap = STANDARD.encode(&self.charsmap);
            steps.push(json!({
                "type": "Precompiled", "precompiled_charsmap": charsmap, "match": "longest", "kept": symbols,
            }));
        }
        if self.remove_extra_whitespaces {
            // Only blanks; the map above turns other white space into blanks.
            steps.push(replace("^ +| +$", ""));
            steps.push(replace(" {2,}", " "));
        }
        if self.add_dummy_prefix {
            steps.push(json!({"type": "Prepend", "prepend": "▁"}));
        }
        steps.push(replace(" ", "▁"));
        if self.remove_extra_whitespaces {
            steps.push(replace("▁+$", ""));
        }
        steps
    }

    fn decoder(&self) -> Value {
        let scheme = match self.add_dummy_prefix {
            true => "first",
            false => "never",
        };
        let metaspace = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
        match self.byte_fallback {
            false => metaspace,
            true => json!({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, metaspace]}),
        }
    }

    fn unigram(&self, slots: &[Slot]) -> Value {
        let vocab: Vec<(&str, f64)> = slots
            .iter()
            .map(|slot| match slot.role {
                Role::Symbol => (slot.text.as_str(), SYMBOL_SCORE),
                _ => (slot.text.as_str(), f64::from(slot.score)),
            })
            .collect();
        let unk = slots.iter().position(|slot| slot.role == Role::Unknown);
        json!({"type": "Unigram", "unk_id": unk, "vocab": vocab, "byte_fallback": self.byte_fallback})
    }

    fn bpe(&self, slots: &[Slot]) -> Value {
        let vocab: serde_json::Map<String, Value> = slots
            .iter()
            .zip(0..)
            .map(|(slot, id): (&Slot, usize)| (slot.text.clone(), id.into()))
            .collect();
        let unk = slots.iter().find(|slot| slot.role == Role::Unknown);
        json!({
            "type": "BPE",
            "dropout": null,
            "unk_token": unk.map(|slot| slot.text.as_str()),
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": true,
            "byte_fallback": self.byte_fallback,
            // Symbols have no merges.
            "ignore_merges": slots.iter().any(|slot| slot.role == Role::Symbol),
            "vocab": vocab,
            "merges": merges(slots),
        })
    }
}

/// A token of the new vocabulary.
#[derive(Clone, Debug)]
struct Slot {
    text: String,
    score: f32,
    role: Role,
}

impl Slot {
    /// A token of the vocabulary that is no piece: a special one, that of a language, or a piece of the other side, which no text
    /// of this side contains.
    fn foreign(text: &str) -> Self {
        let between = |open, close| text.starts_with(open) && text.ends_with(close);
        let role = match text {
            _ if between(">>", "<<") => Role::Language,
            _ if between("<", ">") || between("__", "__") => Role::Control,
            _ => Role::Unused,
        };
        Self::of(&Piece {
            text: text.to_owned(),
            score: 0.0,
            role,
        })
    }

    fn of(piece: &Piece) -> Self {
        let text = match piece.role {
            Role::Unused => format!("{UNREACHABLE}{}", piece.text),
            _ => piece.text.clone(),
        };
        Self {
            text,
            score: piece.score,
            role: piece.role,
        }
    }
}

impl Piece {
    /// `SentencePiece` of sentencepiece_model.proto.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut piece = Self {
            text: String::new(),
            score: 0.0,
            role: Role::Normal,
        };
        for field in Message::new(bytes) {
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
                            return Err(format!(
                                "piece `{}` is of the unknown type {role}",
                                piece.text
                            ));
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

/// Divides words before the search for pieces, unless a piece may contain a blank.
fn metaspace(slots: &[Slot]) -> Value {
    let crosses = |slot: &Slot| {
        matches!(slot.role, Role::Normal | Role::Symbol)
            && slot.text.chars().skip(1).any(|c| c == WORD_MARK)
    };
    let split = !slots.iter().any(crosses);
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": split})
}

/// User-defined symbols, the longest first.
fn symbols(slots: &[Slot]) -> Vec<&str> {
    let symbols = slots.iter().filter(|slot| slot.role == Role::Symbol);
    let mut symbols: Vec<&str> = symbols.map(|slot| slot.text.as_str()).collect();
    symbols.sort_by_key(|text| std::cmp::Reverse(text.len()));
    symbols
}

/// Makes each of `symbols` a part of its own.
fn isolated(symbols: &[&str]) -> Option<Value> {
    let symbols: Vec<String> = symbols.iter().map(|text| regex::escape(text)).collect();
    (!symbols.is_empty()).then(|| {
        json!({
            "type": "Split", "pattern": {"Regex": symbols.join("|")}, "behavior": "Isolated", "invert": false,
        })
    })
}

/// All pairs of pieces that make up a piece, those of the likeliest piece first.
fn merges(slots: &[Slot]) -> Vec<(&str, &str)> {
    let pieces: HashMap<&str, usize> = slots
        .iter()
        .enumerate()
        .filter(|(_, slot)| matches!(slot.role, Role::Normal))
        .map(|(id, slot)| (slot.text.as_str(), id))
        .collect();
    let mut ranked: Vec<&Slot> = slots
        .iter()
        .filter(|slot| slot.role == Role::Normal)
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut merges = Vec::new();
    for slot in ranked {
        let cuts = slot
            .text
            .char_indices()
            .skip(1)
            .map(|(at, _)| slot.text.split_at(at));
        let mut pairs: Vec<(&str, &str)> = cuts
            .filter(|(left, right)| pieces.contains_key(left) && pieces.contains_key(right))
            .collect();
        pairs.sort_by_key(|(left, right)| (pieces[left], pieces[right]));
        merges.extend(pairs);
    }
    merges
}

fn added(id: usize, text: &str, special: bool) -> Value {
    json!({
        "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        "special": special,
    })
}

/// Divides special tokens in a text before their last character, so that no model mistakes them for the real ones.
fn splitter(special: &[&str], bytes: bool) -> Option<Value> {
    let beginning = |token: &&str| {
        let (last, _) = token
            .char_indices()
            .next_back()
            .filter(|&(last, _)| last > 0)?;
        let (beginning, last) = token.split_at(last);
        Some(format!(
            "{}(?={})",
            regex::escape(beginning),
            regex::escape(last)
        ))
    };
    let bytes = bytes.then(|| "<0x[0-9A-F][0-9A-F](?=>)".to_owned());
    let beginnings: Vec<String> = special.iter().filter_map(beginning).chain(bytes).collect();
    (!beginnings.is_empty()).then(|| {
        json!({
            "type": "Split", "pattern": {"Regex": beginnings.join("|")}, "behavior": "MergedWithPrevious", "invert": false,
        })
    })
}

#[cfg(test)]
mod tests;
