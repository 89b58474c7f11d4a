//! A tokenizer file without the roles of its special tokens.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::SpecialNames;
use tokenizers::Model;

use super::inner::Inner;
use super::{Tokenizer, UNKNOWN_SPELLING, file};
use crate::special::SpecialTokens;

/// A `tokenizer.json` that has been parsed and checked, without the tokens with special roles.
#[derive(Debug)]
pub struct Unnamed {
    inner: Inner,
    json: Vec<u8>,
    vocab_size: usize,
    spells_unknown: bool,
}

impl Unnamed {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// [`Error::Model`] if the file is missing or damaged, or has ids with gaps or for more than one token;
    /// [`Error::Io`] if it cannot be read.
    pub fn load(path: &Path) -> Result<Self> {
        let json = regular_file::read(path, regular_file::DESCRIPTION);
        let json = json.map_err(|error| match error {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Error::Model {
                path: path.to_path_buf(),
                problem: "the tokenizer file is missing".into(),
                hint: Some(
                    "check that the path names a model directory and that it was copied completely".into(),
                ),
            },
            error => error,
        })?;
        Self::from_json(json).map_err(|problem| damaged(path, problem))
    }

    /// Parses and checks a `tokenizer.json`; otherwise describes the problem.
    pub(super) fn from_json(json: Vec<u8>) -> Result<Self, String> {
        let inner = file::parse(&json)?;
        let vocab_size = match size_of_whole(&inner) {
            Some(size) => size,
            None => checked_size(&inner.vocabulary())?,
        };
        let spells_unknown = may_spell_unknown(&json)
            && (inner.vocabulary().keys()).any(|token| token.starts_with(UNKNOWN_SPELLING));
        Ok(Self { inner, json, vocab_size, spells_unknown })
    }

    /// The tokenizer of the file `path`, in which the tokens `names` have special roles.
    ///
    /// # Errors
    /// [`Error::Model`] if it lacks one of `names` other than the mask.
    pub fn named(self, path: &Path, names: &SpecialNames) -> Result<Tokenizer> {
        self.with(names).map_err(|problem| damaged(path, problem))
    }

    pub(super) fn with(self, names: &SpecialNames) -> Result<Tokenizer, String> {
        let Self { inner, json, vocab_size, spells_unknown } = self;
        let special = SpecialTokens::read(names, |token| {
            let is_special = inner.added.is_special(token);
            let is_known = |id: TokenId| names.unknown_from == 0 || (id as usize) < names.unknown_from;
            inner.id(token).filter(|&id| is_special && is_known(id) || token != names.mask)
        })?;
        let vocab_size = match names.unknown_from {
            0 => vocab_size,
            known => known.min(vocab_size),
        };
        let ids = special.ids();
        if let Some(id) = ids.into_iter().find(|&id| id as usize >= vocab_size) {
            return Err(format!("special token {id} is beyond the vocabulary"));
        }
        Ok(Tokenizer {
            inner: Arc::new(inner),
            json: json.into(),
            special,
            vocab_size,
            spells_unknown,
            in_pieces: false,
        })
    }
}

/// The error of the file `path` with this problem.
fn damaged(path: &Path, problem: String) -> Error {
    let hint = "the file is damaged or was made by another program: copy the model directory again";
    Error::Model { path: path.to_path_buf(), problem, hint: Some(hint.into()) }
}

/// Returns the number of tokens, whose ids must be the numbers below it; otherwise describes the problem.
fn checked_size(vocab: &HashMap<String, TokenId>) -> Result<usize, String> {
    let size = vocab.len();
    if let Some((token, id)) = vocab.iter().find(|(_, id)| **id as usize >= size) {
        return Err(format!("token `{token}` has id {id}, but there are only {size} tokens"));
    }
    match shared_id(vocab) {
        Some((id, one, other)) => Err(format!("the tokens `{one}` and `{other}` have the same id {id}")),
        None => Ok(size),
    }
}

/// The number of tokens if their ids are the numbers below it; `None` if not. [`checked_size`] names the
/// problem, but copies the vocabulary.
fn size_of_whole(inner: &Inner) -> Option<usize> {
    let model = &inner.model;
    if !model.is_whole() {
        return None;
    }
    let known = model.get_vocab_size() as TokenId;
    let added = inner.added.ids();
    // A token that the model has keeps its id.
    let mut new: Vec<TokenId> = added.values().copied().filter(|&id| id >= known).collect();
    new.sort_unstable();
    let size = known + new.len() as TokenId;
    new.into_iter().eq(known..size).then_some(size as usize)
}

/// Returns false if no token of a `tokenizer.json` contains [`UNKNOWN_SPELLING`], spelled out or escaped.
fn may_spell_unknown(json: &[u8]) -> bool {
    let text = str::from_utf8(json).unwrap_or_default();
    text.contains(UNKNOWN_SPELLING) || text.contains("\\u")
}

/// The smallest id shared by two tokens, and these tokens in alphabetical order.
fn shared_id(vocab: &HashMap<String, TokenId>) -> Option<(TokenId, &str, &str)> {
    let mut tokens: Vec<(TokenId, &str)> = vocab.iter().map(|(token, &id)| (id, token.as_str())).collect();
    tokens.sort_unstable();
    let mut neighbors = tokens.windows(2);
    neighbors.find_map(|pair| match *pair {
        [(id, one), (next, other)] if id == next => Some((id, one, other)),
        _ => None,
    })
}
