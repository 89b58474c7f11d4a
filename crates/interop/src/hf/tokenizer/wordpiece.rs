//! WordPiece (Wu et al. 2016), as in BERT: a list of tokens, `vocab.txt`.

use std::path::Path;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_base::regular_file;
use serde_json::{Map, Value, json};

use super::added;
use super::settings::{MPNET, TokenizerSettings};
use super::surrounding_tokens::SurroundingTokens;
use crate::keys::not_understood;

/// The prefix of a token that continues a word.
const CONTINUES: &str = "##";
/// The maximum length of a known word.
const LONGEST_WORD: usize = 100;
/// Classes of tokenizers that divide texts in this way.
pub(super) const CLASSES: [&str; 4] = ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", MPNET];

/// Reads the tokenizer whose tokens are the lines of the file `path`.
pub(super) fn read(path: &Path, settings: &TokenizerSettings) -> Result<Value> {
    settings.only("do_basic_tokenize", true)?;
    let refuse = |problem: String| not_understood(path, problem);
    let class = settings.class();
    if !CLASSES.contains(&class) {
        return Err(refuse(format!("`{class}` is not supported")));
    }
    let text = regular_file::read_text(path, regular_file::DESCRIPTION)?;
    let mut vocab = Map::new();
    for (token, id) in text.lines().zip(0..) {
        let earlier = vocab.insert(token.to_owned(), Value::from(id));
        // The last of several equal lines is used.
        vocab.extend(earlier.map(|id| (super::unused(&id), id)));
    }
    let special = |key: &str, default: &str| settings.token(key).unwrap_or(default.into());
    let unk = special("unk_token", "[UNK]");
    let [first, last, mask, pad] = match class {
        MPNET => ["<s>", "</s>", "<mask>", "<pad>"],
        _ => ["[CLS]", "[SEP]", "[MASK]", "[PAD]"],
    };
    let (first, last) = (special("cls_token", first), special("sep_token", last));
    let surrounding = SurroundingTokens::new(Some(&first), Some(&last));
    let (mask, pad) = (special("mask_token", mask), special("pad_token", pad));
    let id_of = |token: &str| Some(vocab.get(token)?.as_u64()? as TokenId);
    let mut file = json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": true,
            "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": CONTINUES, "cleanup": true},
        "model": {
            "type": "WordPiece",
            "unk_token": unk,
            "continuing_subword_prefix": CONTINUES,
            "max_input_chars_per_word": LONGEST_WORD,
            "vocab": vocab,
        },
    });
    added::mark(&mut file, [&pad, &unk, &first, &last, &mask], id_of).map_err(refuse)?;
    if class == MPNET {
        added::take_blanks_before(&mut file, &mask);
    }
    surrounding.write(&mut file, id_of).map_err(refuse)?;
    Ok(file)
}
