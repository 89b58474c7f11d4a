//! The `tokenizer.json` of a vocabulary that consists of pieces.

use std::collections::HashMap;

use attentive_text::SUMS;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::vocabulary_token::VocabularyToken;
use super::{Kind, Role, SentencePiece};

const WORD_MARK: char = '▁';

impl SentencePiece {
    pub(super) fn tokenizer_of(&self, tokens: Vec<VocabularyToken>) -> Value {
        let special: Vec<&str> = tokens
            .iter()
            .filter(|token| matches!(token.role, Role::Control | Role::Unknown))
            .map(|token| token.text.as_str())
            .collect();
        let added: Vec<Value> = (0..)
            .zip(&tokens)
            .filter(|(_, token)| matches!(token.role, Role::Control | Role::Unknown | Role::Language))
            .map(|(id, token)| {
                let is_special = matches!(token.role, Role::Control | Role::Unknown);
                added(id, &token.text, is_special)
            })
            .collect();
        let symbols = symbols(&tokens);
        let mut pre_tokenizers = Vec::new();
        // A unigram model divides whole texts, and finds no special tokens in them.
        if self.kind == Kind::Bpe {
            pre_tokenizers.extend(isolated(&symbols));
            pre_tokenizers.push(metaspace(&tokens));
            // Without symbols, no merges lead to a special token.
            if !symbols.is_empty() {
                pre_tokenizers.extend(splitter(&special, self.byte_fallback));
            }
        }
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": self.normalizers(&symbols)},
            "pre_tokenizer": match self.kind {
                Kind::Unigram => Value::Null,
                Kind::Bpe => json!({"type": "Sequence", "pretokenizers": pre_tokenizers}),
            },
            "post_processor": null,
            "decoder": self.decoder(),
            "model": match self.kind {
                Kind::Unigram => self.unigram(&tokens),
                Kind::Bpe => self.bpe(&tokens),
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
            // This applies to blanks only, since the map above turns other whitespace into blanks.
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
        let scheme = if self.add_dummy_prefix { "first" } else { "never" };
        let metaspace =
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true});
        let bytes = self.byte_fallback.then(|| json!({"type": "ByteFallback"}));
        // Other programs remove nothing.
        let leading = json!({"type": "Strip", "content": " ", "start": 0, "stop": 0, "leading": "all"});
        let leading = (self.add_dummy_prefix && self.remove_extra_whitespaces).then_some(leading);
        let steps: Vec<Value> = bytes.into_iter().chain([metaspace]).chain(leading).collect();
        json!({"type": "Sequence", "decoders": steps})
    }

    fn unigram(&self, tokens: &[VocabularyToken]) -> Value {
        let vocab: Vec<(&str, f64)> = tokens
            .iter()
            .map(|token| match token.role {
                Role::Symbol => (token.text.as_str(), f64::from(symbol_score(&token.text))),
                _ => (token.text.as_str(), f64::from(token.score)),
            })
            .collect();
        let is_matched = |token: &VocabularyToken| matches!(token.role, Role::Normal | Role::Symbol);
        let unmatched: Vec<usize> =
            (tokens.iter().enumerate()).filter(|(_, token)| !is_matched(token)).map(|(id, _)| id).collect();
        let unk = tokens.iter().position(|token| token.role == Role::Unknown);
        json!({
            "type": "Unigram", "unk_id": unk, "vocab": vocab, "byte_fallback": self.byte_fallback,
            "sums": SUMS, "unmatched": unmatched,
        })
    }

    fn bpe(&self, tokens: &[VocabularyToken]) -> Value {
        let vocab: serde_json::Map<String, Value> = tokens
            .iter()
            .zip(0..)
            .map(|(token, id): (&VocabularyToken, usize)| (token.text.clone(), id.into()))
            .collect();
        let unk = tokens.iter().find(|token| token.role == Role::Unknown);
        json!({
            "type": "BPE",
            "dropout": null,
            "unk_token": unk.map(|token| token.text.as_str()),
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": true,
            "byte_fallback": self.byte_fallback,
            // Symbols have no merges.
            "ignore_merges": tokens.iter().any(|token| token.role == Role::Symbol),
            "vocab": vocab,
            "merges": merges(tokens),
        })
    }
}

/// The score of a user-defined symbol in a unigram model, which exceeds that of any piece and increases with
/// the length in bytes.
fn symbol_score(text: &str) -> f32 {
    (0.1 * text.len().saturating_sub(1) as f64) as f32
}

/// Divides words before the search for pieces, unless a piece may contain a blank.
fn metaspace(tokens: &[VocabularyToken]) -> Value {
    let crosses = |token: &VocabularyToken| {
        matches!(token.role, Role::Normal | Role::Symbol)
            && token.text.chars().skip(1).any(|c| c == WORD_MARK)
    };
    let split = !tokens.iter().any(crosses);
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": split})
}

/// User-defined symbols, the longest first.
fn symbols(tokens: &[VocabularyToken]) -> Vec<&str> {
    let symbols = tokens.iter().filter(|token| token.role == Role::Symbol);
    let mut symbols: Vec<&str> = symbols.map(|token| token.text.as_str()).collect();
    symbols.sort_by_key(|text| std::cmp::Reverse(text.len()));
    symbols
}

/// Isolates each of `symbols`.
fn isolated(symbols: &[&str]) -> Option<Value> {
    let symbols: Vec<String> = symbols.iter().map(|text| regex::escape(text)).collect();
    (!symbols.is_empty()).then(|| {
        json!({
            "type": "Split", "pattern": {"Regex": symbols.join("|")}, "behavior": "Isolated", "invert": false,
        })
    })
}

/// All pairs of pieces that make up a piece, beginning with the pairs of the likeliest piece.
fn merges(tokens: &[VocabularyToken]) -> Vec<(&str, &str)> {
    let pieces: HashMap<&str, usize> = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| matches!(token.role, Role::Normal))
        .map(|(id, token)| (token.text.as_str(), id))
        .collect();
    let mut ranked: Vec<&VocabularyToken> =
        tokens.iter().filter(|token| token.role == Role::Normal).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut merges = Vec::new();
    for token in ranked {
        let cuts = token.text.char_indices().skip(1).map(|(at, _)| token.text.split_at(at));
        let mut pairs: Vec<(&str, &str)> =
            cuts.filter(|(left, right)| pieces.contains_key(left) && pieces.contains_key(right)).collect();
        pairs.sort_by_key(|(left, right)| (pieces[left], pieces[right]));
        merges.extend(pairs);
    }
    merges
}

/// An entry of the added tokens of a `tokenizer.json`.
pub(crate) fn added(id: usize, text: &str, special: bool) -> Value {
    json!({
        "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        "special": special,
    })
}

/// Divides special tokens in a text before their last character, so that no model mistakes them for real
/// special tokens.
pub(crate) fn splitter(special: &[&str], bytes: bool) -> Option<Value> {
    let beginning = |token: &&str| {
        let (last, _) = token.char_indices().next_back().filter(|&(last, _)| last > 0)?;
        let (beginning, last) = token.split_at(last);
        Some(format!("{}(?={})", regex::escape(beginning), regex::escape(last)))
    };
    let bytes = bytes.then(|| "<0x[0-9A-F][0-9A-F](?=>)".to_owned());
    let beginnings: Vec<String> = special.iter().filter_map(beginning).chain(bytes).collect();
    (!beginnings.is_empty()).then(|| {
        json!({
            "type": "Split", "pattern": {"Regex": beginnings.join("|")}, "behavior": "MergedWithPrevious", "invert": false,
        })
    })
}
