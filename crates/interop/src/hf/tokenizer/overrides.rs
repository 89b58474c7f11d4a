//! Applies settings that change a tokenizer, as the classes of `transformers` apply them to the file that
//! they have read.

use attentive_base::error::{Error, Result};
use attentive_text::vocabulary;
use serde_json::Value;

use super::added;
use super::settings::{LLAMA, T5, TokenizerSettings};
use super::surrounding_tokens::SurroundingTokens;
use super::wordpiece;

/// Changes the tokenizer `file` as its class does with `settings`. `refuse` makes an error from a problem
/// with the file.
pub(super) fn apply(
    file: &mut Value,
    settings: &TokenizerSettings,
    refuse: impl Fn(String) -> Error,
) -> Result<()> {
    let declared = settings.added()?;
    added::declare(file, &declared, |token| settings.is_special(token)).map_err(&refuse)?;
    let pre_tokenizer = &mut file["pre_tokenizer"];
    let blank_first = settings.flag("add_prefix_space")?;
    if pre_tokenizer["type"] == "ByteLevel" {
        pre_tokenizer["add_prefix_space"] = blank_first.unwrap_or(false).into();
    }
    match settings.class() {
        class if wordpiece::CLASSES.contains(&class) => normalize(file, settings),
        LLAMA => {
            settings.only("add_prefix_space", true)?;
            let surrounding = llama_surrounding_tokens(settings)?;
            let vocab = vocabulary(file.to_string().as_bytes()).map_err(&refuse)?;
            let framed = surrounding.write(file, |token| vocab.get(token).copied());
            framed.map_err(refuse)
        }
        T5 => settings.only("add_prefix_space", true),
        _ => Ok(()),
    }
}

/// Sets the normalization of BERT, which depends on settings alone.
fn normalize(file: &mut Value, settings: &TokenizerSettings) -> Result<()> {
    let normalizer = &mut file["normalizer"];
    if normalizer["type"] == "BertNormalizer" {
        normalizer["lowercase"] = settings.flag("do_lower_case")?.unwrap_or(true).into();
        normalizer["strip_accents"] = settings.flag("strip_accents")?.into();
        let chinese = settings.flag("tokenize_chinese_chars")?;
        normalizer["handle_chinese_chars"] = chinese.unwrap_or(true).into();
    }
    Ok(())
}

/// The tokens that Llama's class puts around a text.
fn llama_surrounding_tokens(settings: &TokenizerSettings) -> Result<SurroundingTokens> {
    let token = |key: &str, default: &str| settings.token(key).unwrap_or(default.into());
    let (bos, eos) = (token("bos_token", "<s>"), token("eos_token", "</s>"));
    let has_first = settings.flag("add_bos_token")?.unwrap_or(true);
    let has_last = settings.flag("add_eos_token")?.unwrap_or(false);
    Ok(SurroundingTokens::new(has_first.then_some(&bos), has_last.then_some(&eos)))
}
