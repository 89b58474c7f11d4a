//! The options of a model, `special:model.yml`. Each of them must be understood.

use std::num::NonZeroUsize;

use attentive_architecture::{ActivationKind, NormPosition, Positions, TieEmbeddings};
use attentive_base::error::Result;
use attentive_config::{CellKind, MixingKind, ModelConfig, Translator};
use serde_json::{Value, json};

use super::names;
use crate::keys::UnreadKeys;
use crate::recipe::NameMapping;
use crate::tensors::Tensors;

/// Options that do not affect the output of a Transformer: those for training and for other kinds of models.
const IGNORED: &[&str] = &[
    "bert-class-symbol",
    "bert-mask-symbol",
    "bert-masking-fraction",
    "bert-sep-symbol",
    "bert-train-type-embeddings",
    "bert-type-vocab-size",
    "char-conv-filters-num",
    "char-conv-filters-widths",
    "char-highway",
    "char-stride",
    "dec-cell-base-depth",
    "dec-cell-high-depth",
    "dim-rnn",
    "enc-cell",
    "enc-cell-depth",
    "enc-type",
    "factors-combine",
    "separator-symbol",
    "skip",
    "transformer-aan-activation",
    "transformer-aan-depth",
    "transformer-aan-nogate",
    "transformer-alibi-shift",
    "transformer-alibi-trainable",
    "transformer-depth-scaling",
    "transformer-dim-aan",
    "transformer-dropout",
    "transformer-dropout-attention",
    "transformer-dropout-ffn",
    "ulr-dim-emb",
    "ulr-trainable-transformation",
];

/// The first version that normalizes the keys and values of self-attention if norms come before it.
const FIRST_WITH_PRE_NORMS: [u32; 2] = [1, 11];

/// A model as described by its options.
pub(super) struct MarianConfig {
    /// The configuration, without the keys of its family.
    pub(super) model: ModelConfig,
    pub(super) translator: Translator,
    /// The number of tokens of each side.
    pub(super) vocabs: [usize; 2],
    pub(super) names: Vec<NameMapping>,
    /// The layer of the decoder whose attention may have been trained to align words; `None` for the last.
    pub(super) alignment_layer: Option<NonZeroUsize>,
}

/// Reads all options. Some matrices may have one of several names, which `tensors` determine.
pub(super) fn describe(mut keys: UnreadKeys, tensors: &Tensors) -> Result<MarianConfig> {
    let kind: String = keys.required("type")?;
    if kind != "transformer" {
        return Err(keys.refuse("type", &Value::from(kind)));
    }
    refuse_variants(&mut keys)?;
    keys.ignore(IGNORED);
    let (tie, mut tables) = embeddings(&mut keys, tensors)?;
    let (norms, embedding_norm, final_norm) = norms(&mut keys)?;
    let decoder_mixing = mixing(&mut keys)?;
    tables.extend([names::LAYERS]);
    tables.extend(names_of_norms(norms, decoder_mixing));
    let d_model: usize = keys.required("dim-emb")?;
    if !d_model.is_multiple_of(2) {
        return Err(keys.refuse("dim-emb", &json!(d_model)));
    }
    let vocabs = keys.required("dim-vocabs")?;
    check_rows(&keys, tie, vocabs, tensors)?;
    let mut translator = Translator::default();
    translator.encoder.n_encoder_layers = depth(&mut keys, "enc-depth", tensors)?;
    translator.decoder.n_decoder_layers = depth(&mut keys, "dec-depth", tensors)?;
    translator.decoder.decoder_mixing = decoder_mixing;
    translator.output.tie_embeddings = tie;
    translator.output.output_bias = true;
    let model = ModelConfig {
        d_model,
        d_ff: feed_forward(&mut keys)?,
        n_heads: keys.or("transformer-heads", 8)?,
        activation: activation(&mut keys)?,
        norm_position: norms,
        norm_epsilon: 1e-6,
        embedding_norm,
        final_norm: Some(final_norm),
        positions: Positions::SinusoidalTensor2tensor,
        scale_embeddings: true,
        ..ModelConfig::default()
    };
    let alignment_layer = alignment_layer(&mut keys, translator.decoder.n_decoder_layers)?;
    keys.finish()?;
    Ok(MarianConfig { translator, model, vocabs, names: tables, alignment_layer })
}

/// Refuses variants that are not supported.
fn refuse_variants(keys: &mut UnreadKeys) -> Result<()> {
    let only = [
        ("factors-dim-emb", json!(0)),
        ("input-join-fields", json!(false)),
        ("input-reorder", json!([])),
        ("lemma-dependency", json!("")),
        ("lemma-dim-emb", json!(0)),
        ("output-approx-knn", json!([])),
        ("right-left", json!(false)),
        ("special-vocab", json!([])),
        ("transformer-attention-mask", json!("default")),
        ("transformer-disable-position-embeddings", json!(false)),
        ("transformer-ffn-depth", json!(2)),
        ("transformer-no-affine", json!(false)),
        ("transformer-no-bias", json!(false)),
        ("transformer-no-projection", json!(false)),
        ("transformer-pool", json!(false)),
        ("transformer-rnn-projection", json!(false)),
        ("transformer-tied-layers", json!([])),
        ("transformer-train-position-embeddings", json!(false)),
        ("transformer-train-positions", json!(false)),
        ("ulr", json!(false)),
    ];
    for (key, value) in only {
        keys.only(key, value)?;
    }
    let inputs: Vec<String> = keys.or("input-types", Vec::new())?;
    if inputs.iter().all(|input| input == "sequence") {
        Ok(())
    } else {
        Err(keys.refuse("input-types", &json!(inputs)))
    }
}

fn embeddings(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<(TieEmbeddings, Vec<NameMapping>)> {
    let mut is = |key| keys.or(key, false);
    let (all, inputs) = (is("tied-embeddings-all")?, is("tied-embeddings-src")?);
    let (output, omits_bias) = (is("tied-embeddings")?, is("output-omit-bias")?);
    let tie = match (all || inputs, all || output) {
        (true, true) => TieEmbeddings::All,
        (true, false) => TieEmbeddings::Inputs,
        (false, true) => TieEmbeddings::Decoder,
        (false, false) => TieEmbeddings::None,
    };
    let tables = vec![
        if tie.ties_inputs() { names::SHARED_EMBEDDINGS } else { names::EMBEDDINGS },
        if tensors.has("decoder_ff_logit_out_W") { names::EARLY_OUTPUT } else { names::OUTPUT },
        if omits_bias { names::NO_OUTPUT_BIAS } else { names::OUTPUT_BIAS },
    ];
    Ok((tie, tables))
}

/// Refuses vocabularies whose sizes differ from those of the embedding tables.
fn check_rows(keys: &UnreadKeys, tie: TieEmbeddings, vocabs: [usize; 2], tensors: &Tensors) -> Result<()> {
    let tables = if tie.ties_inputs() { ["Wemb"; 2] } else { ["encoder_Wemb", "decoder_Wemb"] };
    for (table, vocab) in tables.into_iter().zip(vocabs) {
        if tensors.shape(table)?.first() != Some(&vocab) {
            return Err(keys.refuse("dim-vocabs", &json!(vocabs)));
        }
    }
    Ok(())
}

/// Reads the layer whose attention is guided: `last` or a number from 1 on.
fn alignment_layer(keys: &mut UnreadKeys, n_layers: usize) -> Result<Option<NonZeroUsize>> {
    let key = "transformer-guided-alignment-layer";
    let layer = keys.or(key, Value::from("last"))?;
    let number = match &layer {
        Value::String(text) if text == "last" => return Ok(None),
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| usize::try_from(number).ok()),
    };
    match number.and_then(NonZeroUsize::new) {
        Some(number) if number.get() <= n_layers => Ok(Some(number)),
        _ => Err(keys.refuse(key, &layer)),
    }
}

/// Reads the number of layers, which must not exceed the number of tensors.
fn depth(keys: &mut UnreadKeys, key: &str, tensors: &Tensors) -> Result<usize> {
    let depth = keys.required(key)?;
    if depth <= tensors.names().count() { Ok(depth) } else { Err(keys.refuse(key, &json!(depth))) }
}

/// Reads the position of norms in a layer, and whether norms follow the embeddings and the last layer.
fn norms(keys: &mut UnreadKeys) -> Result<(NormPosition, bool, bool)> {
    let version: String = keys.or("version", String::new())?;
    // Dropout (d) matters only in training.
    let mut operations = |key: &str, default: &str| -> Result<String> {
        Ok(keys.or(key, default.to_owned())?.replace('d', ""))
    };
    let before = operations("transformer-preprocess", "")?;
    let after = operations("transformer-postprocess", "dan")?;
    let embedding = operations("transformer-postprocess-emb", "d")?;
    let top = operations("transformer-postprocess-top", "")?;
    let position = match (before.as_str(), after.as_str()) {
        ("", "an") => NormPosition::Post,
        ("n", "a") => NormPosition::Pre,
        _ => {
            let both = format!("{before}, {after}");
            let key = "transformer-preprocess, transformer-postprocess";
            return Err(keys.refuse(key, &Value::from(both)));
        }
    };
    if position == NormPosition::Pre && number(&version) < FIRST_WITH_PRE_NORMS {
        // Earlier versions compute something else.
        return Err(keys.refuse("version", &json!(version)));
    }
    let is_norm = |key: &str, operations: String| match operations.as_str() {
        "" => Ok(false),
        "n" => Ok(true),
        _ => Err(keys.refuse(key, &Value::from(operations))),
    };
    Ok((
        position,
        is_norm("transformer-postprocess-emb", embedding)?,
        is_norm("transformer-postprocess-top", top)?,
    ))
}

/// Returns the first two numbers of a version such as `v1.12.0 65bf82f`; zeros if there are none.
fn number(version: &str) -> [u32; 2] {
    let numbers = version.trim_start_matches('v').split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.map(|number| number.parse().unwrap_or(0));
    [(); 2].map(|()| numbers.next().unwrap_or(0))
}

pub(super) fn names_of_norms(position: NormPosition, mixing: MixingKind) -> [NameMapping; 2] {
    let attends = mixing == MixingKind::Attention;
    match (position, attends) {
        (NormPosition::Post, true) => [names::POST_NORMS, names::ATTENTION_POST_NORMS],
        (NormPosition::Post, false) => [names::POST_NORMS, names::CELL_POST_NORMS],
        (NormPosition::Pre, true) => [names::PRE_NORMS, names::ATTENTION_PRE_NORMS],
        (NormPosition::Pre, false) => [names::PRE_NORMS, names::CELL_PRE_NORMS],
    }
}

fn mixing(keys: &mut UnreadKeys) -> Result<MixingKind> {
    let kind: String = keys.or("transformer-decoder-autoreg", "self-attention".to_owned())?;
    match kind.as_str() {
        "self-attention" => {
            keys.ignore(&["dec-cell", "layer-normalization"]);
            Ok(MixingKind::Attention)
        }
        "rnn" => {
            let cell: String = keys.required("dec-cell")?;
            if cell != "ssru" {
                return Err(keys.refuse("dec-cell", &Value::from(cell)));
            }
            keys.only("layer-normalization", false)?;
            Ok(MixingKind::Recurrent(CellKind::Ssru))
        }
        _ => Err(keys.refuse("transformer-decoder-autoreg", &Value::from(kind))),
    }
}

/// Reads the width of the feed-forward networks, which must be the same in the decoder.
fn feed_forward(keys: &mut UnreadKeys) -> Result<usize> {
    let width = keys.or("transformer-dim-ffn", 2048)?;
    for (key, same) in [("transformer-decoder-dim-ffn", width), ("transformer-decoder-ffn-depth", 2)] {
        let value: usize = keys.or(key, 0)?;
        if value != 0 && value != same {
            return Err(keys.refuse(key, &json!(value)));
        }
    }
    Ok(width)
}

fn activation(keys: &mut UnreadKeys) -> Result<ActivationKind> {
    let key = "transformer-ffn-activation";
    let name: String = keys.or(key, "swish".to_owned())?;
    match name.as_str() {
        "relu" => Ok(ActivationKind::Relu),
        "swish" => Ok(ActivationKind::Silu),
        _ => Err(keys.refuse(key, &Value::from(name))),
    }
}
