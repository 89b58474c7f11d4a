//! The special tokens that a model's configuration names, as ids.

use std::collections::HashSet;

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_config::{FamilyConfig, ModelConfig, Units};

use super::special::SpecialTokens;
use super::{Tokenizer, Tokenizers};

/// The special tokens around the sequences of a model's two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// The special tokens of the encoder's input.
    pub src: SpecialTokens,
    /// The special tokens of the decoder's input and of what is predicted.
    pub tgt: SpecialTokens,
}

impl From<SpecialTokens> for Sides {
    /// Both sides with the same tokens.
    fn from(special: SpecialTokens) -> Self {
        Self { src: special, tgt: special }
    }
}

impl Tokenizers {
    /// Returns the special tokens of both sides.
    pub fn sides(&self) -> Sides {
        Sides { src: self.src().special(), tgt: self.tgt().special() }
    }

    /// Applies the settings of `model`: the decoder starts with `model.decoder_start_token`;
    /// `model.source_first` and `model.source_last` are added around the encoder's input; translations begin
    /// with `model.forced_bos_token`; and a tagger reads subwords if `model.word_pieces` is set.
    ///
    /// # Errors
    /// [`Error::Config`] for a token of `model` that the vocabulary does not have, and if
    /// `model.suppress_tokens` leaves no ordinary token.
    pub fn for_model(mut self, model: &ModelConfig) -> Result<Self> {
        let TokenContract { start, forced_first, .. } = self.contract(model)?;
        self.ends(model)?;
        let around = |key, token: &Option<String>| {
            let token = token.as_deref();
            token.map(|token| id_of(key, token, self.src())).transpose()
        };
        let frame = match model.family.encoder() {
            Some(encoder) => [
                around("model.source_first", &encoder.source_first)?,
                around("model.source_last", &encoder.source_last)?,
            ],
            None => [None; 2],
        };
        match &mut self {
            Self::Shared(both) => {
                both.start_with(start);
                both.frame_with(frame);
                both.force(forced_first);
            }
            Self::Separate { src, tgt } => {
                tgt.start_with(start);
                tgt.force(forced_first);
                src.frame_with(frame);
                if let FamilyConfig::Tagger { word_pieces, .. } = model.family {
                    src.read_in_pieces(word_pieces);
                }
            }
        }
        Ok(self)
    }

    /// Returns the special tokens that a search needs.
    ///
    /// # Errors
    /// The errors of [`Tokenizers::for_model`].
    pub fn contract(&self, model: &ModelConfig) -> Result<TokenContract> {
        let (src, tgt) = (self.src().special(), self.tgt());
        let special = tgt.special();
        let id = |key, token: Option<&String>| -> Result<Option<TokenId>> {
            token.map(|token| id_of(key, token, tgt)).transpose()
        };
        let (decoder, translator) = (model.family.decoder(), model.family.translator());
        let never = match decoder.and_then(|keys| keys.suppress_tokens.as_ref()) {
            None => vec![special.pad, special.bos],
            Some(tokens) => suppress_tokens(tokens, tgt)?,
        };
        let start = decoder.and_then(|keys| keys.decoder_start_token.as_ref());
        let first = translator.and_then(|keys| keys.forced_bos_token.as_ref());
        let last = translator.and_then(|keys| keys.forced_eos_token.as_ref());
        Ok(TokenContract {
            start: id("model.decoder_start_token", start)?.unwrap_or(special.bos),
            end: special.eos,
            pad: src.pad,
            never,
            forced_first: id("model.forced_bos_token", first)?,
            forced_last: id("model.forced_eos_token", last)?,
        })
    }

    /// Returns the ids of the tokens that end a text of a language model.
    ///
    /// # Errors
    /// [`Error::Config`] for a token of `model` that the vocabulary does not have.
    pub fn ends(&self, model: &ModelConfig) -> Result<Vec<TokenId>> {
        let further = match &model.family {
            FamilyConfig::DecoderOnly { extra_eos_tokens: Some(tokens), .. } => &tokens[..],
            _ => &[],
        };
        let further = further.iter();
        let further = further.map(|token| id_of("model.extra_eos_tokens", token, self.tgt()));
        [Ok(self.tgt().special().eos)].into_iter().chain(further).collect()
    }
}

impl Tokenizers {
    /// Returns the tokens that a language model never generates. By default these are the special tokens,
    /// except `</s>` for a model of lines, which end with it.
    ///
    /// # Errors
    /// The errors of [`Tokenizers::for_model`].
    pub fn never_in_texts(&self, model: &ModelConfig, units: Units) -> Result<Vec<TokenId>> {
        let special = self.tgt().special();
        let ends = |id: TokenId| id == special.eos && units == Units::Lines;
        let decoder = model.family.decoder();
        if decoder.is_some_and(|keys| keys.suppress_tokens.is_some()) {
            Ok(self.contract(model)?.never)
        } else {
            Ok(special.ids().filter(|&id| !ends(id)).collect())
        }
    }
}

/// The ids of `tokens`, the value of `model.suppress_tokens`.
fn suppress_tokens(tokens: &[String], tokenizer: &Tokenizer) -> Result<Vec<TokenId>> {
    let key = "model.suppress_tokens";
    let never: Vec<TokenId> =
        tokens.iter().map(|token| id_of(key, token, tokenizer)).collect::<Result<_>>()?;
    let barred: HashSet<TokenId> = never.iter().copied().collect();
    let is_left = |id: TokenId| !barred.contains(&id) && !tokenizer.is_special(id);
    if barred.is_empty() || (0..tokenizer.vocab_size() as TokenId).any(is_left) {
        return Ok(never);
    }
    Err(Error::Config {
        key: key.to_owned(),
        expected: "a list that leaves at least one ordinary token".into(),
        found: "a list of all of them".into(),
        hint: Some("shorten the list".into()),
    })
}

/// The id of `token`, the value of `key`.
fn id_of(key: &str, token: &str, tokenizer: &Tokenizer) -> Result<TokenId> {
    tokenizer.id(token).ok_or_else(|| Error::Config {
        key: key.to_owned(),
        expected: "a token of the vocabulary".into(),
        found: format!("`{token}`"),
        hint: Some("tokens are written as in the file of the tokenizer, as in `</s>`".into()),
    })
}
