//! BART and its relatives: mBART, M2M-100 and NLLB, MarianMT.

use serde_json::json;

use super::export::{self, Equal};
use super::{Described, activation, same};
use crate::architecture::{NormPosition, Positions, TieEmbeddings};
use crate::batch::TokenId;
use crate::checkpoint::LoadedModel;
use crate::config::{Family, MixingKind, ModelConfig};
use crate::error::Result;
use crate::interop::export::Differences;
use crate::interop::keys::Keys;
use crate::interop::recipe::{Names, Sinusoids, Source::Same, Unused};

const NAMES: Names = &[
    ("src.embedding", Same("model.shared")),
    ("head.bias", Same("final_logits_bias")),
    (
        "src.positions.learned",
        Same("model.encoder.embed_positions.weight"),
    ),
    (
        "tgt.positions.learned",
        Same("model.decoder.embed_positions.weight"),
    ),
    ("src.norm", Same("model.encoder.layernorm_embedding")),
    ("tgt.norm", Same("model.decoder.layernorm_embedding")),
    (
        "encoder.layers.{}.self_attention.query",
        Same("model.encoder.layers.{}.self_attn.q_proj"),
    ),
    (
        "encoder.layers.{}.self_attention.key",
        Same("model.encoder.layers.{}.self_attn.k_proj"),
    ),
    (
        "encoder.layers.{}.self_attention.value",
        Same("model.encoder.layers.{}.self_attn.v_proj"),
    ),
    (
        "encoder.layers.{}.self_attention.output",
        Same("model.encoder.layers.{}.self_attn.out_proj"),
    ),
    (
        "encoder.layers.{}.self_attention_residual.norm",
        Same("model.encoder.layers.{}.self_attn_layer_norm"),
    ),
    (
        "encoder.layers.{}.feed_forward.inner",
        Same("model.encoder.layers.{}.fc1"),
    ),
    (
        "encoder.layers.{}.feed_forward.outer",
        Same("model.encoder.layers.{}.fc2"),
    ),
    (
        "encoder.layers.{}.feed_forward_residual.norm",
        Same("model.encoder.layers.{}.final_layer_norm"),
    ),
    ("encoder.norm", Same("model.encoder.layer_norm")),
    (
        "decoder.layers.{}.self_attention.query",
        Same("model.decoder.layers.{}.self_attn.q_proj"),
    ),
    (
        "decoder.layers.{}.self_attention.key",
        Same("model.decoder.layers.{}.self_attn.k_proj"),
    ),
    (
        "decoder.layers.{}.self_attention.value",
        Same("model.decoder.layers.{}.self_attn.v_proj"),
    ),
    (
        "decoder.layers.{}.self_attention.output",
        Same("model.decoder.layers.{}.self_attn.out_proj"),
    ),
    (
        "decoder.layers.{}.self_attention_residual.norm",
        Same("model.decoder.layers.{}.self_attn_layer_norm"),
    ),
    (
        "decoder.layers.{}.cross_attention.query",
        Same("model.decoder.layers.{}.encoder_attn.q_proj"),
    ),
    (
        "decoder.layers.{}.cross_attention.key",
        Same("model.decoder.layers.{}.encoder_attn.k_proj"),
    ),
    (
        "decoder.layers.{}.cross_attention.value",
        Same("model.decoder.layers.{}.encoder_attn.v_proj"),
    ),
    (
        "decoder.layers.{}.cross_attention.output",
        Same("model.decoder.layers.{}.encoder_attn.out_proj"),
    ),
    (
        "decoder.layers.{}.cross_attention_residual.norm",
        Same("model.decoder.layers.{}.encoder_attn_layer_norm"),
    ),
    (
        "decoder.layers.{}.feed_forward.inner",
        Same("model.decoder.layers.{}.fc1"),
    ),
    (
        "decoder.layers.{}.feed_forward.outer",
        Same("model.decoder.layers.{}.fc2"),
    ),
    (
        "decoder.layers.{}.feed_forward_residual.norm",
        Same("model.decoder.layers.{}.final_layer_norm"),
    ),
    ("decoder.norm", Same("model.decoder.layer_norm")),
];

/// What the relatives have in common.
fn common(keys: &mut Keys, default_activation: &str) -> Result<Described> {
    let vocab = keys.required("vocab_size")?;
    keys.only("is_encoder_decoder", true)?;
    keys.only("tie_word_embeddings", true)?;
    keys.ignore(&[
        "encoder_layerdrop",
        "decoder_layerdrop",
        "add_bias_logits",
        "add_final_layer_norm",
        "extra_pos_embeddings",
        "num_hidden_layers",
    ]);
    let model = ModelConfig {
        family: Family::Transformer,
        d_model: keys.required("d_model")?,
        d_ff: same(keys, ["encoder_ffn_dim", "decoder_ffn_dim"])?,
        n_heads: same(keys, ["encoder_attention_heads", "decoder_attention_heads"])?,
        n_encoder_layers: keys.required("encoder_layers")?,
        n_decoder_layers: keys.required("decoder_layers")?,
        max_len: keys.required("max_position_embeddings")?,
        dropout: keys.or("dropout", 0.1)?,
        attention_dropout: keys.or("attention_dropout", 0.0)?,
        activation_dropout: keys.or("activation_dropout", 0.0)?,
        activation: activation(keys, "activation_function", default_activation)?,
        scale_embeddings: keys.or("scale_embedding", false)?,
        tie_embeddings: TieEmbeddings::All,
        norm_position: NormPosition::Post,
        norm_epsilon: 1e-5,
        ..ModelConfig::default()
    };
    let unused = [
        ("lm_head.weight", "model.shared.weight"),
        ("model.encoder.embed_tokens.weight", "model.shared.weight"),
        ("model.decoder.embed_tokens.weight", "model.shared.weight"),
    ];
    let unused = unused.map(|(copy, original)| Unused::CopyOf(copy, original));
    Ok(Described {
        unused: unused.into(),
        ..Described::new(model, vocab, NAMES)
    })
}

/// BART (Lewis et al. 2020).
pub(super) fn bart(keys: &mut Keys) -> Result<Described> {
    keys.only("static_position_embeddings", false)?;
    let mut described = common(keys, "gelu")?;
    let model = &mut described.model;
    model.positions = Positions::Learned;
    model.position_offset = 2;
    model.embedding_norm = true;
    model.output_bias = true;
    Ok(described)
}

/// mBART (Liu et al. 2020): norms before each sublayer.
pub(super) fn mbart(keys: &mut Keys) -> Result<Described> {
    let mut described = bart(keys)?;
    described.model.norm_position = NormPosition::Pre;
    Ok(described)
}

/// M2M-100 (Fan et al. 2021) and NLLB: norms before each sublayer, and a table of sinusoids with two rows before position 0.
pub(super) fn m2m_100(keys: &mut Keys, padding: Option<TokenId>) -> Result<Described> {
    let mut described = common(keys, "relu")?;
    let model = &mut described.model;
    model.norm_position = NormPosition::Pre;
    model.positions = Positions::Learned;
    model.position_offset = 2;
    described.positions = Some(Sinusoids {
        padding: padding.map_or(1, |id| id as usize),
    });
    described.unused.extend([
        Unused::Ignored("model.encoder.embed_positions.weights"),
        Unused::Ignored("model.decoder.embed_positions.weights"),
    ]);
    Ok(described)
}

/// MarianMT (Junczys-Dowmunt et al. 2018), such as the models of OPUS-MT.
pub(super) fn marian(keys: &mut Keys) -> Result<Described> {
    keys.only("share_encoder_decoder_embeddings", true)?;
    keys.only("static_position_embeddings", true)?;
    let mut described = common(keys, "gelu")?;
    keys.only("decoder_vocab_size", described.vocab)?;
    let model = &mut described.model;
    model.positions = Positions::SinusoidalConcatenated;
    model.output_bias = true;
    // Tables of the same sinusoids.
    described.unused.extend([
        Unused::Ignored("model.encoder.embed_positions.weight"),
        Unused::Ignored("model.decoder.embed_positions.weight"),
    ]);
    Ok(described)
}

/// MarianMT's equal of a model of ours.
pub(super) fn export(loaded: &LoadedModel) -> Result<Equal> {
    let model = &loaded.config.model;
    let sinusoidal = matches!(
        model.positions,
        Positions::SinusoidalInterleaved | Positions::SinusoidalConcatenated
    );
    let mut differences = Differences::of(model);
    differences.unless(
        model.decoder_mixing == MixingKind::Attention,
        "`model.decoder_mixing` is not `attention`",
    );
    differences.unless(
        model.norm_position == NormPosition::Post,
        "`model.norm_position` is not `post`",
    );
    differences.unless(model.final_norm != Some(true), "`model.final_norm` is true");
    differences.unless(
        model.norm_epsilon == 1e-5,
        "`model.norm_epsilon` is not 1e-5",
    );
    differences.unless(!model.embedding_norm, "`model.embedding_norm` is true");
    differences.unless(
        sinusoidal,
        "`model.positions` is not `sinusoidal_interleaved` or `sinusoidal_concatenated`",
    );
    differences.unless(
        model.tie_embeddings == TieEmbeddings::All,
        "`model.tie_embeddings` is not `all`",
    );
    differences.refuse("MarianMT")?;
    let vocab = export::vocab(&loaded.architecture);
    let bias = ("final_logits_bias", vec![vocab], vec![0.0; vocab]);
    Ok(Equal {
        kind: "MarianMT",
        config: json!({
            "model_type": "marian",
            "architectures": ["MarianMTModel"],
            "is_encoder_decoder": true,
            "vocab_size": vocab,
            "decoder_vocab_size": vocab,
            "d_model": model.d_model,
            "encoder_layers": model.n_encoder_layers,
            "decoder_layers": model.n_decoder_layers,
            "encoder_attention_heads": model.n_heads,
            "decoder_attention_heads": model.n_heads,
            "encoder_ffn_dim": model.d_ff,
            "decoder_ffn_dim": model.d_ff,
            "max_position_embeddings": model.max_len,
            "activation_function": export::activation(model.activation),
            "dropout": model.dropout,
            "attention_dropout": model.attention_dropout,
            "activation_dropout": model.activation_dropout,
            "scale_embedding": model.scale_embeddings,
            "static_position_embeddings": true,
            "share_encoder_decoder_embeddings": true,
            "tie_word_embeddings": true,
        }),
        names: NAMES,
        prefix: "",
        bare: "",
        added: match model.output_bias {
            true => Vec::new(),
            false => vec![bias],
        },
        rows: &["final_logits_bias"],
        permuted: model.positions == Positions::SinusoidalInterleaved,
    })
}
