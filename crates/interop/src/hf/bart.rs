//! BART and its relatives: mBART, M2M-100 and NLLB, MarianMT.

use std::num::NonZeroUsize;

use attentive_architecture::{NormPosition, Positions, TieEmbeddings};
use attentive_base::error::Result;
use attentive_config::{DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, OutputConfig, Translator};

use super::{Described, activation};
use crate::keys::UnreadKeys;
use crate::recipe::{NameMapping, SinusoidTable, SourcePattern::Same, Unused, names};
use crate::tensors::Tensors;

/// The bias of the output. No other tensor's name begins like this.
pub(super) const FINAL_BIAS: &str = "final_logits_bias";

pub(super) const NAMES: NameMapping = names! {
    "src.embedding" => Same("shared"),
    "head.bias" => Same(FINAL_BIAS),
    "src.positions.learned" => Same("encoder.embed_positions.weight"),
    "tgt.positions.learned" => Same("decoder.embed_positions.weight"),
    "src.norm" => Same("encoder.layernorm_embedding"),
    "tgt.norm" => Same("decoder.layernorm_embedding"),
    "encoder.layers.{}.self_attention.query" => Same("encoder.layers.{}.self_attn.q_proj"),
    "encoder.layers.{}.self_attention.key" => Same("encoder.layers.{}.self_attn.k_proj"),
    "encoder.layers.{}.self_attention.value" => Same("encoder.layers.{}.self_attn.v_proj"),
    "encoder.layers.{}.self_attention.output" => Same("encoder.layers.{}.self_attn.out_proj"),
    "encoder.layers.{}.self_attention_residual.norm" => Same("encoder.layers.{}.self_attn_layer_norm"),
    "encoder.layers.{}.feed_forward.inner" => Same("encoder.layers.{}.fc1"),
    "encoder.layers.{}.feed_forward.outer" => Same("encoder.layers.{}.fc2"),
    "encoder.layers.{}.feed_forward_residual.norm" => Same("encoder.layers.{}.final_layer_norm"),
    "encoder.norm" => Same("encoder.layer_norm"),
    "decoder.layers.{}.self_attention.query" => Same("decoder.layers.{}.self_attn.q_proj"),
    "decoder.layers.{}.self_attention.key" => Same("decoder.layers.{}.self_attn.k_proj"),
    "decoder.layers.{}.self_attention.value" => Same("decoder.layers.{}.self_attn.v_proj"),
    "decoder.layers.{}.self_attention.output" => Same("decoder.layers.{}.self_attn.out_proj"),
    "decoder.layers.{}.self_attention_residual.norm" => Same("decoder.layers.{}.self_attn_layer_norm"),
    "decoder.layers.{}.cross_attention.query" => Same("decoder.layers.{}.encoder_attn.q_proj"),
    "decoder.layers.{}.cross_attention.key" => Same("decoder.layers.{}.encoder_attn.k_proj"),
    "decoder.layers.{}.cross_attention.value" => Same("decoder.layers.{}.encoder_attn.v_proj"),
    "decoder.layers.{}.cross_attention.output" => Same("decoder.layers.{}.encoder_attn.out_proj"),
    "decoder.layers.{}.cross_attention_residual.norm" => Same("decoder.layers.{}.encoder_attn_layer_norm"),
    "decoder.layers.{}.feed_forward.inner" => Same("decoder.layers.{}.fc1"),
    "decoder.layers.{}.feed_forward.outer" => Same("decoder.layers.{}.fc2"),
    "decoder.layers.{}.feed_forward_residual.norm" => Same("decoder.layers.{}.final_layer_norm"),
    "decoder.norm" => Same("decoder.layer_norm"),
};

/// The names of a model with a separate embedding for each side.
const SEPARATE: NameMapping = names! {
    "src.embedding" => Same("encoder.embed_tokens"),
    "tgt.embedding" => Same("decoder.embed_tokens"),
};

/// Keys that do not affect the output.
const IGNORED: &[&str] = &[
    "encoder_layerdrop",
    "decoder_layerdrop",
    "add_bias_logits",
    "add_final_layer_norm",
    "extra_pos_embeddings",
    "num_hidden_layers",
];

/// Describes the features that these kinds of models have in common.
fn common(
    keys: &mut UnreadKeys,
    tensors: &Tensors,
    default_activation: &str,
    output: OutputConfig,
) -> Result<Described> {
    let vocab = keys.required("vocab_size")?;
    let (d_ff, n_heads) = (keys.required("encoder_ffn_dim")?, keys.required("encoder_attention_heads")?);
    let unless_same = |own, encoders| NonZeroUsize::new(own).filter(|own| own.get() != encoders);
    keys.only("is_encoder_decoder", true)?;
    keys.only("tie_word_embeddings", true)?;
    keys.ignore(IGNORED);
    let model = ModelConfig {
        family: FamilyConfig::Transformer(Translator {
            encoder: EncoderConfig {
                n_encoder_layers: keys.required("encoder_layers")?,
                ..EncoderConfig::default()
            },
            decoder: DecoderConfig {
                n_decoder_layers: keys.required("decoder_layers")?,
                ..DecoderConfig::default()
            },
            output,
            d_decoder_ff: unless_same(keys.required("decoder_ffn_dim")?, d_ff),
            n_decoder_heads: unless_same(keys.required("decoder_attention_heads")?, n_heads),
            ..Translator::default()
        }),
        d_model: keys.required("d_model")?,
        d_ff,
        n_heads,
        max_len: keys.required("max_position_embeddings")?,
        dropout: keys.or("dropout", 0.1)?,
        attention_dropout: keys.or("attention_dropout", 0.0)?,
        activation_dropout: keys.or("activation_dropout", 0.0)?,
        activation: activation(keys, "activation_function", default_activation)?,
        scale_embeddings: keys.or("scale_embedding", false)?,
        norm_position: NormPosition::Post,
        norm_epsilon: 1e-5,
        ..ModelConfig::default()
    };
    let described = Described { prefix: "model.", ..Described::new(model, vocab, NAMES) };
    let copies = ["lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"];
    Ok(described.sharing(tensors, &copies))
}

/// BART (Lewis et al. 2020).
pub(super) fn bart(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<Described> {
    keys.only("static_position_embeddings", false)?;
    keys.only("do_blenderbot_90_layernorm", false)?;
    let output = OutputConfig {
        // It is missing if the model was saved without its head, and then it is zero.
        output_bias: tensors.has(FINAL_BIAS),
        ..OutputConfig::default()
    };
    let mut described = common(keys, tensors, "gelu", output)?;
    let model = &mut described.model;
    model.positions = Positions::Learned;
    model.position_offset = 2;
    model.embedding_norm = true;
    Ok(described)
}

/// mBART (Liu et al. 2020): norms before each sublayer.
pub(super) fn mbart(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<Described> {
    let mut described = bart(keys, tensors)?;
    described.model.norm_position = NormPosition::Pre;
    Ok(described)
}

/// M2M-100 (Fan et al. 2021) and NLLB: norms before each sublayer, and a table of sinusoids, in which
/// position 0 follows the row of the padding.
pub(super) fn m2m_100(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<Described> {
    keys.ignore(&["static_position_embeddings"]);
    let scale_embeddings = keys.or("scale_embedding", true)?;
    let attention_dropout = keys.or("attention_dropout", 0.1)?;
    let mut described = common(keys, tensors, "relu", OutputConfig::default())?;
    let padding = keys.peek("pad_token_id")?.unwrap_or(1);
    let model = &mut described.model;
    model.scale_embeddings = scale_embeddings;
    model.attention_dropout = attention_dropout;
    model.norm_position = NormPosition::Pre;
    model.positions = Positions::Learned;
    model.position_offset = padding + 1;
    described.positions = Some(SinusoidTable { padding });
    described.unused.extend([
        Unused::Ignored("encoder.embed_positions.weights"),
        Unused::Ignored("decoder.embed_positions.weights"),
    ]);
    Ok(described)
}

/// MarianMT (Junczys-Dowmunt et al. 2018), such as the models of OPUS-MT.
pub(super) fn marian(keys: &mut UnreadKeys, tensors: &Tensors) -> Result<Described> {
    let is_shared = keys.or("share_encoder_decoder_embeddings", true)?;
    keys.only("static_position_embeddings", true)?;
    let output = OutputConfig {
        tie_embeddings: if is_shared { TieEmbeddings::All } else { TieEmbeddings::Decoder },
        output_bias: tensors.has(FINAL_BIAS),
        ..OutputConfig::default()
    };
    let mut described = common(keys, tensors, "gelu", output)?;
    // The tool cannot load other sizes, either.
    keys.only("decoder_vocab_size", described.vocab)?;
    if !is_shared {
        described.names.insert(0, SEPARATE);
        described.unused = vec![Unused::CopyOf("lm_head.weight", "decoder.embed_tokens.weight")];
    }
    described.model.positions = Positions::SinusoidalConcatenated;
    if !output.output_bias {
        described.notes.push(format!(
            "the weights have no `{FINAL_BIAS}`, which is lost where a model is loaded and saved as \
             `AutoModel`; it counts as 0"
        ));
    }
    // These tables hold the same sinusoids.
    described.unused.extend([
        Unused::Ignored("encoder.embed_positions.weight"),
        Unused::Ignored("decoder.embed_positions.weight"),
    ]);
    Ok(described)
}
