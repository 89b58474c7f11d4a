//! The steps from a text to tokens, and back.

use std::collections::HashMap;

use attentive_base::batch::TokenId;
use tokenizers::{
    AddedToken, Encoding, Model, Normalizer, OffsetType, PostProcessor, PostProcessorWrapper,
    PreTokenizedString, PreTokenizer,
};

use super::added::Added;
use crate::decoder::DecoderSteps;
use crate::normalizer::NormalizerSteps;
use crate::pre_tokenizer::PreTokenizerSteps;
use crate::tokenizer_model::TokenizerModel;

/// The sections of a tokenizer file, ready for use. The library has such a type too, but it ignores errors of
/// normalizers, and takes minutes for many added tokens.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub(super) model: TokenizerModel,
    pub(super) normalizer: Option<NormalizerSteps>,
    pub(super) pre_tokenizer: Option<PreTokenizerSteps>,
    /// Those that correct the places of tokens.
    pub(super) post_processors: Vec<PostProcessorWrapper>,
    pub(super) decoder: Option<DecoderSteps>,
    pub(super) added: Added,
}

impl Inner {
    /// The tokens of `text`, without special tokens around it, with their places or with no more than their
    /// ids.
    pub(super) fn encode(&self, text: &str, places: OffsetType) -> tokenizers::Result<Encoding> {
        let mut parts = PreTokenizedString::from(text);
        parts.split(|_, part| self.added.divide(part))?;
        parts.split(|_, mut part| {
            if let Some(normalizer) = &self.normalizer {
                normalizer.normalize(&mut part)?;
            }
            self.added.divide_normalized(part)
        })?;
        if let Some(pre_tokenizer) = &self.pre_tokenizer {
            pre_tokenizer.pre_tokenize(&mut parts)?;
        }
        parts.tokenize(|part| self.model.tokenize(part.get()))?;
        let encoding = parts.into_encoding(None, 0, places)?;
        let correct = |encoding, step: &PostProcessorWrapper| step.process(encoding, None, false);
        self.post_processors.iter().try_fold(encoding, correct)
    }

    /// The id of a token.
    pub(super) fn id(&self, token: &str) -> Option<TokenId> {
        let added = self.added.ids().get(token).copied();
        added.or_else(|| self.model.token_to_id(token))
    }

    /// The token with this id.
    pub(super) fn token(&self, id: TokenId) -> Option<String> {
        let added = self.added.token(id).map(|token: &AddedToken| token.content.clone());
        added.or_else(|| self.model.id_to_token(id))
    }

    /// All tokens with their ids.
    pub(super) fn vocabulary(&self) -> HashMap<String, TokenId> {
        let mut vocabulary = self.model.get_vocab();
        vocabulary.extend(self.added.ids().iter().map(|(token, &id)| (token.clone(), id)));
        vocabulary
    }
}
