//! Determines the special tokens of a vocabulary.

use std::collections::BTreeMap;

use attentive_base::batch::TokenId;
use attentive_config::SpecialNames;
use serde_json::Value;

use super::settings::TokenizerSettings;
use super::surrounding_tokens::SurroundingTokens;
use crate::hf::generation::HfGenerationConfig;

/// Mask tokens of tokenizers whose settings name none.
const MASKS: [&str; 2] = ["[MASK]", "<mask>"];

/// Returns the special tokens among `tokens` of the tokenizer `file`. Tokens that the model does not name are
/// taken from the surrounding tokens, whose first token begins a text and whose last token ends it.
pub(super) fn names(
    file: &Value,
    tokens: &BTreeMap<TokenId, String>,
    surrounding: &SurroundingTokens,
    generation: &HfGenerationConfig,
    settings: &TokenizerSettings,
) -> Result<SpecialNames, String> {
    let token = |id: Option<TokenId>| id.and_then(|id| tokens.get(&id)).cloned();
    let id = |token: Option<&String>| {
        let found = tokens.iter().find(|(_, name)| Some(*name) == token);
        found.map(|(&id, _)| id)
    };
    let named = |key: &str| settings.token(key).filter(|name| id(Some(name)).is_some());
    let eos = token(generation.eos(id(surrounding.last.as_ref()))).or_else(|| surrounding.last.clone());
    let eos = eos.ok_or("no token ends a text (`eos_token_id`)")?;
    if let Some(last) = surrounding.last.as_ref().filter(|last| **last != eos) {
        return Err(format!("it ends texts with `{last}`, but the model with `{eos}`"));
    }
    let mask = tokens.values().find(|token| MASKS.contains(&token.as_str()));
    Ok(SpecialNames {
        pad: token(generation.pad).or_else(|| named("pad_token")).unwrap_or_else(|| eos.clone()),
        unk: unknown(file, tokens).unwrap_or_else(|| eos.clone()),
        bos: token(generation.bos).or_else(|| surrounding.first.clone()).unwrap_or_else(|| eos.clone()),
        mask: named("mask_token").or_else(|| mask.cloned()).unwrap_or_else(|| SpecialNames::default().mask),
        eos,
        unknown_from: 0,
    })
}

/// The token for unknown text.
fn unknown(file: &Value, tokens: &BTreeMap<TokenId, String>) -> Option<String> {
    let model = &file["model"];
    let named = model["unk_token"].as_str().map(str::to_owned);
    let numbered = model["unk_id"].as_u64();
    named.or_else(|| tokens.get(&(numbered? as TokenId)).cloned())
}
