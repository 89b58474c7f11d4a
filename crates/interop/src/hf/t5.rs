//! T5 (Raffel et al. 2020), its version 1.1, and mT5.

use std::num::NonZeroUsize;

use attentive_architecture::{ActivationKind, NormKind, NormPosition, Positions, TieEmbeddings};
use attentive_base::error::Result;
use attentive_config::{DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, OutputConfig, Translator};
use serde_json::Value;

use super::{DECODERS_COPY, Described, SHARED, VERSION, activation};
use crate::keys::UnreadKeys;
use crate::recipe::{NameMapping, SourcePattern::Same, Unused};
use crate::tensors::Tensors;

macro_rules! names_with {
    ($inner:literal $(, $gate:literal)?) => {
        &[
            ("src.embedding", Same("shared")),
            ("head.weight", Same("lm_head.weight")),
            ("encoder.distance_bias.table", Same("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")),
            ("encoder.layers.{}.self_attention.query", Same("encoder.block.{}.layer.0.SelfAttention.q")),
            ("encoder.layers.{}.self_attention.key", Same("encoder.block.{}.layer.0.SelfAttention.k")),
            ("encoder.layers.{}.self_attention.value", Same("encoder.block.{}.layer.0.SelfAttention.v")),
            ("encoder.layers.{}.self_attention.output", Same("encoder.block.{}.layer.0.SelfAttention.o")),
            ("encoder.layers.{}.self_attention_residual.norm", Same("encoder.block.{}.layer.0.layer_norm")),
            ("encoder.layers.{}.feed_forward.inner", Same(concat!("encoder.block.{}.layer.1.DenseReluDense.", $inner))),
            $(("encoder.layers.{}.feed_forward.gate", Same(concat!("encoder.block.{}.layer.1.DenseReluDense.", $gate))),)?
            ("encoder.layers.{}.feed_forward.outer", Same("encoder.block.{}.layer.1.DenseReluDense.wo")),
            ("encoder.layers.{}.feed_forward_residual.norm", Same("encoder.block.{}.layer.1.layer_norm")),
            ("encoder.norm", Same("encoder.final_layer_norm")),
            ("decoder.distance_bias.table", Same("decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")),
            ("decoder.layers.{}.self_attention.query", Same("decoder.block.{}.layer.0.SelfAttention.q")),
            ("decoder.layers.{}.self_attention.key", Same("decoder.block.{}.layer.0.SelfAttention.k")),
            ("decoder.layers.{}.self_attention.value", Same("decoder.block.{}.layer.0.SelfAttention.v")),
            ("decoder.layers.{}.self_attention.output", Same("decoder.block.{}.layer.0.SelfAttention.o")),
            ("decoder.layers.{}.self_attention_residual.norm", Same("decoder.block.{}.layer.0.layer_norm")),
            ("decoder.layers.{}.cross_attention.query", Same("decoder.block.{}.layer.1.EncDecAttention.q")),
            ("decoder.layers.{}.cross_attention.key", Same("decoder.block.{}.layer.1.EncDecAttention.k")),
            ("decoder.layers.{}.cross_attention.value", Same("decoder.block.{}.layer.1.EncDecAttention.v")),
            ("decoder.layers.{}.cross_attention.output", Same("decoder.block.{}.layer.1.EncDecAttention.o")),
            ("decoder.layers.{}.cross_attention_residual.norm", Same("decoder.block.{}.layer.1.layer_norm")),
            ("decoder.layers.{}.feed_forward.inner", Same(concat!("decoder.block.{}.layer.2.DenseReluDense.", $inner))),
            $(("decoder.layers.{}.feed_forward.gate", Same(concat!("decoder.block.{}.layer.2.DenseReluDense.", $gate))),)?
            ("decoder.layers.{}.feed_forward.outer", Same("decoder.block.{}.layer.2.DenseReluDense.wo")),
            ("decoder.layers.{}.feed_forward_residual.norm", Same("decoder.block.{}.layer.2.layer_norm")),
            ("decoder.norm", Same("decoder.final_layer_norm")),
        ]
    };
}

const NAMES: NameMapping = names_with!("wi");
const GATED_NAMES: NameMapping = names_with!("wi_0", "wi_1");

/// The names of a model whose feed-forward networks are `gated` or not.
pub(super) fn names(gated: bool) -> NameMapping {
    if gated { GATED_NAMES } else { NAMES }
}

/// The maximum length in T5's training; the model itself has no limit.
const LENGTH: usize = 512;

/// The name of the output projection.
pub(super) const OUTPUT: &str = "lm_head.weight";

/// The output projection: `tied` if it is the embedding, and `scaled` if the last layer is scaled before it.
struct Output {
    tied: bool,
    scaled: bool,
}

impl Output {
    fn config(&self, d_model: usize) -> OutputConfig {
        OutputConfig {
            tie_embeddings: if self.tied { TieEmbeddings::All } else { TieEmbeddings::Inputs },
            output_bias: false,
            logit_scale: if self.scaled { (d_model as f64).powf(-0.5) } else { 1.0 },
        }
    }
}

/// T5 (Raffel et al. 2020).
pub(super) fn t5(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<Described> {
    let tied = keys.or("tie_word_embeddings", true)?;
    let output = match keys.optional("scale_decoder_outputs")? {
        Some(scaled) => Output { tied: !has_own_output(tensors)?, scaled },
        None => Output { tied, scaled: tied },
    };
    describe(keys, tensors, "relu", output)
}

/// mT5 (Xue et al. 2021), which follows T5's version 1.1.
pub(super) fn mt5(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<Described> {
    let tied = keys.or("tie_word_embeddings", false)?;
    let version: String = keys.or(VERSION, String::new())?;
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    let output = match major {
        Some(5u32..) => Output { tied: !has_own_output(tensors)?, scaled: false },
        _ => Output { tied, scaled: tied },
    };
    describe(keys, tensors, "gated-gelu", output)
}

/// True if the file has an output projection that is not the embedding. `transformers` 5 writes
/// `tie_word_embeddings` = true for all models, and ties the two unless both are there and differ.
fn has_own_output(tensors: &Tensors) -> Result<bool> {
    if !tensors.has(OUTPUT) {
        return Ok(false);
    }
    let mut embeddings = [SHARED, DECODERS_COPY].into_iter();
    match embeddings.find(|name| tensors.has(name)) {
        Some(embedding) if tensors.shape(embedding)? == tensors.shape(OUTPUT)? => {
            Ok(!tensors.same(OUTPUT, embedding)?)
        }
        _ => Ok(true),
    }
}

/// Returns true for a gated feed-forward network, and its activation function. `default` is the usual
/// `feed_forward_proj`.
fn feed_forward(keys: &mut UnreadKeys, default: &str) -> Result<(bool, ActivationKind)> {
    let projection: String = keys.or("feed_forward_proj", default.to_owned())?;
    let (gated, default) = match projection.as_str() {
        "relu" => (false, "relu"),
        "gated-gelu" => (true, "gelu_new"),
        "gated-silu" => (true, "silu"),
        _ => return Err(keys.refuse("feed_forward_proj", &Value::from(projection))),
    };
    // These keys follow from `feed_forward_proj`, unless they are present.
    let activation = activation(keys, "dense_act_fn", default)?;
    keys.only("is_gated_act", gated)?;
    Ok((gated, activation))
}

fn describe(keys: &mut UnreadKeys, tensors: &Tensors, projection: &str, output: Output) -> Result<Described> {
    keys.only("is_encoder_decoder", true)?;
    let layers = keys.required("num_layers")?;
    let d_model: usize = keys.required("d_model")?;
    let (gated, activation) = feed_forward(keys, projection)?;
    let model = ModelConfig {
        family: FamilyConfig::Transformer(Translator {
            encoder: EncoderConfig { n_encoder_layers: layers, ..EncoderConfig::default() },
            decoder: DecoderConfig {
                n_decoder_layers: keys.or("num_decoder_layers", layers)?,
                ..DecoderConfig::default()
            },
            output: output.config(d_model),
            ..Translator::default()
        }),
        d_model,
        d_head: NonZeroUsize::new(keys.required("d_kv")?),
        d_ff: keys.required("d_ff")?,
        n_heads: keys.required("num_heads")?,
        max_len: keys.or("n_positions", LENGTH)?,
        dropout: keys.or("dropout_rate", 0.1)?,
        norm: NormKind::Rms,
        norm_position: NormPosition::Pre,
        norm_epsilon: keys.or("layer_norm_epsilon", 1e-6)?,
        activation,
        feed_forward_gate: gated,
        feed_forward_bias: false,
        positions: Positions::Relative,
        relative_buckets: keys.or("relative_attention_num_buckets", 32)?,
        relative_distance: keys.or("relative_attention_max_distance", 128)?,
        scale_embeddings: false,
        attention_bias: false,
        attention_scale: Some(1.0),
        ..ModelConfig::default()
    };
    let described = Described {
        // Files of early versions have a table that is not used.
        unused: vec![Unused::Ignored(
            "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
        )],
        ..Described::new(model, keys.required("vocab_size")?, names(gated))
    };
    let copies = ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight", OUTPUT];
    let n_copies = if output.tied { 3 } else { 2 };
    Ok(described.sharing(tensors, &copies[..n_copies]))
}
