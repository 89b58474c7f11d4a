//! DistilBERT (Sanh et al. 2019): masked language models, and encoders without a head.

use std::path::Path;

use attentive_architecture::LabelLayer;
use attentive_base::error::Result;
use attentive_config::ModelConfig;

use super::bert::{self, BertVariant};
use super::labels::{EncoderHead, names_of_labels};
use super::{Described, activation};
use crate::keys::UnreadKeys;
use crate::recipe::SourcePattern::{Rows, Same};
use crate::recipe::{NameMapping, Unused, names};
use crate::tensors::Tensors;

pub(super) const NAMES: NameMapping = names! {
    "src.embedding" => Same("embeddings.word_embeddings"),
    "src.positions.learned" => Rows("embeddings.position_embeddings.weight"),
    "src.norm" => Same("embeddings.LayerNorm"),
    "encoder.layers.{}.self_attention.query" => Same("transformer.layer.{}.attention.q_lin"),
    "encoder.layers.{}.self_attention.key" => Same("transformer.layer.{}.attention.k_lin"),
    "encoder.layers.{}.self_attention.value" => Same("transformer.layer.{}.attention.v_lin"),
    "encoder.layers.{}.self_attention.output" => Same("transformer.layer.{}.attention.out_lin"),
    "encoder.layers.{}.self_attention_residual.norm" => Same("transformer.layer.{}.sa_layer_norm"),
    "encoder.layers.{}.feed_forward.inner" => Same("transformer.layer.{}.ffn.lin1"),
    "encoder.layers.{}.feed_forward.outer" => Same("transformer.layer.{}.ffn.lin2"),
    "encoder.layers.{}.feed_forward_residual.norm" => Same("transformer.layer.{}.output_layer_norm"),
    "head.transform.linear" => Same("vocab_transform"),
    "head.transform.norm" => Same("vocab_layer_norm"),
    "head.weight" => Same("vocab_projector.weight"),
    "head.bias" => Same("vocab_projector.bias"),
};

pub(super) const TEXTS: NameMapping = names_of_labels!("classifier", "pre_classifier");
pub(super) const WORDS: NameMapping = names_of_labels!("classifier");

pub(super) fn describe(keys: &mut UnreadKeys, dir: &Path, tensors: &Tensors) -> Result<Described> {
    // Positions are stored whether they are learned or not.
    keys.ignore(&["qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_"]);
    let tied = keys.or("tie_word_embeddings", true)?;
    let head = EncoderHead::of(keys, dir, tensors, "vocab_projector.bias")?;
    let shape = BertVariant {
        n_encoder_layers: keys.required("n_layers")?,
        max_len: keys.required("max_position_embeddings")?,
        tied,
        label_layer: LabelLayer::Relu,
    };
    let model = ModelConfig {
        d_model: keys.required("dim")?,
        d_ff: keys.required("hidden_dim")?,
        n_heads: keys.required("n_heads")?,
        dropout: keys.or("dropout", 0.1)?,
        attention_dropout: keys.or("attention_dropout", 0.1)?,
        activation: activation(keys, "activation", "gelu")?,
        norm_epsilon: 1e-12,
        ..bert::encoder(dir, &head, shape)?
    };
    let mut unused = vec![Unused::Ignored("embeddings.position_ids")];
    if head != EncoderHead::Masked {
        unused.push(Unused::Under("vocab_"));
    }
    if head == EncoderHead::Masked && tied {
        unused.push(Unused::CopyOf("vocab_projector.weight", "embeddings.word_embeddings.weight"));
    }
    let described = Described {
        unused,
        prefix: "distilbert.",
        ..Described::new(model, keys.required("vocab_size")?, NAMES)
    };
    Ok(described.with(head, TEXTS, WORDS))
}
