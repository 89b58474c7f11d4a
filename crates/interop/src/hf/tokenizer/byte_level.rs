//! Byte-level BPE, as in GPT-2 (Radford et al. 2019): `vocab.json` and `merges.txt`.

use std::path::Path;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_base::regular_file;
use serde_json::{Map, Value, json};

use super::added;
use super::settings::TokenizerSettings;
use super::surrounding_tokens::SurroundingTokens;
use crate::keys::not_understood;

/// The special tokens, unless the settings name others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// GPT-2's: `<|endoftext|>` for all purposes, and no tokens around a text.
    EndOfText,
    /// BART's, which are put around a text.
    Around,
}

const END_OF_TEXT: &str = "<|endoftext|>";

/// Reads the tokenizer in the files `vocab` and `merges`.
pub(super) fn read(
    vocab: &Path,
    merges: &Path,
    special: Special,
    settings: &TokenizerSettings,
) -> Result<Value> {
    let refuse = |problem: String| not_understood(vocab, problem);
    let text = regular_file::read(vocab, regular_file::DESCRIPTION)?;
    let ids: Map<String, Value> =
        serde_json::from_slice(&text).map_err(|error| refuse(format!("damaged: {error}")))?;
    let id_of = |token: &str| Some(ids.get(token)?.as_u64()? as TokenId);
    let text = regular_file::read_text(merges, regular_file::DESCRIPTION)?;
    let pairs: Vec<&str> = text
        .lines()
        .skip_while(|line| line.starts_with("#version"))
        .filter(|line| !line.is_empty())
        .collect();
    let bytes = |blank_first: bool, trim: bool| {
        json!({
            "type": "ByteLevel", "add_prefix_space": blank_first, "trim_offsets": trim, "use_regex": true,
        })
    };
    let mut file = json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": bytes(false, true),
        "post_processor": bytes(true, false),
        "decoder": bytes(true, true),
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": false,
            "byte_fallback": false,
            "ignore_merges": false,
            "vocab": ids,
            "merges": pairs,
        },
    });
    let named = |key: &str, default: &str| settings.token(key).unwrap_or(default.into());
    let keys = special.defaults();
    let names: Vec<String> = keys.iter().map(|(key, name)| named(key, name)).collect();
    added::mark(&mut file, &names, id_of).map_err(refuse)?;
    if let Special::Around = special {
        added::take_blanks_before(&mut file, &named("mask_token", "<mask>"));
    }
    let surrounding = special.surrounding(settings, &named)?;
    if surrounding != SurroundingTokens::default() {
        surrounding.write(&mut file, id_of).map_err(refuse)?;
    }
    Ok(file)
}

impl Special {
    /// The keys of the settings, and the default tokens.
    fn defaults(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::EndOfText => {
                &[("unk_token", END_OF_TEXT), ("bos_token", END_OF_TEXT), ("eos_token", END_OF_TEXT)]
            }
            Self::Around => &[
                ("bos_token", "<s>"),
                ("pad_token", "<pad>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("mask_token", "<mask>"),
            ],
        }
    }

    fn surrounding(
        self,
        settings: &TokenizerSettings,
        named: &impl Fn(&str, &str) -> String,
    ) -> Result<SurroundingTokens> {
        Ok(match self {
            Self::EndOfText => {
                if settings.flag("add_bos_token")?.unwrap_or(false) {
                    SurroundingTokens::new(Some(&named("bos_token", END_OF_TEXT)), None)
                } else {
                    SurroundingTokens::default()
                }
            }
            Self::Around => {
                SurroundingTokens::new(Some(&named("cls_token", "<s>")), Some(&named("sep_token", "</s>")))
            }
        })
    }
}
