//! Models of ours as directories for `transformers`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::{bart, bert, gpt2, search, sentences};
use crate::architecture::{ActivationKind, AddedPositions, Architecture, Items, Task};
use crate::batch::TokenId;
use crate::checkpoint::{self, LoadedModel, weights};
use crate::config::{LengthPenalty, Units};
use crate::error::{Error, Result};
use crate::interop::export::Exported;
use crate::interop::recipe::Names;
use crate::interop::reverse::Reversed;
use crate::model::Parameter;
use crate::nn::sinusoids;
use crate::text::{SpecialTokens, Tokenizer, Tokenizers, UNKNOWN_SPELLING, vocabulary};

/// A kind of model with an equal of ours.
pub(super) struct Equal {
    pub(super) kind: &'static str,
    /// `config.json`, without tokens.
    pub(super) config: Value,
    pub(super) names: Names,
    /// What names begin with, but for those that begin with `bare`.
    pub(super) prefix: &'static str,
    pub(super) bare: &'static str,
    /// Tensors that are none of our parameters: name, shape and values.
    pub(super) added: Vec<(&'static str, Vec<usize>, Vec<f32>)>,
    /// Vectors that are stored as a row.
    pub(super) rows: &'static [&'static str],
    /// Whether the features of positions are in another order there: first all sines, then all cosines.
    pub(super) permuted: bool,
}

/// Writes the directory `out`.
pub(in crate::interop) fn export(
    loaded: &LoadedModel,
    parameters: &[Parameter],
    out: &Path,
) -> Result<Exported> {
    let equal = match loaded.architecture.task() {
        Task::Translate => bart::export(loaded)?,
        Task::Fill | Task::Embed => bert::export(loaded)?,
        Task::Generate => gpt2::export(loaded)?,
        task @ (Task::Tag | Task::Classify) => {
            return Err(Error::usage(
                format!(
                    "the model {}, and such models cannot be exported",
                    task.verb()
                ),
                "export a model of the family `transformer`, `decoder_only` or `encoder_only`",
            ));
        }
    };
    let mut notes = Vec::new();
    let tokenizer = one_tokenizer(loaded, &mut notes)?;
    let generation = generation(loaded, &mut notes)?;
    let reversed = reversed(&equal, loaded)?;
    let by_name: BTreeMap<&str, &Parameter> = (parameters.iter())
        .map(|parameter| (parameter.name.as_str(), parameter))
        .collect();
    let ours = |name: &str| -> io::Result<Vec<f32>> {
        let parameter = by_name.get(name);
        let parameter = parameter.ok_or_else(|| io::Error::other(format!("no `{name}`")))?;
        Ok(match equal.permuted {
            true => halves_apart(parameter),
            false => parameter.values.clone(),
        })
    };
    let write_weights = |path: &Path| {
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let shapes = reversed.shapes();
        weights::write_each(path, Some(metadata), &shapes, |name, _| {
            reversed.values(name, &ours).map(Cow::Owned)
        })?;
        Ok(())
    };
    let config = json_file(&joined(&equal.config, &generation));
    let generation = json_file(&generation);
    let tokenizer = framed(loaded, tokenizer);
    let tokenizer_config = json_file(&tokenizer_config(loaded, &tokenizer));
    let tokenizer = json_file(&tokenizer);
    let mut files: Vec<(&str, &checkpoint::atomic::Content<'_>)> = vec![
        ("model.safetensors", &write_weights),
        ("tokenizer.json", &tokenizer),
        ("tokenizer_config.json", &tokenizer_config),
        ("config.json", &config),
    ];
    let [modules, pooling] = sentences::files(&loaded.config.model).map(|file| json_file(&file));
    match loaded.architecture.task() {
        Task::Embed => {
            files.push((sentences::MODULES, &modules));
            files.push((sentences::POOLING_CONFIG, &pooling));
        }
        _ => files.push(("generation_config.json", &generation)),
    }
    checkpoint::write_folder(out, &files)?;
    let kind = equal.kind;
    Ok(Exported { kind, notes })
}

/// Writes a value as a file.
fn json_file(value: &Value) -> impl Fn(&Path) -> io::Result<()> + use<> {
    let text = format!("{value:#}\n");
    move |path: &Path| fs::write(path, &text)
}

/// The keys of both objects.
fn joined(one: &Value, other: &Value) -> Value {
    let mut joined = one.clone();
    if let (Some(joined), Some(other)) = (joined.as_object_mut(), other.as_object()) {
        joined.extend(other.clone());
    }
    joined
}

/// `tokenizer.json` of both sides. If they divide texts in different ways into tokens of one vocabulary, it is that of the source, which
/// spells the tokens of the target as well.
fn one_tokenizer(loaded: &LoadedModel, notes: &mut Vec<String>) -> Result<Value> {
    let read = |tokenizer: &Tokenizer| {
        let damaged = |error| {
            let problem = format!("the tokenizer is damaged: {error}");
            Error::usage(problem, "copy the model directory again")
        };
        serde_json::from_slice(tokenizer.to_json()).map_err(damaged)
    };
    let (src, tgt) = match &loaded.tokenizers {
        Tokenizers::Shared(both) => return read(both),
        Tokenizers::Separate { src, tgt } => (src, tgt),
    };
    let n = src.vocab_size();
    let mut ids = 0..n as TokenId;
    if n != tgt.vocab_size() || !ids.all(|id| src.token(id) == tgt.token(id)) {
        return Err(Error::usage(
            "a model with separate vocabularies cannot be exported",
            "train it with `tokenizer.vocabulary = \"shared\"`",
        ));
    }
    if vocabulary(src.to_json()).is_ok_and(|tokens| tokens.len() > n) {
        return Err(Error::usage(
            "the tokenizer of the source has pieces that the model does not know, which has no equal in `transformers`",
            "export a model whose vocabulary has all pieces",
        ));
    }
    notes.push(
        "tokenizer: text is divided as on the side of the source, so that targets cannot be encoded for training; unknown text of the \
         source that is spelled like a token of the target becomes the token for unknown text"
            .into(),
    );
    let mut file: Value = read(src)?;
    let mark = json!({"type": "Replace", "pattern": {"String": UNKNOWN_SPELLING.to_string()}, "content": ""});
    let decoders = [mark, file["decoder"].take()];
    file["decoder"] = json!({"type": "Sequence", "decoders": decoders});
    Ok(file)
}

fn reversed(equal: &Equal, loaded: &LoadedModel) -> Result<Reversed> {
    let shapes = checkpoint::shapes(&loaded.architecture);
    let mut reversed = Reversed::new(equal.kind, &[equal.names], &shapes)?;
    for (name, shape, values) in &equal.added {
        reversed.insert(name, shape.clone(), values.clone());
    }
    for (name, shape) in reversed.shapes() {
        if let ([d], true) = (&shape[..], equal.rows.contains(&name.as_str())) {
            reversed.reshape(&name, vec![1, *d]);
        }
    }
    reversed.prefix(equal.prefix, equal.bare);
    Ok(reversed)
}

/// A parameter for another order of the features between layers: those with even numbers first, then those with odd numbers.
fn halves_apart(parameter: &Parameter) -> Vec<f32> {
    let Parameter {
        name,
        shape,
        values,
    } = parameter;
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let of_rows = ends(&["output.weight", "outer.weight"]);
    let of_columns = ends(&[
        "embedding.weight",
        "query.weight",
        "key.weight",
        "value.weight",
        "inner.weight",
        "head.weight",
    ]);
    let of_vector = ends(&["output.bias", "outer.bias", "norm.gain", "norm.bias"]);
    match shape[..] {
        [_] if of_vector => even_first(values).collect(),
        [_, columns] if of_columns => values.chunks_exact(columns).flat_map(even_first).collect(),
        [_, columns] if of_rows => {
            let rows: Vec<&[f32]> = values.chunks_exact(columns).collect();
            even_first(&rows).flatten().copied().collect()
        }
        _ => values.clone(),
    }
}

fn even_first<T: Copy>(values: &[T]) -> impl Iterator<Item = T> {
    let (even, odd) = (values.iter().step_by(2), values.iter().skip(1).step_by(2));
    even.chain(odd).copied()
}

/// Tokens and search.
fn generation(loaded: &LoadedModel, notes: &mut Vec<String>) -> Result<Value> {
    let (config, tokenizers) = (&loaded.config, &loaded.tokenizers);
    let contract = tokenizers.contract(&config.model)?;
    let mut keys = json!({"pad_token_id": contract.pad});
    let mut set = |key: &str, value: Value| keys[key] = value;
    match loaded.architecture.task() {
        Task::Translate => {
            let bad_words: Vec<[TokenId; 1]> = contract.never.iter().map(|&id| [id]).collect();
            set("decoder_start_token_id", contract.start.into());
            set("bos_token_id", tokenizers.tgt().special().bos.into());
            set("eos_token_id", contract.end.into());
            // An empty list is refused there.
            if !bad_words.is_empty() {
                set("bad_words_ids", json!(bad_words));
            }
            match config.decode.max_new_factor {
                0.0 => set("max_new_tokens", config.decode.max_new_extra.into()),
                _ => {
                    set("max_length", config.model.max_len.into());
                    notes.push(
                        "the length of a translation is limited by `model.max_len` alone, not by that of the source".into(),
                    );
                }
            }
            // The start token counts there.
            match config.decode.min_length {
                0 => {}
                shortest => set("min_length", (shortest + 1).into()),
            }
            set(
                "early_stopping",
                search::early_stopping(config.decode.stopping),
            );
            set("num_beams", config.decode.beam_width.into());
            set("no_repeat_ngram_size", config.decode.no_repeat_ngram.into());
            for (key, token) in [
                ("forced_bos_token_id", contract.forced_first),
                ("forced_eos_token_id", contract.forced_last),
            ] {
                if let Some(token) = token {
                    set(key, token.into());
                }
            }
            match config.decode.length_penalty {
                LengthPenalty::Length => set("length_penalty", config.decode.alpha.into()),
                LengthPenalty::Gnmt => notes.push(
                    "beam search: the length penalty of Wu et al. (2016) has no equal in `transformers`, so it uses its own"
                        .into(),
                ),
            }
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

/// The tokenizer `file`, which puts the tokens around a text that the model reads.
fn framed(loaded: &LoadedModel, mut file: Value) -> Value {
    let tokenizer = loaded.tokenizers.src();
    let (before, after) = frame(loaded, tokenizer.special());
    // The languages of a model may have been chosen after its file was made.
    let is_chosen = loaded.architecture.task() == Task::Translate;
    if is_chosen || file["post_processor"].is_null() {
        let named = |id: TokenId| (id, tokenizer.token(id).unwrap_or_default());
        let named = |ids: Vec<TokenId>| ids.into_iter().map(named).collect::<Vec<_>>();
        file["post_processor"] = template(&named(before), &named(after));
    }
    file
}

/// What comes before and after a text.
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
    let special =
        |(_, token): &(TokenId, String)| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let text = |name: &str| json!({"Sequence": {"id": name, "type_id": 0}});
    let framed = |names: &[&str]| -> Vec<Value> {
        let texts = names.iter().map(|name| text(name));
        before
            .iter()
            .map(special)
            .chain(texts)
            .chain(after.iter().map(special))
            .collect()
    };
    let (single, pair) = (framed(&["A"]), framed(&["A", "B"]));
    let tokens: serde_json::Map<String, Value> = (before.iter().chain(after))
        .map(|(id, token)| {
            (
                token.clone(),
                json!({"id": token, "ids": [id], "tokens": [token]}),
            )
        })
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
}

/// `tokenizer_config.json` for the tokenizer `file`.
fn tokenizer_config(loaded: &LoadedModel, file: &Value) -> Value {
    let tokenizer = loaded.tokenizers.tgt();
    let special = tokenizer.special();
    let token = |id: TokenId| tokenizer.token(id);
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": loaded.config.model.max_len,
        "clean_up_tokenization_spaces": false,
        // It counts there, whatever the file says.
        "add_prefix_space": file["pre_tokenizer"]["add_prefix_space"] == true,
        // Types of tokens would change what GPT-2 computes.
        "model_input_names": ["input_ids", "attention_mask"],
        "pad_token": token(special.pad),
        "unk_token": token(special.unk),
        "bos_token": token(special.bos),
        "eos_token": token(special.eos),
        "mask_token": special.mask.and_then(token),
    })
}

/// The name of an activation function.
pub(super) fn activation(kind: ActivationKind) -> &'static str {
    match kind {
        ActivationKind::Relu => "relu",
        ActivationKind::Gelu => "gelu",
        ActivationKind::GeluTanh => "gelu_new",
        ActivationKind::Silu => "silu",
    }
}

/// The table of sinusoidal positions, which is stored there.
pub(super) fn positions(architecture: &Architecture) -> Option<Vec<f32>> {
    let input = architecture.src.as_ref().or(architecture.tgt.as_ref())?;
    match input.positions {
        AddedPositions::Sinusoidal(layout) => {
            Some(sinusoids(layout, architecture.max_len, input.d_model))
        }
        AddedPositions::None | AddedPositions::Learned { .. } => None,
    }
}

/// The number of tokens that the model reads.
pub(super) fn vocab(architecture: &Architecture) -> usize {
    let input = architecture.src.as_ref().or(architecture.tgt.as_ref());
    match input.map(|input| input.items) {
        Some(Items::Tokens { vocab, .. }) => vocab,
        Some(Items::Vectors) | None => 0,
    }
}
