//! The vocabularies of an exported model.

use std::ops::Range;

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_config::SpecialNames;
use attentive_text::{Tokenizer, Tokenizers};
use serde_json::Value;

use super::super::vocab::N_CONTROL;
use crate::sentencepiece::SentencePiece;

/// The vocabulary of a side, or of both.
#[derive(Debug)]
pub(super) struct ExportedVocabulary<'a> {
    pub(super) tokenizer: &'a Tokenizer,
    /// The number of tokens without those at the end that only we need.
    pub(super) n_tokens: usize,
    /// The model of SentencePiece; without one, the reason.
    pub(super) pieces: Result<SentencePiece, String>,
}

impl<'a> ExportedVocabulary<'a> {
    /// The vocabularies of the source and the target, or one for both.
    pub(super) fn all(tokenizers: &'a Tokenizers, contract: &TokenContract) -> Vec<Self> {
        match tokenizers {
            Tokenizers::Shared(both) => vec![Self::new(both, contract)],
            Tokenizers::Separate { src, tgt } => vec![Self::new(src, contract), Self::new(tgt, contract)],
        }
    }

    fn new(tokenizer: &'a Tokenizer, contract: &TokenContract) -> Self {
        let special = tokenizer.special();
        let ours = [special.pad, special.bos, contract.start];
        let theirs = [special.eos, special.unk];
        let is_ours = |id: TokenId| ours.contains(&id) && !theirs.contains(&id);
        let all: Range<TokenId> = 0..tokenizer.vocab_size() as TokenId;
        let n_ours = all.rev().take_while(|&id| is_ours(id)).count();
        let n_tokens = tokenizer.vocab_size() - n_ours;
        let pieces = SentencePiece::of(tokenizer, n_tokens);
        Self { tokenizer, n_tokens, pieces }
    }

    /// Returns the tokens with their ids, in YAML.
    pub(super) fn yaml(&self) -> String {
        let line = |id: TokenId| {
            let token = self.tokenizer.token(id).unwrap_or_default();
            // A JSON string is also a YAML string.
            format!("{}: {id}\n", Value::from(token))
        };
        (0..self.n_tokens as TokenId).map(line).collect()
    }

    /// Returns the number of `lines` that SentencePiece divides in another way.
    ///
    /// # Errors
    /// [`Error::Data`] for a line that cannot be divided.
    pub(super) fn n_divided_differently(&self, lines: &[String]) -> Result<usize> {
        let Ok(pieces) = &self.pieces else { return Ok(0) };
        let special = self.tokenizer.special();
        let name = |id: TokenId| self.tokenizer.token(id).unwrap_or_default();
        let [eos, unk] = [special.eos, special.unk].map(name);
        let special =
            SpecialNames { pad: eos.clone(), bos: eos.clone(), eos, unk, ..SpecialNames::default() };
        let own = Tokenizer::from_json(pieces.tokenizer().to_string().into_bytes(), &special);
        let own = own.map_err(|problem| Error::Data { problem, hint: None })?;
        let mut n = 0;
        for line in lines {
            n += usize::from(own.encode(line)? != self.tokenizer.encode(line)?);
        }
        Ok(n)
    }
}

/// Returns the tokens of the target that Marian itself never generates, unless its options allow them:
/// unknown text and the bytes of control characters.
pub(super) fn suppressed_there(tokenizer: &Tokenizer) -> Vec<TokenId> {
    let control = (0..N_CONTROL).filter_map(|byte| tokenizer.id(&format!("<0x{byte:02X}>")));
    [tokenizer.special().unk].into_iter().chain(control).collect()
}
