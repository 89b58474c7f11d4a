//! Generates the `tokenizer.json` for a configuration.

use attentive_base::ignorable;
use attentive_config::{Normalization, TokenizerConfig, TokenizerKind};
use serde_json::{Value, json};

use super::boundaries::Boundaries;
use super::special::UNK;

/// The learned part of a tokenizer.
pub(super) enum LearnedModel {
    /// Tokens in the order of their ids, and the merges in order of priority.
    Bpe { tokens: Vec<String>, merges: Vec<(String, String)> },
    /// Tokens in the order of their ids, with their log-probabilities.
    Unigram { tokens: Vec<(String, f64)> },
    /// Words in the order of their ids.
    Word { tokens: Vec<String> },
    /// Characters in the order of their ids.
    Char { tokens: Vec<String> },
}

/// The complete document. `first` are the tokens with which the vocabulary begins: special ones, then the
/// symbols of the configuration.
pub(super) fn document(config: &TokenizerConfig, first: &[&str], model: &LearnedModel) -> Value {
    let special = &first[..first.len() - config.symbols.len()];
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added_tokens(first, special.len()),
        "normalizer": {"type": "Sequence", "normalizers": normalizers(config)},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre_tokenizers(config.kind, config.into(), special)},
        "post_processor": null,
        "decoder": decoder(config.kind),
        "model": model_section(model, special[UNK as usize]),
    })
}

/// The first tokens, of which so many are special. The others take the blanks after them.
fn added_tokens(first: &[&str], special: usize) -> Value {
    let token = |(id, content): (usize, &&str)| {
        json!({
            "id": id,
            "content": content,
            "single_word": false,
            "lstrip": false,
            "rstrip": id >= special,
            "normalized": false,
            "special": id < special,
        })
    };
    first.iter().enumerate().map(token).collect()
}

pub(super) fn normalizers(config: &TokenizerConfig) -> Vec<Value> {
    let mut steps = Vec::new();
    if config.normalization != Normalization::None {
        steps.push(ignorable_normalizer());
    }
    match config.normalization {
        Normalization::None => {}
        Normalization::Nfc => steps.push(json!({"type": "NFC"})),
        Normalization::Nfkc => steps.push(json!({"type": "NFKC"})),
    }
    if config.lowercase {
        steps.push(json!({"type": "Lowercase"}));
    }
    if let TokenizerKind::Bpe | TokenizerKind::Unigram = config.kind {
        steps.extend(space_normalizers());
    }
    steps
}

/// Characters that mean nothing where they stand are removed.
pub(super) fn ignorable_normalizer() -> Value {
    json!({"type": "Replace", "pattern": {"Regex": ignorable::pattern()}, "content": ""})
}

/// Spaces become word marks, so all other white space is first replaced by a single space.
pub(super) fn space_normalizers() -> [Value; 2] {
    let pattern = json!({"Regex": r"\s{2,}|[^\S ]"});
    [
        json!({"type": "Replace", "pattern": pattern, "content": " "}),
        json!({"type": "Strip", "strip_left": true, "strip_right": true}),
    ]
}

/// The pre-tokenizer steps that divide texts into words, without `special` tokens in them, and for subwords
/// divide words at `boundaries`.
pub(super) fn pre_tokenizers(kind: TokenizerKind, boundaries: Boundaries, special: &[&str]) -> Vec<Value> {
    match kind {
        TokenizerKind::Bpe | TokenizerKind::Unigram => {
            let mut steps = vec![metaspace(), special_text_splitter(special)];
            steps.extend(boundaries.pre_tokenizers());
            steps
        }
        TokenizerKind::Word => vec![json!({"type": "WhitespaceSplit"}), special_text_splitter(special)],
        // No special token is a single character, so no splitting is needed.
        TokenizerKind::Char => vec![],
    }
}

fn metaspace() -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})
}

/// Splits special tokens that occur in the text before their last character, so that no model can mistake
/// them for the real ones.
fn special_text_splitter(special: &[&str]) -> Value {
    let beginnings: Vec<&str> = special.iter().map(|token| &token[..token.len() - 1]).collect();
    json!({
        "type": "Split",
        "pattern": {"Regex": beginnings.join("|")},
        "behavior": "MergedWithPrevious",
        "invert": false,
    })
}

fn decoder(kind: TokenizerKind) -> Value {
    match kind {
        TokenizerKind::Bpe | TokenizerKind::Unigram => metaspace(),
        TokenizerKind::Word => Value::Null,
        TokenizerKind::Char => json!({"type": "Fuse"}),
    }
}

fn model_section(model: &LearnedModel, unk: &str) -> Value {
    match model {
        // A sequence of unknown characters is one `<unk>`.
        LearnedModel::Bpe { tokens, merges } => bpe_section(tokens, merges, unk, true),
        // BPE without merges yields characters, and one `<unk>` per unknown character.
        LearnedModel::Char { tokens } => bpe_section(tokens, &[], unk, false),
        LearnedModel::Unigram { tokens } => json!({
            "type": "Unigram",
            "unk_id": UNK,
            "vocab": tokens,
            "byte_fallback": false,
        }),
        LearnedModel::Word { tokens } => {
            json!({"type": "WordLevel", "vocab": ids(tokens), "unk_token": unk})
        }
    }
}

fn bpe_section(tokens: &[String], merges: &[(String, String)], unk: &str, fuse_unk: bool) -> Value {
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": unk,
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": fuse_unk,
        "byte_fallback": false,
        "ignore_merges": false,
        "vocab": ids(tokens),
        "merges": merges,
    })
}

fn ids(tokens: &[String]) -> Value {
    tokens.iter().enumerate().map(|(id, token)| (token.clone(), Value::from(id))).collect()
}
