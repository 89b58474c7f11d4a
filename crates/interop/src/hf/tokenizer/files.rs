//! The files of a tokenizer, in the formats of several libraries.

use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use serde_json::{Map, Value};

use super::super::json;
use super::byte_level::{self, Special};
use super::settings::TokenizerSettings;
use super::{overrides, pieces, wordpiece};
use crate::keys::not_understood;

const FILE: &str = "tokenizer.json";

/// The contents of the files from which tokenizers are made.
#[derive(Debug)]
pub(super) struct TokenizerFiles {
    /// The main file, for messages.
    pub(super) path: PathBuf,
    /// One `tokenizer.json` for both sides, or one for the source and one for the target.
    pub(super) sides: Vec<Value>,
    /// The number of tokens in the vocabulary, if there are tokens beyond it.
    pub(super) known: Option<usize>,
}

impl TokenizerFiles {
    pub(super) fn one(path: PathBuf, side: Value) -> Self {
        Self { path, sides: vec![side], known: None }
    }

    /// Reads the tokenizer files in `dir` of a model of the kind `kind` (`model_type`) with `vocab` tokens,
    /// changed as `settings` say.
    pub(super) fn read(dir: &Path, kind: &str, vocab: usize, settings: &TokenizerSettings) -> Result<Self> {
        let mut files = Self::stored(dir, kind, vocab, settings)?;
        for side in &mut files.sides {
            overrides::apply(side, settings, |problem| not_understood(&files.path, problem))?;
        }
        Ok(files)
    }

    fn stored(dir: &Path, kind: &str, vocab: usize, settings: &TokenizerSettings) -> Result<Self> {
        let present = |names: &[&str]| names.iter().all(|name| dir.join(name).exists());
        let at = |name: &str| dir.join(name);
        if present(&[FILE]) {
            let side: Map<String, Value> = json(&at(FILE))?;
            return Ok(Self::one(at(FILE), side.into()));
        }
        if present(&["vocab.txt"]) {
            let side = wordpiece::read(&at("vocab.txt"), settings)?;
            return Ok(Self::one(at("vocab.txt"), side));
        }
        let pairs = ["vocab.json", "merges.txt"];
        if present(&pairs) {
            let special = match kind {
                "bart" | "roberta" => Special::Around,
                _ => Special::EndOfText,
            };
            let [vocab, merges] = pairs.map(at);
            let side = byte_level::read(&vocab, &merges, special, settings)?;
            return Ok(Self::one(vocab, side));
        }
        if let Some(files) = pieces::read(dir, kind, vocab, settings)? {
            return Ok(files);
        }
        Err(not_understood(
            dir,
            format!("it has no `{FILE}`, and no other files of a tokenizer that can be read"),
        ))
    }
}
