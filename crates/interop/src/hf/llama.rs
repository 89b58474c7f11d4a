//! Llama (Touvron et al. 2023).

use std::num::NonZeroUsize;

use attentive_architecture::{NormKind, NormPosition, Positions};
use attentive_base::error::Result;
use attentive_checkpoint::LoadedModel;
use attentive_config::{
    DecoderConfig, MixingKind, ModelConfig, OutputConfig, RotaryScaling, RotaryScalingKind,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::export::{self, HfModel};
use super::{Described, activation, decoder_only};
use crate::export::{ExportProblem, UnsupportedFeatures};
use crate::keys::UnreadKeys;
use crate::recipe::{NameMapping, SourcePattern::Same, Unused, names};

const NAMES: NameMapping = names! {
    "tgt.embedding" => Same("model.embed_tokens"),
    "head.weight" => Same("lm_head.weight"),
    "decoder.layers.{}.self_attention.query" => Same("model.layers.{}.self_attn.q_proj"),
    "decoder.layers.{}.self_attention.key" => Same("model.layers.{}.self_attn.k_proj"),
    "decoder.layers.{}.self_attention.value" => Same("model.layers.{}.self_attn.v_proj"),
    "decoder.layers.{}.self_attention.output" => Same("model.layers.{}.self_attn.o_proj"),
    "decoder.layers.{}.self_attention_residual.norm" => Same("model.layers.{}.input_layernorm"),
    "decoder.layers.{}.feed_forward.inner" => Same("model.layers.{}.mlp.gate_proj"),
    "decoder.layers.{}.feed_forward.gate" => Same("model.layers.{}.mlp.up_proj"),
    "decoder.layers.{}.feed_forward.outer" => Same("model.layers.{}.mlp.down_proj"),
    "decoder.layers.{}.feed_forward_residual.norm" => Same("model.layers.{}.post_attention_layernorm"),
    "decoder.norm" => Same("model.norm"),
};

/// The value of `rope_scaling`. Early versions call its kind `type`.
#[derive(Deserialize)]
#[serde(tag = "rope_type", rename_all = "snake_case", deny_unknown_fields)]
enum Scaling {
    Default {},
    Linear {
        factor: f64,
    },
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_max_position_embeddings: usize,
    },
}

/// The key under which recent versions have `rope_theta` and the scaling.
const PARAMETERS: &str = "rope_parameters";

/// Reads the base of rotary positions and their scaling. A file may have several keys for them, which must
/// agree, since versions of `transformers` differ in which of them they use.
fn rotary(keys: &mut UnreadKeys) -> Result<(f64, RotaryScaling)> {
    let mut base = keys.optional::<f64>("rope_theta")?.map(|base| ("rope_theta", base));
    let mut found = None;
    for key in ["rope_scaling", PARAMETERS] {
        let Some(mut fields) = keys.optional::<Map<String, Value>>(key)? else {
            continue;
        };
        if let Some(stored) = fields.remove("rope_theta") {
            let number = stored.as_f64();
            let number = number.ok_or_else(|| keys.refuse("rope_theta", &stored))?;
            agreed(&mut base, key, number, keys)?;
        }
        let scaling = scaling(key, fields.into(), keys)?;
        agreed(&mut found, key, scaling, keys)?;
    }
    Ok((base.map_or(10_000.0, |(_, base)| base), found.map(|(_, scaling)| scaling).unwrap_or_default()))
}

/// Sets `found` to `value`, the value of `key`. Refuses a value that differs from the one already found.
fn agreed<'a, T: PartialEq>(
    found: &mut Option<(&'a str, T)>,
    key: &'a str,
    value: T,
    keys: &UnreadKeys,
) -> Result<()> {
    match found {
        Some((other, earlier)) if *earlier != value => Err(keys.contradict(other, key)),
        _ => {
            *found = Some((key, value));
            Ok(())
        }
    }
}

fn scaling(key: &str, mut value: Value, keys: &UnreadKeys) -> Result<RotaryScaling> {
    if let Some(fields) = value.as_object_mut()
        && let Some(kind) = fields.remove("type")
    {
        fields.entry("rope_type").or_insert(kind);
    }
    let read = serde_json::from_value(value.clone()).map_err(|_| keys.refuse(key, &value))?;
    let default = RotaryScaling::default();
    Ok(match read {
        Scaling::Default {} => default,
        Scaling::Linear { factor } => RotaryScaling { kind: RotaryScalingKind::Linear, factor, ..default },
        Scaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
            RotaryScaling {
                kind: RotaryScalingKind::Llama3,
                factor,
                low_frequency_factor: low_freq_factor,
                high_frequency_factor: high_freq_factor,
                original_len: original_max_position_embeddings,
            }
        }
    })
}

pub(super) fn describe(keys: &mut UnreadKeys) -> Result<Described> {
    keys.ignore(&["is_llama_config", "pretraining_tp"]);
    keys.only("rope_interleaved", false)?;
    keys.only("attention_bias", false)?;
    keys.only("mlp_bias", false)?;
    let tied = keys.or("tie_word_embeddings", false)?;
    let (rotary_base, rotary_scaling) = rotary(keys)?;
    let n_heads = keys.required("num_attention_heads")?;
    let model = ModelConfig {
        family: decoder_only(keys.required("num_hidden_layers")?, tied),
        d_model: keys.required("hidden_size")?,
        d_head: NonZeroUsize::new(keys.or("head_dim", 0)?),
        d_ff: keys.required("intermediate_size")?,
        n_heads,
        n_kv_heads: NonZeroUsize::new(keys.or("num_key_value_heads", n_heads)?),
        max_len: keys.required("max_position_embeddings")?,
        dropout: 0.0,
        attention_dropout: keys.or("attention_dropout", 0.0)?,
        norm: NormKind::Rms,
        norm_position: NormPosition::Pre,
        norm_epsilon: keys.or("rms_norm_eps", 1e-6)?,
        activation: activation(keys, "hidden_act", "silu")?,
        feed_forward_gate: true,
        feed_forward_bias: false,
        positions: Positions::Rotary,
        rotary_base,
        rotary_scaling,
        scale_embeddings: false,
        attention_bias: false,
        ..ModelConfig::default()
    };
    let mut unused = vec![Unused::Ignored("model.layers.{}.self_attn.rotary_emb.inv_freq")];
    if tied {
        unused.push(Unused::CopyOf("lm_head.weight", "model.embed_tokens.weight"));
    }
    Ok(Described { unused, ..Described::new(model, keys.required("vocab_size")?, NAMES) })
}

/// Refuses a model that Llama cannot represent.
pub(super) fn check(
    model: &ModelConfig,
    decoder: &DecoderConfig,
    output: OutputConfig,
) -> Result<(), ExportProblem> {
    let mut differences = UnsupportedFeatures::default();
    for (equal, difference) in [
        (decoder.decoder_mixing == MixingKind::Attention, "`model.decoder_mixing` is not `attention`"),
        (model.norm == NormKind::Rms, "`model.norm` is not `rms`"),
        (model.norm_position == NormPosition::Pre, "`model.norm_position` is not `pre`"),
        (model.final_norm != Some(false), "`model.final_norm` is false"),
        (model.positions == Positions::Rotary, "`model.positions` is not `rotary`"),
        (model.feed_forward_gate, "`model.feed_forward_gate` is false"),
        (!model.feed_forward_bias, "`model.feed_forward_bias` is true"),
        (!model.attention_bias, "`model.attention_bias` is true"),
        (!model.has_attention_output_bias(), "`model.attention_output_bias` is true"),
        (model.attention_scale.is_none(), "`model.attention_scale` is set"),
        (!model.embedding_norm, "`model.embedding_norm` is true"),
        (!model.scale_embeddings, "`model.scale_embeddings` is true"),
        (!output.output_bias, "`model.output_bias` is true"),
        (output.logit_scale == 1.0, "`model.logit_scale` is not 1"),
    ] {
        differences.unless(equal, difference);
    }
    differences.refuse("Llama")
}

/// Converts a model to Llama.
pub(super) fn export(loaded: &LoadedModel, decoder: &DecoderConfig, output: OutputConfig) -> Result<HfModel> {
    let model = &loaded.config.model;
    check(model, decoder, output).map_err(ExportProblem::into_error)?;
    let or_heads = |n: Option<NonZeroUsize>| n.map_or(model.n_heads, NonZeroUsize::get);
    let d_head = model.d_head.map_or(model.d_model / model.n_heads, NonZeroUsize::get);
    Ok(HfModel {
        kind: "Llama",
        config: json!({
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "vocab_size": export::vocab(&loaded.architecture),
            "hidden_size": model.d_model,
            "intermediate_size": model.d_ff,
            "num_hidden_layers": decoder.n_decoder_layers,
            "num_attention_heads": model.n_heads,
            "num_key_value_heads": or_heads(model.n_kv_heads),
            "head_dim": d_head,
            "max_position_embeddings": model.max_len,
            "hidden_act": export::activation(model.activation),
            "attention_dropout": model.attention_dropout,
            "rms_norm_eps": model.norm_epsilon,
            "rope_theta": model.rotary_base,
            "rope_scaling": scaling_as_json(&model.rotary_scaling),
            "attention_bias": false,
            "mlp_bias": false,
            "tie_word_embeddings": output.tie_embeddings.ties_output(),
        }),
        names: vec![NAMES],
        ..HfModel::default()
    })
}

/// The value of `rope_scaling`.
fn scaling_as_json(scaling: &RotaryScaling) -> Value {
    match scaling.kind {
        RotaryScalingKind::None => Value::Null,
        RotaryScalingKind::Linear => json!({"rope_type": "linear", "factor": scaling.factor}),
        RotaryScalingKind::Llama3 => json!({
            "rope_type": "llama3",
            "factor": scaling.factor,
            "low_freq_factor": scaling.low_frequency_factor,
            "high_freq_factor": scaling.high_frequency_factor,
            "original_max_position_embeddings": scaling.original_len,
        }),
    }
}
