//! The tokenizer of a model with a given number of tokens: `tokenizer.json`, or files of SentencePiece.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::generation::Generation;
use crate::batch::TokenId;
use crate::config::{SpecialNames, TokenizerConfig, TokenizerKind};
use crate::error::{Error, Result};
use crate::interop::keys::not_understood;
use crate::interop::sentencepiece::SentencePiece;
use crate::text::{Tokenizer, Tokenizers};

const FILE: &str = "tokenizer.json";
const MARIAN: [&str; 2] = ["source.spm", "target.spm"];
/// Models of SentencePiece whose ids are those of the model, and what comes before and after a text: T5, and Llama.
const PIECES: [(&str, Option<&str>, Option<&str>); 2] = [
    ("spiece.model", None, Some("</s>")),
    ("tokenizer.model", Some("<s>"), None),
];

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
    let Files {
        path,
        mut sides,
        known,
    } = files(dir)?;
    let refuse = |problem: String| not_understood(&path, problem);
    let tokens = tokens(&sides[0], known).map_err(refuse)?;
    let n_tokens = tokens
        .last_key_value()
        .map_or(0, |(&id, _)| id as usize + 1);
    if n_tokens > vocab || tokens.len() != n_tokens || known.is_some_and(|known| known != vocab) {
        return Err(refuse(format!(
            "it has {} tokens with ids below {n_tokens}, but the model has {vocab}",
            tokens.len()
        )));
    }
    for side in &mut sides {
        complete(side, n_tokens..vocab);
    }
    let frame = frame(&sides[0]).map_err(refuse)?;
    let special = special(&sides[0], &tokens, &frame, generation).map_err(refuse)?;
    let special = SpecialNames {
        unknown_from: known.unwrap_or(0),
        ..special
    };
    let kind = match sides[0]["model"]["type"].as_str() {
        Some("Unigram") => TokenizerKind::Unigram,
        Some("WordLevel") => TokenizerKind::Word,
        _ => TokenizerKind::Bpe,
    };
    let load = |side: &Value| Tokenizer::from_json(side.to_string().into_bytes(), &special);
    let tokenizers = match &sides[..] {
        [src, tgt] => Tokenizers::Separate {
            src: load(src).map_err(refuse)?,
            tgt: load(tgt).map_err(refuse)?,
        },
        both => Tokenizers::Shared(load(&both[0]).map_err(refuse)?),
    };
    Ok(Read {
        config: TokenizerConfig {
            kind,
            vocab_size: vocab,
            special,
            ..TokenizerConfig::default()
        },
        tokenizers,
        source_first: frame.first,
        path: path.clone(),
    })
}

/// What tokenizers are made from.
struct Files {
    /// For messages.
    path: PathBuf,
    /// One `tokenizer.json` for both sides, or those of source and target.
    sides: Vec<Value>,
    /// The number of tokens in the vocabulary, if there are others beyond it.
    known: Option<usize>,
}

fn files(dir: &Path) -> Result<Files> {
    let path = dir.join(FILE);
    if path.exists() {
        let text = fs::read(&path).map_err(Error::io("read", &path))?;
        let side = serde_json::from_slice(&text);
        let side = side.map_err(|error| not_understood(&path, format!("damaged: {error}")))?;
        return Ok(Files {
            path,
            sides: vec![side],
            known: None,
        });
    }
    let [source, target] = MARIAN.map(|name| dir.join(name));
    if source.exists() && target.exists() {
        return marian(dir, [&source, &target]);
    }
    for (name, before, after) in PIECES {
        let path = dir.join(name);
        if path.exists() {
            let mut side = SentencePiece::read(&path)?.tokenizer();
            side["post_processor"] = template(before, after);
            return Ok(Files {
                path,
                sides: vec![side],
                known: None,
            });
        }
    }
    Err(not_understood(
        dir,
        format!("it has no `{FILE}`, and no file of SentencePiece that can be read"),
    ))
}

/// MarianMT: two models of SentencePiece, whose pieces are looked up as strings.
fn marian(dir: &Path, sides: [&Path; 2]) -> Result<Files> {
    let path = dir.join("vocab.json");
    let text = fs::read(&path).map_err(Error::io("read", &path))?;
    let ids: HashMap<String, TokenId> = serde_json::from_slice(&text)
        .map_err(|error| not_understood(&path, format!("damaged: {error}")))?;
    let sides = sides.map(|side| {
        let made = SentencePiece::read(side)?.tokenizer_with(&ids);
        made.map_err(|problem| not_understood(&path, problem))
    });
    let mut made = Vec::new();
    for side in sides {
        let mut side = side?;
        side["post_processor"] = template(None, Some("</s>"));
        made.push(side);
    }
    Ok(Files {
        path,
        sides: made,
        known: Some(ids.len()),
    })
}

/// A post-processor that puts these tokens before and after a text.
fn template(before: Option<&str>, after: Option<&str>) -> Value {
    let special = |token: &str| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let pieces: Vec<Value> = before
        .map(special)
        .into_iter()
        .chain([json!({"Sequence": {"id": "A", "type_id": 0}})])
        .chain(after.map(special))
        .collect();
    let tokens: serde_json::Map<String, Value> = before
        .into_iter()
        .chain(after)
        .map(|token| {
            (
                token.to_owned(),
                json!({"id": token, "ids": [0], "tokens": [token]}),
            )
        })
        .collect();
    json!({"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": tokens})
}

/// The tokens of the vocabulary of `file`, the first `known` if there are others.
fn tokens(file: &Value, known: Option<usize>) -> Result<BTreeMap<TokenId, String>, String> {
    let inner = tokenizers::Tokenizer::from_bytes(file.to_string());
    let inner = inner.map_err(|error| format!("damaged: {error}"))?;
    let is_known = |id: TokenId| known.is_none_or(|known| (id as usize) < known);
    Ok(inner
        .get_vocab(true)
        .into_iter()
        .map(|(token, id)| (id, token))
        .filter(|(id, _)| is_known(*id))
        .collect())
}

fn special(
    file: &Value,
    tokens: &BTreeMap<TokenId, String>,
    frame: &Frame,
    generation: &Generation,
) -> Result<SpecialNames, String> {
    let token = |id: Option<TokenId>| id.and_then(|id| tokens.get(&id)).cloned();
    let eos = token(generation.eos).or(frame.last.clone());
    let eos = eos.ok_or("no token ends a text (`eos_token_id`)")?;
    if let Some(last) = frame.last.as_ref().filter(|last| **last != eos) {
        return Err(format!(
            "it ends texts with `{last}`, but the model with `{eos}`"
        ));
    }
    let mask = tokens
        .values()
        .find(|token| ["[MASK]", "<mask>"].contains(&token.as_str()));
    Ok(SpecialNames {
        pad: token(generation.pad).unwrap_or_else(|| eos.clone()),
        unk: unknown(file, tokens).unwrap_or_else(|| eos.clone()),
        bos: token(generation.bos).unwrap_or_else(|| eos.clone()),
        mask: mask
            .cloned()
            .unwrap_or_else(|| SpecialNames::default().mask),
        eos,
        unknown_from: 0,
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
