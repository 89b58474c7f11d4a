//! Exports the special tokens and the generation settings of a model.

use attentive_architecture::{Task, TokenContract};
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_checkpoint::LoadedModel;
use attentive_config::{Config, LengthPenaltyFormula};
use serde_json::{Value, json};

use crate::hf::search;

/// Returns the content of `generation_config.json`, whose keys `config.json` has as well.
pub(super) fn of(loaded: &LoadedModel, notes: &mut Vec<String>) -> Result<Value> {
    let (config, tokenizers) = (&loaded.config, &loaded.tokenizers);
    let contract = tokenizers.contract(&config.model)?;
    let mut keys = json!({"pad_token_id": contract.pad});
    let mut set = |key: &str, value: Value| keys[key] = value;
    match loaded.architecture.task() {
        Task::Translate => {
            set("bos_token_id", tokenizers.tgt().special().bos.into());
            of_tokens(&contract, &mut set);
            of_search(config, notes, &mut set);
        }
        Task::Generate => {
            let never = tokenizers.never_in_texts(&config.model, config.data.units)?;
            set("bos_token_id", contract.start.into());
            match tokenizers.ends(&config.model)?[..] {
                [end] => set("eos_token_id", end.into()),
                ref ends => set("eos_token_id", json!(ends)),
            }
            set("suppress_tokens", json!(never));
        }
        Task::Fill | Task::Embed | Task::Tag | Task::Classify => {}
    }
    Ok(keys)
}

/// Sets the keys for the tokens that begin and end translations or never occur in them.
fn of_tokens(contract: &TokenContract, set: &mut impl FnMut(&str, Value)) {
    set("decoder_start_token_id", contract.start.into());
    set("eos_token_id", contract.end.into());
    let bad_words: Vec<[TokenId; 1]> = contract.never.iter().map(|&id| [id]).collect();
    // `transformers` refuses an empty list.
    if !bad_words.is_empty() {
        set("bad_words_ids", json!(bad_words));
    }
    for (key, token) in
        [("forced_bos_token_id", contract.forced_first), ("forced_eos_token_id", contract.forced_last)]
    {
        if let Some(token) = token {
            set(key, token.into());
        }
    }
}

/// Sets the keys for the search for translations.
fn of_search(config: &Config, notes: &mut Vec<String>, set: &mut impl FnMut(&str, Value)) {
    let decode = &config.decode;
    match decode.max_new_factor {
        0.0 => set("max_new_tokens", decode.max_new_extra.into()),
        _ => {
            set("max_length", config.model.max_len.into());
            notes.push(
                "the length of a translation is limited by `model.max_len` alone, not by the length of the \
                 source"
                    .into(),
            );
        }
    }
    // In `transformers`, the start token counts.
    match decode.min_length {
        0 => {}
        shortest => set("min_length", (shortest + 1).into()),
    }
    let early_stopping = search::early_stopping(decode.early_stopping);
    set("early_stopping", early_stopping);
    set("num_beams", decode.beam_width.into());
    set("no_repeat_ngram_size", decode.no_repeat_ngram.into());
    if decode.word_penalty != 0.0 {
        notes.push(
            "beam search: `transformers` has no `decode.word_penalty`, and translates without it".into(),
        );
    }
    match decode.length_penalty_formula {
        LengthPenaltyFormula::Length => set("length_penalty", decode.length_penalty.into()),
        LengthPenaltyFormula::Gnmt => notes.push(
            "beam search: `transformers` does not have the length penalty of Wu et al. (2016) and uses its \
             own"
            .into(),
        ),
    }
}
