//! GPT-2 (Radford et al. 2019).

use attentive_architecture::{NormPosition, Positions};
use attentive_base::error::Result;
use attentive_checkpoint::LoadedModel;
use attentive_config::{DecoderConfig, MixingKind, ModelConfig, OutputConfig};
use serde_json::json;

use super::export::{self, HfModel};
use super::{Described, activation, decoder_only};
use crate::export::{ExportProblem, UnsupportedFeatures};
use crate::keys::UnreadKeys;
use crate::recipe::SourcePattern::{Part, Same, Transposed};
use crate::recipe::{NameMapping, SourcePattern, Unused, names};

const NAMES: NameMapping = names! {
    "tgt.embedding" => Same("wte"),
    "tgt.positions.learned" => Same("wpe.weight"),
    "decoder.layers.{}.self_attention.query" => joined(0),
    "decoder.layers.{}.self_attention.key" => joined(1),
    "decoder.layers.{}.self_attention.value" => joined(2),
    "decoder.layers.{}.self_attention.output" => Transposed("h.{}.attn.c_proj"),
    "decoder.layers.{}.self_attention_residual.norm" => Same("h.{}.ln_1"),
    "decoder.layers.{}.feed_forward.inner" => Transposed("h.{}.mlp.c_fc"),
    "decoder.layers.{}.feed_forward.outer" => Transposed("h.{}.mlp.c_proj"),
    "decoder.layers.{}.feed_forward_residual.norm" => Same("h.{}.ln_2"),
    "decoder.norm" => Same("ln_f"),
    "head.weight" => Same("lm_head.weight"),
};

/// Queries, keys and values are stored as one map.
const fn joined(part: usize) -> SourcePattern {
    Part { name: "h.{}.attn.c_attn", part, of: 3 }
}

pub(super) fn describe(keys: &mut UnreadKeys) -> Result<Described> {
    keys.ignore(&[
        "embd_pdrop",
        "n_ctx",
        "n_special",
        "predict_special_tokens",
        "reorder_and_upcast_attn",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
    ]);
    keys.only("scale_attn_by_inverse_layer_idx", false)?;
    keys.only("scale_attn_weights", true)?;
    let tied = keys.or("tie_word_embeddings", true)?;
    let d_model = keys.required("n_embd")?;
    let model = ModelConfig {
        family: decoder_only(keys.required("n_layer")?, tied),
        d_model,
        d_ff: keys.or("n_inner", 4 * d_model)?,
        n_heads: keys.required("n_head")?,
        max_len: keys.required("n_positions")?,
        dropout: keys.or("resid_pdrop", 0.1)?,
        attention_dropout: keys.or("attn_pdrop", 0.1)?,
        norm_position: NormPosition::Pre,
        norm_epsilon: keys.or("layer_norm_epsilon", 1e-5)?,
        activation: activation(keys, "activation_function", "gelu_new")?,
        positions: Positions::Learned,
        scale_embeddings: false,
        ..ModelConfig::default()
    };
    // These tensors are masks.
    let mut unused = vec![Unused::Ignored("h.{}.attn.bias"), Unused::Ignored("h.{}.attn.masked_bias")];
    if tied {
        unused.push(Unused::CopyOf("lm_head.weight", "wte.weight"));
    }
    Ok(Described {
        unused,
        prefix: "transformer.",
        ..Described::new(model, keys.required("vocab_size")?, NAMES)
    })
}

/// Refuses a model that GPT-2 cannot represent.
pub(super) fn check(
    model: &ModelConfig,
    decoder: &DecoderConfig,
    output: OutputConfig,
) -> Result<(), ExportProblem> {
    let mut differences = UnsupportedFeatures::of(model);
    differences
        .unless(decoder.decoder_mixing == MixingKind::Attention, "`model.decoder_mixing` is not `attention`");
    differences.unless(model.norm_position == NormPosition::Pre, "`model.norm_position` is not `pre`");
    differences.unless(model.final_norm != Some(false), "`model.final_norm` is false");
    differences.unless(!model.embedding_norm, "`model.embedding_norm` is true");
    differences.unless(!model.scale_embeddings, "`model.scale_embeddings` is true");
    differences.unless(model.position_offset == 0, "`model.position_offset` is not 0");
    differences
        .unless(model.positions != Positions::LearnedRelative, "`model.positions` is `learned_relative`");
    differences.unless(!output.output_bias, "`model.output_bias` is true");
    differences.refuse("GPT-2")
}

/// Converts a model to GPT-2.
pub(super) fn export(loaded: &LoadedModel, decoder: &DecoderConfig, output: OutputConfig) -> Result<HfModel> {
    let model = &loaded.config.model;
    check(model, decoder, output).map_err(ExportProblem::into_error)?;
    let table = export::positions(&loaded.architecture);
    let table = table.map(|table| ("wpe.weight", vec![model.max_len, model.d_model], table));
    Ok(HfModel {
        kind: "GPT-2",
        config: json!({
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadModel"],
            "vocab_size": export::vocab(&loaded.architecture),
            "n_embd": model.d_model,
            "n_layer": decoder.n_decoder_layers,
            "n_head": model.n_heads,
            "n_inner": model.d_ff,
            "n_positions": model.max_len,
            "activation_function": export::activation(model.activation),
            "resid_pdrop": model.dropout,
            "embd_pdrop": model.dropout,
            "attn_pdrop": model.attention_dropout,
            "layer_norm_epsilon": model.norm_epsilon,
            "tie_word_embeddings": output.tie_embeddings.ties_output(),
        }),
        names: vec![NAMES],
        prefix: "transformer.",
        bare: &["lm_head."],
        added: table.into_iter().collect(),
        ..HfModel::default()
    })
}
