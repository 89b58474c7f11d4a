//! `tokenizer.json`, for a model with a given number of tokens.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::generation::Generation;
use crate::batch::TokenId;
use crate::config::{SpecialNames, TokenizerConfig, TokenizerKind};
use crate::error::{Error, Result};
use crate::interop::keys::not_understood;
use crate::text::{Tokenizer, Tokenizers};

const FILE: &str = "tokenizer.json";

/// The tokenizer of a model.
#[derive(Debug)]
pub(super) struct Read {
    path: PathBuf,
    pub(super) config: TokenizerConfig,
    pub(super) tokenizers: Tokenizers,
    /// What it puts before a text.
    pub(super) source_first: Option<String>,
}

impl Read {
    /// The token with this id.
    pub(super) fn token(&self, id: TokenId) -> Result<String> {
        let token = self.tokenizers.tgt().token(id);
        token.ok_or_else(|| not_understood(&self.path, format!("there is no token {id}")))
    }
}

/// Reads the tokenizer in `dir`, and completes its vocabulary to `vocab` tokens.
pub(super) fn read(dir: &Path, vocab: usize, generation: &Generation) -> Result<Read> {
    let path = dir.join(FILE);
    if !path.exists() {
        return Err(not_understood(dir, format!("it has no `{FILE}`")));
    }
    let text = fs::read(&path).map_err(Error::io("read", &path))?;
    let refuse = |problem: String| not_understood(&path, problem);
    let mut file: Value =
        serde_json::from_slice(&text).map_err(|error| refuse(format!("damaged: {error}")))?;
    let inner = tokenizers::Tokenizer::from_bytes(&text)
        .map_err(|error| refuse(format!("damaged: {error}")))?;
    let tokens: BTreeMap<TokenId, String> = inner
        .get_vocab(true)
        .into_iter()
        .map(|(token, id)| (id, token))
        .collect();
    let n_tokens = tokens
        .last_key_value()
        .map_or(0, |(&id, _)| id as usize + 1);
    if n_tokens > vocab || tokens.len() != n_tokens {
        return Err(refuse(format!(
            "it has {} tokens with ids up to {n_tokens}, but the model has {vocab}",
            tokens.len()
        )));
    }
    complete(&mut file, n_tokens..vocab);
    let frame = frame(&file).map_err(refuse)?;
    let token = |id: Option<TokenId>| id.and_then(|id| tokens.get(&id)).cloned();
    let eos = token(generation.eos).or(frame.last.clone());
    let eos = eos.ok_or_else(|| refuse("no token ends a text (`eos_token_id`)".into()))?;
    if frame.last.as_ref().is_some_and(|last| *last != eos) {
        return Err(refuse(format!(
            "it ends texts with `{}`, but the model with `{eos}`",
            frame.last.unwrap_or_default()
        )));
    }
    let mask = tokens
        .values()
        .find(|token| ["[MASK]", "<mask>"].contains(&token.as_str()));
    let special = SpecialNames {
        pad: token(generation.pad).unwrap_or_else(|| eos.clone()),
        unk: unknown(&file, &tokens).unwrap_or_else(|| eos.clone()),
        bos: token(generation.bos).unwrap_or_else(|| eos.clone()),
        mask: mask
            .cloned()
            .unwrap_or_else(|| SpecialNames::default().mask),
        eos,
    };
    let kind = match file["model"]["type"].as_str() {
        Some("Unigram") => TokenizerKind::Unigram,
        Some("WordLevel") => TokenizerKind::Word,
        _ => TokenizerKind::Bpe,
    };
    let text = serde_json::to_vec(&file).map_err(|error| refuse(error.to_string()))?;
    let tokenizer = Tokenizer::from_json(text, &special).map_err(refuse)?;
    Ok(Read {
        config: TokenizerConfig {
            kind,
            vocab_size: vocab,
            special,
            ..TokenizerConfig::default()
        },
        tokenizers: Tokenizers::Shared(tokenizer),
        source_first: frame.first,
        path: path.clone(),
    })
}

/// Adds tokens that no text contains, for the rows of the model's tables without a token.
fn complete(file: &mut Value, missing: std::ops::Range<usize>) {
    if missing.is_empty() {
        return;
    }
    if !file["added_tokens"].is_array() {
        file["added_tokens"] = json!([]);
    }
    let Some(added) = file["added_tokens"].as_array_mut() else {
        return;
    };
    for id in missing {
        added.push(json!({
            "id": id, "content": format!("<unused-{id}>"), "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }));
    }
}

/// The tokens around a text.
#[derive(Debug, Default, PartialEq)]
struct Frame {
    first: Option<String>,
    last: Option<String>,
}

/// What the post-processor of the tokenizer `file` puts around a single text.
fn frame(file: &Value) -> Result<Frame, String> {
    let processor = &file["post_processor"];
    let token = |value: &Value| value[0].as_str().map(str::to_owned);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    match processor["type"].as_str() {
        None | Some("ByteLevel") => {}
        Some("BertProcessing" | "RobertaProcessing") => {
            before.extend(token(&processor["cls"]));
            after.extend(token(&processor["sep"]));
        }
        Some("TemplateProcessing") => {
            let mut is_after = false;
            for piece in processor["single"].as_array().into_iter().flatten() {
                match piece["SpecialToken"]["id"].as_str() {
                    None => is_after = true,
                    Some(token) if is_after => after.push(token.to_owned()),
                    Some(token) => before.push(token.to_owned()),
                }
            }
        }
        Some(other) => return Err(format!("the post-processor `{other}` is not supported")),
    }
    if before.len() > 1 || after.len() > 1 {
        return Err("it puts more than one token before or after a text".into());
    }
    Ok(Frame {
        first: before.pop(),
        last: after.pop(),
    })
}

/// The token for unknown text.
fn unknown(file: &Value, tokens: &BTreeMap<TokenId, String>) -> Option<String> {
    let model = &file["model"];
    let named = model["unk_token"].as_str().map(str::to_owned);
    let numbered = model["unk_id"].as_u64();
    named.or_else(|| tokens.get(&(numbered? as TokenId)).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_from_post_processors() {
        let special = |token: &str| json!({"SpecialToken": {"id": token, "type_id": 0}});
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let of = |single: Value| {
            frame(&json!({"post_processor": {"type": "TemplateProcessing", "single": single}}))
        };
        let both = of(json!([special("[CLS]"), text, special("[SEP]")])).unwrap();
        assert_eq!(
            (both.first.as_deref(), both.last.as_deref()),
            (Some("[CLS]"), Some("[SEP]"))
        );
        assert_eq!(of(json!([text])).unwrap(), Frame::default());
        assert!(of(json!([special("a"), special("b"), text])).is_err());
        assert_eq!(
            frame(&json!({"post_processor": null})).unwrap(),
            Frame::default()
        );
        assert!(frame(&json!({"post_processor": {"type": "Other"}})).is_err());
    }
}
