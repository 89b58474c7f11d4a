//! Exports models as Marian's `model.npz`, `vocab.yml` and `decoder.yml`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use attentive_architecture::{ActivationKind, NormPosition, Positions, TieEmbeddings};
use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, LoadedModel};
use attentive_config::{
    CellKind, Config, EarlyStopping, LengthPenaltyFormula, MixingKind, ModelConfig, Translator,
};
use attentive_model::model::Parameter;
use attentive_text::{Tokenizer, Tokenizers};
use serde_json::Value;

use super::names;
use super::options::names_of_norms;
use super::search::MarianSearchSettings;
use super::vocab::N_CONTROL;
use crate::export::{ExportProblem, Exported, UnsupportedFeatures};
use crate::exported_tensors::ExportedTensors;
use crate::recipe::NameMapping;
use crate::tensors::Archive;

const KIND: &str = "Marian";
const MODEL: &str = "model.npz";
const VOCABULARY: &str = "vocab.yml";
/// The version of Marian whose options are written.
const VERSION: &str = "v1.12.0";

/// Returns the kind that a model of this configuration becomes, as far as can be told without its weights.
///
/// # Errors
/// Fails if Marian cannot represent the model.
pub(crate) fn kind(config: &Config, tokenizers: &Tokenizers) -> Result<&'static str, ExportProblem> {
    let translator = translator(&config.model)?;
    let tokenizer = shared(tokenizers)?;
    let start = tokenizers.contract(&config.model)?.start;
    let starts_with_zeros = start as usize + 1 == tokenizer.vocab_size();
    check(&config.model, translator, starts_with_zeros)?;
    Ok(KIND)
}

/// Returns the keys of a model that translates.
fn translator(model: &ModelConfig) -> Result<&Translator> {
    model.family.translator().ok_or_else(|| {
        let verb = model.family.task().verb();
        let problem = format!("the model {verb}, but {KIND} models translate");
        Error::usage(problem, "export it in another format")
    })
}

/// Returns the vocabulary of both sides.
fn shared(tokenizers: &Tokenizers) -> Result<&Tokenizer> {
    match tokenizers {
        Tokenizers::Shared(both) => Ok(both),
        Tokenizers::Separate { .. } => Err(Error::usage(
            "a model with separate vocabularies cannot be exported",
            "train it with `tokenizer.vocabulary = \"shared\"`",
        )),
    }
}

/// Writes the directory `out`.
pub(crate) fn export(loaded: &LoadedModel, parameters: &[Parameter], out: &Path) -> Result<Exported> {
    let tokenizer = shared(&loaded.tokenizers)?;
    let by_name: BTreeMap<&str, &Parameter> =
        (parameters.iter()).map(|parameter| (parameter.name.as_str(), parameter)).collect();
    let start = loaded.tokenizers.contract(&loaded.config.model)?.start;
    let table = by_name.get("src.embedding.weight").copied();
    let model = &loaded.config.model;
    let translator = translator(model)?;
    let checked = check(model, translator, starts_with_zeros(table, start));
    checked.map_err(ExportProblem::into_error)?;
    let tensors = exported_tensors(loaded, translator)?;
    let options = options(model, translator, start as usize);
    let ours = |name: &str| -> io::Result<Vec<f32>> {
        let parameter = by_name.get(name);
        let parameter = parameter.ok_or_else(|| io::Error::other(format!("no `{name}`")))?;
        Ok(parameter.values.clone())
    };
    let write_model = |path: &Path| {
        let mut archive = Archive::new(BufWriter::new(File::create(path)?));
        for (name, shape) in tensors.shapes() {
            archive.array(&name, &shape, &tensors.values(&name, &ours)?)?;
        }
        archive.text(super::OPTIONS, &options)?;
        archive.finish()?.flush()
    };
    let vocabulary = vocabulary(tokenizer, start);
    let write_vocabulary = |path: &Path| fs::write(path, &vocabulary);
    let (search, mut notes) = search(loaded, start)?;
    notes.push(format!("`{VOCABULARY}` has the tokens; Marian does not divide texts into them"));
    let write_search = |path: &Path| fs::write(path, &search);
    checkpoint::write_folder(
        out,
        &[(MODEL, &write_model), (VOCABULARY, &write_vocabulary), ("decoder.yml", &write_search)],
    )?;
    Ok(Exported { kind: KIND, notes })
}

/// True if the decoder first reads the last token, and its vector is zero.
fn starts_with_zeros(table: Option<&Parameter>, start: TokenId) -> bool {
    table.is_some_and(|table| {
        let [rows, d] = table.shape[..] else {
            return false;
        };
        let row = &table.values[start as usize * d..][..d];
        start as usize + 1 == rows && row.iter().all(|&x| x == 0.0)
    })
}

/// Refuses a model that Marian cannot represent.
fn check(model: &ModelConfig, translator: &Translator, starts_with_zeros: bool) -> Result<(), ExportProblem> {
    let (encoder, decoder) = (&translator.encoder, &translator.decoder);
    let output = translator.output;
    let mut differences = UnsupportedFeatures::of(model);
    let attends =
        matches!(decoder.decoder_mixing, MixingKind::Attention | MixingKind::Recurrent(CellKind::Ssru));
    let activation = matches!(model.activation, ActivationKind::Relu | ActivationKind::Silu);
    for (equal, difference) in [
        (attends, "`model.decoder_mixing` is not `attention` or `ssru`"),
        (
            model.positions == Positions::SinusoidalTensor2tensor,
            "`model.positions` is not `sinusoidal_tensor2tensor`",
        ),
        (model.norm_epsilon == 1e-6, "`model.norm_epsilon` is not 1e-6"),
        (activation, "`model.activation` is not `relu` or `silu`"),
        (model.scale_embeddings, "`model.scale_embeddings` is false"),
        (output.tie_embeddings == TieEmbeddings::All, "`model.tie_embeddings` is not `all`"),
        (output.output_bias, "`model.output_bias` is false"),
        (
            translator.forced_bos_token.is_none() && translator.forced_eos_token.is_none(),
            "`model.forced_bos_token` or `model.forced_eos_token` is set",
        ),
        (
            encoder.source_first.is_none() && encoder.source_last.is_none(),
            "`model.source_first` or `model.source_last` is set",
        ),
        (
            starts_with_zeros,
            "the token that the decoder reads first is not the last one, or its vector is not zero",
        ),
    ] {
        differences.unless(equal, difference);
    }
    differences.refuse(KIND)
}

fn exported_tensors(loaded: &LoadedModel, translator: &Translator) -> Result<ExportedTensors> {
    let mixing = translator.decoder.decoder_mixing;
    let norms = names_of_norms(loaded.config.model.norm_position, mixing);
    let tables: Vec<NameMapping> =
        [names::SHARED_EMBEDDINGS, names::OUTPUT_BIAS, names::LAYERS].into_iter().chain(norms).collect();
    let tensors = ExportedTensors::new(KIND, &tables, &checkpoint::shapes(&loaded.architecture))?;
    Ok(tensors.with_rows())
}

/// Returns the options of a model with `vocab` tokens, in YAML.
fn options(model: &ModelConfig, translator: &Translator, vocab: usize) -> String {
    let (encoder, decoder) = (&translator.encoder, &translator.decoder);
    let (before, after) = match model.norm_position {
        NormPosition::Post => ("d", "dan"),
        NormPosition::Pre => ("n", "da"),
    };
    let norm = |is_there: bool| if is_there { "n" } else { "" };
    let (mixing, cell) = match decoder.decoder_mixing {
        MixingKind::Recurrent(CellKind::Ssru) => ("rnn", "ssru"),
        _ => ("self-attention", "gru"),
    };
    let activation = match model.activation {
        ActivationKind::Relu => "relu",
        _ => "swish",
    };
    let top = model.final_norm.unwrap_or(model.norm_position == NormPosition::Pre);
    let lines = [
        ("type", "transformer".to_owned()),
        ("version", VERSION.to_owned()),
        ("dim-vocabs", format!("[{vocab}, {vocab}]")),
        ("dim-emb", model.d_model.to_string()),
        ("enc-depth", encoder.n_encoder_layers.to_string()),
        ("dec-depth", decoder.n_decoder_layers.to_string()),
        ("dec-cell", cell.to_owned()),
        ("tied-embeddings-all", "true".to_owned()),
        ("transformer-heads", model.n_heads.to_string()),
        ("transformer-dim-ffn", model.d_ff.to_string()),
        ("transformer-ffn-activation", activation.to_owned()),
        ("transformer-decoder-autoreg", mixing.to_owned()),
        ("transformer-preprocess", format!("\"{before}\"")),
        ("transformer-postprocess", format!("\"{after}\"")),
        ("transformer-postprocess-emb", format!("\"d{}\"", norm(model.embedding_norm))),
        ("transformer-postprocess-top", format!("\"{}\"", norm(top))),
    ];
    let line = |(key, value): (&str, String)| format!("{key}: {value}\n");
    lines.into_iter().map(line).collect()
}

/// Returns the tokens before `end` with their ids, in YAML.
fn vocabulary(tokenizer: &Tokenizer, end: TokenId) -> String {
    let line = |id: TokenId| {
        let token = tokenizer.token(id).unwrap_or_default();
        // A JSON string is also a YAML string.
        format!("{}: {id}\n", Value::from(token))
    };
    (0..end).map(line).collect()
}

/// Returns the content of `decoder.yml`, and notes on settings that Marian does not have.
fn search(loaded: &LoadedModel, start: TokenId) -> Result<(String, Vec<String>)> {
    let (decode, model) = (&loaded.config.decode, &loaded.config.model);
    let tokenizer = loaded.tokenizers.tgt();
    let never = loaded.tokenizers.contract(model)?.never;
    let unk = tokenizer.special().unk;
    let control = |byte: &TokenId| tokenizer.id(&format!("<0x{byte:02X}>"));
    let control: Vec<TokenId> = (0..N_CONTROL).filter_map(|byte| control(&byte)).collect();
    let mut barred: Vec<TokenId> = vec![start];
    let allows_unk = !never.contains(&unk);
    let allows_special = !control.iter().any(|id| never.contains(id));
    barred.extend((!allows_unk).then_some(unk));
    barred.extend(control.iter().filter(|_| !allows_special));
    let penalty = match decode.length_penalty_formula {
        LengthPenaltyFormula::Length => decode.length_penalty,
        LengthPenaltyFormula::Gnmt => 0.0,
    };
    let notes = [
        (
            decode.length_penalty == 0.0 || decode.length_penalty_formula == LengthPenaltyFormula::Length,
            "`decode.length_penalty_formula` is `gnmt`, so there is none",
        ),
        (
            never.iter().all(|id| barred.contains(id)) && barred.iter().all(|id| never.contains(id)),
            "`model.suppress_tokens` has other tokens",
        ),
        (
            decode.max_new_factor > 0.0 && decode.max_new_extra == 1,
            "`decode.max_new_extra` is not 1 or `decode.max_new_factor` is 0, so translations end elsewhere \
             if they are too long",
        ),
        (decode.min_length == 0, "`decode.min_length` is not 0"),
        (decode.no_repeat_ngram == 0, "`decode.no_repeat_ngram` is not 0"),
        (decode.early_stopping == EarlyStopping::Never, "`decode.early_stopping` is not `never`"),
    ];
    let notes = notes.into_iter().filter(|(is_equal, _)| !is_equal);
    let notes = notes.map(|(_, difference)| format!("the search differs: {difference}"));
    let max_factor = match decode.max_new_factor {
        0.0 => MarianSearchSettings::default().max_factor,
        factor => factor,
    };
    let text = format!(
        "relative-paths: true\nmodels:\n  - {MODEL}\nvocabs:\n  - {VOCABULARY}\n  - {VOCABULARY}\nbeam-size: \
         {}\nnormalize: {penalty}\n\
         max-length: {}\nmax-length-factor: {max_factor}\nallow-unk: {allows_unk}\nallow-special: \
         {allows_special}\n",
        decode.beam_width, model.max_len
    );
    Ok((text, notes.collect()))
}
