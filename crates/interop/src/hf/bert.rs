//! BERT (Devlin et al. 2019): masked language models, and encoders without a head.

use std::path::Path;

use attentive_architecture::{LabelLayer, Pooling, Positions};
use attentive_base::error::Result;
use attentive_config::{EncoderConfig, FamilyConfig, ModelConfig, OutputConfig};

use super::labels::{EncoderHead, names_of_labels};
use super::sentences::SentencePooling;
use super::{Described, activation, tied_or_not};
use crate::keys::UnreadKeys;
use crate::recipe::SourcePattern::{Plus, Same};
use crate::recipe::{NameMapping, Unused, names};
use crate::tensors::Tensors;

pub(super) const NAMES: NameMapping = names! {
    "src.embedding" => Same("embeddings.word_embeddings"),
    // All positions of a single text have type 0.
    "src.positions.learned" => Plus("embeddings.position_embeddings.weight", "embeddings.token_type_embeddings.weight"),
    "src.norm" => Same("embeddings.LayerNorm"),
    "encoder.layers.{}.self_attention.query" => Same("encoder.layer.{}.attention.self.query"),
    "encoder.layers.{}.self_attention.key" => Same("encoder.layer.{}.attention.self.key"),
    "encoder.layers.{}.self_attention.value" => Same("encoder.layer.{}.attention.self.value"),
    "encoder.layers.{}.self_attention.output" => Same("encoder.layer.{}.attention.output.dense"),
    "encoder.layers.{}.self_attention_residual.norm" => Same("encoder.layer.{}.attention.output.LayerNorm"),
    "encoder.layers.{}.feed_forward.inner" => Same("encoder.layer.{}.intermediate.dense"),
    "encoder.layers.{}.feed_forward.outer" => Same("encoder.layer.{}.output.dense"),
    "encoder.layers.{}.feed_forward_residual.norm" => Same("encoder.layer.{}.output.LayerNorm"),
    "head.transform.linear" => Same("cls.predictions.transform.dense"),
    "head.transform.norm" => Same("cls.predictions.transform.LayerNorm"),
    "head.weight" => Same("cls.predictions.decoder.weight"),
    "head.bias" => Same("cls.predictions.bias"),
};

pub(super) const TEXTS: NameMapping = names_of_labels!("classifier", "pooler.dense");
pub(super) const WORDS: NameMapping = names_of_labels!("classifier");

pub(super) fn describe(keys: &mut UnreadKeys, dir: &Path, tensors: &Tensors) -> Result<Described> {
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
    let head = EncoderHead::of(keys, dir, tensors, "cls.predictions.bias")?;
    let shape = BertVariant {
        n_encoder_layers: keys.required("num_hidden_layers")?,
        max_len: keys.required("max_position_embeddings")?,
        tied,
        label_layer: LabelLayer::Tanh,
    };
    let model = sizes(keys, encoder(dir, &head, shape)?)?;
    let mut unused = vec![
        Unused::Ignored("embeddings.position_ids"),
        // This is used only for pairs of texts.
        Unused::Ignored("pooler.dense.weight"),
        Unused::Ignored("pooler.dense.bias"),
        Unused::Ignored("cls.seq_relationship.weight"),
        Unused::Ignored("cls.seq_relationship.bias"),
    ];
    if head != EncoderHead::Masked {
        unused.push(Unused::Under("cls."));
    }
    if head == EncoderHead::Masked {
        unused.push(Unused::CopyOf("cls.predictions.decoder.bias", "cls.predictions.bias"));
    }
    if head == EncoderHead::Masked && tied {
        unused.push(Unused::CopyOf("cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"));
    }
    let described =
        Described { unused, prefix: "bert.", ..Described::new(model, keys.required("vocab_size")?, NAMES) };
    Ok(described.with(head, TEXTS, WORDS))
}

/// Returns `model` with the sizes, the activation and the norm, whose keys BERT and its relatives have in
/// common.
pub(super) fn sizes(keys: &mut UnreadKeys, model: ModelConfig) -> Result<ModelConfig> {
    Ok(ModelConfig {
        d_model: keys.required("hidden_size")?,
        d_ff: keys.required("intermediate_size")?,
        n_heads: keys.required("num_attention_heads")?,
        dropout: keys.or("hidden_dropout_prob", 0.1)?,
        attention_dropout: keys.or("attention_probs_dropout_prob", 0.1)?,
        activation: activation(keys, "hidden_act", "gelu")?,
        norm_epsilon: keys.or("layer_norm_eps", 1e-12)?,
        ..model
    })
}

/// What encoders with the same head differ in.
pub(super) struct BertVariant {
    pub(super) n_encoder_layers: usize,
    /// The number of rows of the table of positions, counted from that of the first position.
    pub(super) max_len: usize,
    /// True if the output projection is the embedding.
    pub(super) tied: bool,
    /// The layer between a text's vector and its labels.
    pub(super) label_layer: LabelLayer,
}

/// Describes the features that BERT and its relatives have in common: an encoder with this head.
pub(super) fn encoder(dir: &Path, head: &EncoderHead, shape: BertVariant) -> Result<ModelConfig> {
    let encoder = EncoderConfig { n_encoder_layers: shape.n_encoder_layers, ..EncoderConfig::default() };
    let mut max_len = shape.max_len;
    let family = match head {
        EncoderHead::Masked => FamilyConfig::EncoderOnly {
            encoder,
            output: OutputConfig {
                tie_embeddings: tied_or_not(shape.tied),
                output_bias: true,
                ..OutputConfig::default()
            },
            output_transform: true,
        },
        EncoderHead::Texts(_) => {
            FamilyConfig::Classifier { encoder, pooling: Pooling::First, label_layer: shape.label_layer }
        }
        EncoderHead::Words(_) => FamilyConfig::Tagger { encoder, word_pieces: true, d_input: None },
        EncoderHead::None => {
            let sentences = SentencePooling::read(dir)?;
            max_len = sentences.longest.map_or(max_len, |longest| longest.min(max_len));
            FamilyConfig::Encoder {
                encoder,
                pooling: sentences.pooling,
                normalize_embeddings: sentences.unit,
            }
        }
    };
    Ok(ModelConfig {
        family,
        positions: Positions::Learned,
        max_len,
        embedding_norm: true,
        scale_embeddings: false,
        ..ModelConfig::default()
    })
}
