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
            Tokenizers::Shared(both) => vec![Self::new(both, Some(contract.start))],
            Tokenizers::Separate { src, tgt } => {
                vec![Self::new(src, None), Self::new(tgt, Some(contract.start))]
            }
        }
    }

    /// The vocabulary of a side, of which the decoder first reads `start`, if it reads this side.
    fn new(tokenizer: &'a Tokenizer, start: Option<TokenId>) -> Self {
        let special = tokenizer.special();
        let ours = [special.pad, special.bos].into_iter().chain(start).collect::<Vec<TokenId>>();
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

#[cfg(test)]
mod tests {
    use attentive_samples::Sample;

    use super::*;

    /// The start token is one of the target: at its place in the source's vocabulary is an ordinary one.
    #[test]
    fn only_the_vocabulary_of_the_target_lacks_the_start_token() {
        let both = Sample::of(attentive_config::Family::Transformer).tokenizers.tgt().clone();
        let n = both.vocab_size();
        let contract = TokenContract {
            start: n as TokenId - 1,
            end: both.special().eos,
            pad: both.special().pad,
            never: Vec::new(),
            forced_first: None,
            forced_last: None,
        };
        let separate = Tokenizers::Separate { src: both.clone(), tgt: both.clone() };
        let sizes = |tokenizers: &Tokenizers| -> Vec<usize> {
            ExportedVocabulary::all(tokenizers, &contract).iter().map(|side| side.n_tokens).collect()
        };
        assert_eq!(sizes(&separate), [n, n - 1]);
        assert_eq!(sizes(&Tokenizers::Shared(both)), [n - 1]);
    }
}
