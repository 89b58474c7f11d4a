//! BERT (Devlin et al. 2019): masked language models, and encoders alone.

use std::path::Path;

use serde_json::json;

use super::export::{self, Equal};
use super::sentences::Sentences;
use super::{Described, activation};
use crate::architecture::{NormPosition, Positions, TieEmbeddings};
use crate::checkpoint::LoadedModel;
use crate::config::{Family, ModelConfig};
use crate::error::Result;
use crate::interop::export::Differences;
use crate::interop::keys::Keys;
use crate::interop::recipe::Source::{Plus, Same};
use crate::interop::recipe::{Names, Unused};
use crate::interop::tensors::Tensors;

const NAMES: Names = &[
    ("src.embedding", Same("embeddings.word_embeddings")),
    // All positions of a single text have type 0.
    (
        "src.positions.learned",
        Plus(
            "embeddings.position_embeddings.weight",
            "embeddings.token_type_embeddings.weight",
        ),
    ),
    ("src.norm", Same("embeddings.LayerNorm")),
    (
        "encoder.layers.{}.self_attention.query",
        Same("encoder.layer.{}.attention.self.query"),
    ),
    (
        "encoder.layers.{}.self_attention.key",
        Same("encoder.layer.{}.attention.self.key"),
    ),
    (
        "encoder.layers.{}.self_attention.value",
        Same("encoder.layer.{}.attention.self.value"),
    ),
    (
        "encoder.layers.{}.self_attention.output",
        Same("encoder.layer.{}.attention.output.dense"),
    ),
    (
        "encoder.layers.{}.self_attention_residual.norm",
        Same("encoder.layer.{}.attention.output.LayerNorm"),
    ),
    (
        "encoder.layers.{}.feed_forward.inner",
        Same("encoder.layer.{}.intermediate.dense"),
    ),
    (
        "encoder.layers.{}.feed_forward.outer",
        Same("encoder.layer.{}.output.dense"),
    ),
    (
        "encoder.layers.{}.feed_forward_residual.norm",
        Same("encoder.layer.{}.output.LayerNorm"),
    ),
    (
        "head.transform.linear",
        Same("cls.predictions.transform.dense"),
    ),
    (
        "head.transform.norm",
        Same("cls.predictions.transform.LayerNorm"),
    ),
    ("head.weight", Same("cls.predictions.decoder.weight")),
    ("head.bias", Same("cls.predictions.bias")),
];

pub(super) fn describe(keys: &mut Keys, dir: &Path, tensors: &Tensors) -> Result<Described> {
    keys.ignore(&[
        "directionality",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
        "type_vocab_size",
    ]);
    keys.only("position_embedding_type", "absolute")?;
    let tied = keys.or("tie_word_embeddings", true)?;
    let max_len = keys.required("max_position_embeddings")?;
    let model = ModelConfig {
        d_model: keys.required("hidden_size")?,
        d_ff: keys.required("intermediate_size")?,
        n_heads: keys.required("num_attention_heads")?,
        n_encoder_layers: keys.required("num_hidden_layers")?,
        dropout: keys.or("hidden_dropout_prob", 0.1)?,
        attention_dropout: keys.or("attention_probs_dropout_prob", 0.1)?,
        activation: activation(keys, "hidden_act", "gelu")?,
        norm_epsilon: keys.or("layer_norm_eps", 1e-12)?,
        ..encoder(dir, max_len, tensors.has("cls.predictions.bias"), tied)?
    };
    let mut unused = vec![
        Unused::Ignored("embeddings.position_ids"),
        // For pairs of texts.
        Unused::Ignored("pooler.dense.weight"),
        Unused::Ignored("pooler.dense.bias"),
        Unused::Ignored("cls.seq_relationship.weight"),
        Unused::Ignored("cls.seq_relationship.bias"),
    ];
    if model.family == Family::Encoder {
        unused.push(Unused::Under("cls."));
    }
    if model.family == Family::EncoderOnly {
        unused.push(Unused::CopyOf(
            "cls.predictions.decoder.bias",
            "cls.predictions.bias",
        ));
    }
    if model.family == Family::EncoderOnly && tied {
        unused.push(Unused::CopyOf(
            "cls.predictions.decoder.weight",
            "embeddings.word_embeddings.weight",
        ));
    }
    Ok(Described {
        unused,
        prefix: "bert.",
        ..Described::new(model, keys.required("vocab_size")?, NAMES)
    })
}

/// What BERT and DistilBERT have in common: a masked language model, or an encoder alone if it has no head or is one of Sentence
/// Transformers. The table of positions has `max_len` rows.
pub(super) fn encoder(
    dir: &Path,
    max_len: usize,
    has_head: bool,
    tied: bool,
) -> Result<ModelConfig> {
    let shared = ModelConfig {
        positions: Positions::Learned,
        max_len,
        embedding_norm: true,
        scale_embeddings: false,
        ..ModelConfig::default()
    };
    Ok(match has_head && !Sentences::is_in(dir) {
        true => ModelConfig {
            family: Family::EncoderOnly,
            tie_embeddings: match tied {
                true => TieEmbeddings::All,
                false => TieEmbeddings::None,
            },
            output_transform: true,
            output_bias: true,
            ..shared
        },
        false => {
            let sentences = Sentences::read(dir)?;
            ModelConfig {
                family: Family::Encoder,
                max_len: sentences
                    .longest
                    .map_or(max_len, |longest| longest.min(max_len)),
                pooling: sentences.pooling,
                unit_vectors: sentences.unit,
                ..shared
            }
        }
    })
}

/// Refuses a model of ours that has no equal in BERT.
pub(super) fn check(model: &ModelConfig) -> Result<()> {
    let predicts = model.family == Family::EncoderOnly;
    let mut differences = Differences::of(model);
    differences.unless(
        model.norm_position == NormPosition::Post,
        "`model.norm_position` is not `post`",
    );
    differences.unless(model.final_norm != Some(true), "`model.final_norm` is true");
    differences.unless(model.embedding_norm, "`model.embedding_norm` is false");
    differences.unless(!model.scale_embeddings, "`model.scale_embeddings` is true");
    differences.unless(
        model.position_offset == 0,
        "`model.position_offset` is not 0",
    );
    differences.unless(
        model.output_transform || !predicts,
        "`model.output_transform` is false",
    );
    differences.refuse("BERT")
}

/// BERT's equal of a model of ours.
pub(super) fn export(loaded: &LoadedModel) -> Result<Equal> {
    let model = &loaded.config.model;
    let predicts = model.family == Family::EncoderOnly;
    check(model)?;
    let (vocab, d) = (export::vocab(&loaded.architecture), model.d_model);
    let types = "embeddings.token_type_embeddings.weight";
    let mut added = vec![(types, vec![2, d], vec![0.0; 2 * d])];
    if let Some(table) = export::positions(&loaded.architecture) {
        let name = "embeddings.position_embeddings.weight";
        added.push((name, vec![model.max_len, d], table));
    }
    if predicts && !model.output_bias {
        added.push(("cls.predictions.bias", vec![vocab], vec![0.0; vocab]));
    }
    Ok(Equal {
        kind: "BERT",
        config: json!({
            "model_type": "bert",
            "architectures": [if predicts { "BertForMaskedLM" } else { "BertModel" }],
            "vocab_size": vocab,
            "hidden_size": d,
            "num_hidden_layers": model.n_encoder_layers,
            "num_attention_heads": model.n_heads,
            "intermediate_size": model.d_ff,
            "max_position_embeddings": model.max_len,
            "type_vocab_size": 2,
            "hidden_act": export::activation(model.activation),
            "hidden_dropout_prob": model.dropout,
            "attention_probs_dropout_prob": model.attention_dropout,
            "layer_norm_eps": model.norm_epsilon,
            "tie_word_embeddings": model.tie_embeddings.ties_output(),
        }),
        names: NAMES,
        prefix: if predicts { "bert." } else { "" },
        bare: "cls.",
        added,
        rows: &[],
        permuted: false,
    })
}
