//! Exports the tokenizer of a model, with the tokens around its texts.

use attentive_architecture::Task;
use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::LoadedModel;
use attentive_config::Units;
use attentive_text::{SpecialTokens, Tokenizer, Tokenizers, UNKNOWN_SPELLING, vocabulary};
use serde_json::{Value, json};

/// Returns the contents of `tokenizer.json` and `tokenizer_config.json`.
pub(super) fn files(loaded: &LoadedModel, notes: &mut Vec<String>) -> Result<[Value; 2]> {
    let file = framed(loaded, one(loaded, notes)?);
    let settings = settings(loaded, &file);
    Ok([file, settings])
}

/// Returns the `tokenizer.json` of both sides. If they divide texts in different ways into tokens of one
/// vocabulary, it is the source's, which spells the tokens of the target as well.
fn one(loaded: &LoadedModel, notes: &mut Vec<String>) -> Result<Value> {
    let read = |tokenizer: &Tokenizer| {
        let damaged = |error| {
            let problem = format!("the tokenizer is damaged: {error}");
            Error::usage(problem, "copy the model directory again")
        };
        serde_json::from_slice(tokenizer.to_json()).map_err(damaged)
    };
    let src = match &loaded.tokenizers {
        Tokenizers::Shared(both) => return read(both),
        Tokenizers::Separate { src, .. } if has_labels(loaded) => return read(src),
        Tokenizers::Separate { src, .. } => src,
    };
    check(&loaded.tokenizers)?;
    if vocabulary(src.to_json()).is_ok_and(|tokens| tokens.len() > src.vocab_size()) {
        return Err(Error::usage(
            "the source tokenizer has pieces that are not in the model's vocabulary, which `transformers` \
             does not support",
            "export a model whose vocabulary contains all pieces of its tokenizer",
        ));
    }
    notes.push(
        "tokenizer: `transformers` encodes all text as source text, so targets cannot be encoded for further \
         training; unknown source text that is spelled like a target token becomes the unknown token"
            .into(),
    );
    let mut file: Value = read(src)?;
    let mark = json!({"type": "Replace", "pattern": {"String": UNKNOWN_SPELLING.to_string()}, "content": ""});
    let decoders = [mark, file["decoder"].take()];
    file["decoder"] = json!({"type": "Sequence", "decoders": decoders});
    Ok(file)
}

/// True if the target side has labels, not texts.
fn has_labels(loaded: &LoadedModel) -> bool {
    matches!(loaded.architecture.task(), Task::Tag | Task::Classify)
}

/// Refuses vocabularies that differ.
pub(super) fn check(tokenizers: &Tokenizers) -> Result<()> {
    let Tokenizers::Separate { src, tgt } = tokenizers else {
        return Ok(());
    };
    let n = src.vocab_size();
    let mut ids = 0..n as TokenId;
    if n == tgt.vocab_size() && ids.all(|id| src.token(id) == tgt.token(id)) {
        Ok(())
    } else {
        Err(Error::usage(
            "a model with separate vocabularies cannot be exported",
            "train it with `tokenizer.vocabulary = \"shared\"`",
        ))
    }
}

/// Returns the tokenizer `file`, extended to put the tokens around a text that the model reads.
fn framed(loaded: &LoadedModel, mut file: Value) -> Value {
    let tokenizer = loaded.tokenizers.src();
    let (before, after) = frame(loaded, tokenizer.special());
    // The languages of a model may have been chosen after its file was created.
    let is_chosen = loaded.architecture.task() == Task::Translate;
    if is_chosen || file["post_processor"].is_null() {
        let named = |id: TokenId| (id, tokenizer.token(id).unwrap_or_default());
        let named = |ids: Vec<TokenId>| ids.into_iter().map(named).collect::<Vec<_>>();
        file["post_processor"] = template(&named(before), &named(after));
    }
    file
}

/// The tokens before and after a text.
fn frame(loaded: &LoadedModel, special: SpecialTokens) -> (Vec<TokenId>, Vec<TokenId>) {
    match (loaded.architecture.task(), loaded.config.data.units) {
        (Task::Generate, Units::Stream) => (Vec::new(), Vec::new()),
        (Task::Generate, Units::Lines) => (vec![special.start], Vec::new()),
        _ => {
            let after = [special.eos].into_iter().chain(special.last);
            (special.first.into_iter().collect(), after.collect())
        }
    }
}

fn template(before: &[(TokenId, String)], after: &[(TokenId, String)]) -> Value {
    let special = |(_, token): &(TokenId, String)| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let text = |name: &str| json!({"Sequence": {"id": name, "type_id": 0}});
    let framed = |names: &[&str]| -> Vec<Value> {
        let texts = names.iter().map(|name| text(name));
        before.iter().map(special).chain(texts).chain(after.iter().map(special)).collect()
    };
    let (single, pair) = (framed(&["A"]), framed(&["A", "B"]));
    let tokens: serde_json::Map<String, Value> = (before.iter().chain(after))
        .map(|(id, token)| (token.clone(), json!({"id": token, "ids": [id], "tokens": [token]})))
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
}

/// The content of `tokenizer_config.json` for the tokenizer `file`.
fn settings(loaded: &LoadedModel, file: &Value) -> Value {
    let tokenizer = if has_labels(loaded) { loaded.tokenizers.src() } else { loaded.tokenizers.tgt() };
    let special = tokenizer.special();
    let token = |id: TokenId| tokenizer.token(id);
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": loaded.config.model.max_len,
        "clean_up_tokenization_spaces": false,
        // `transformers` uses this key, whatever the file says.
        "add_prefix_space": file["pre_tokenizer"]["add_prefix_space"] == true,
        // Token types would change the output of GPT-2.
        "model_input_names": ["input_ids", "attention_mask"],
        "pad_token": token(special.pad),
        "unk_token": token(special.unk),
        "bos_token": token(special.bos),
        "eos_token": token(special.eos),
        "mask_token": special.mask.and_then(token),
    })
}
