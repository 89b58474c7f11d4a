//! Keys that have no effect in a configuration.

use toml::Value;

use super::refuse;
use crate::config::{
    Config, Family, ModelConfig, OptimizerConfig, OptimizerKind, Positions, StackKind, Task,
};
use crate::error::Result;

/// Refuses unused keys, unless they have their default value, as in a configuration that is written out in full.
pub(super) fn check(config: &Config) -> Result<()> {
    refuse_set(
        "model",
        &config.model,
        &ModelConfig::default(),
        &unused_by_model(&config.model),
    )?;
    let optimizer = &config.train.optimizer;
    refuse_set(
        "train.optimizer",
        optimizer,
        &OptimizerConfig::default(),
        &unused_by_optimizer(optimizer),
    )
}

impl ModelConfig {
    /// The keys of `[model]` that the chosen architecture does not use.
    pub(in crate::config) fn unused_keys(&self) -> Vec<&'static str> {
        unused_by_model(self)
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    }
}

/// Keys without effect, and the reasons.
type Unused = Vec<(&'static str, &'static str)>;

fn refuse_set<T: serde::Serialize>(
    section: &str,
    set: &T,
    defaults: &T,
    unused: &Unused,
) -> Result<()> {
    let table = |section: &T| Value::try_from(section).ok();
    let (set, defaults) = (table(set), table(defaults));
    for (key, reason) in unused {
        let at = |table: &Option<Value>| {
            let mut parts = key.split('.');
            parts.try_fold(table.clone()?, |table, part| table.get(part).cloned())
        };
        let (found, default) = (at(&set), at(&defaults));
        if found != default {
            let show = |value: Option<Value>| value.map_or("nothing".into(), |v| v.to_string());
            let expected = format!("its default, {}, since {reason}", show(default));
            return refuse(&format!("{section}.{key}"), expected, show(found));
        }
    }
    Ok(())
}

fn unused_by_model(model: &ModelConfig) -> Unused {
    const TRANSFORMER: [&str; 19] = [
        "d_ff",
        "n_heads",
        "n_kv_heads",
        "d_head",
        "attention_dropout",
        "activation_dropout",
        "dropout_position",
        "norm_position",
        "final_norm",
        "activation",
        "feed_forward_gate",
        "feed_forward_bias",
        "positions",
        "position_offset",
        "rotary_base",
        "relative_buckets",
        "relative_distance",
        "attention_bias",
        "attention_scale",
    ];
    let mut unused = Unused::new();
    let mut add = |is_unused: bool, keys: &[&'static str], reason| {
        if is_unused {
            unused.extend(keys.iter().map(|&key| (key, reason)));
        }
    };
    let [encoder, decoder] = [model.encoder(), model.decoder()];
    let has_transformer = model.has(StackKind::Transformer);
    let no_transformer = "the model has no Transformer stack";
    add(!has_transformer, &TRANSFORMER, no_transformer);
    let has_norm = has_transformer || model.embedding_norm;
    add(!has_norm, &["norm", "norm_epsilon"], no_transformer);
    add(
        !model.has(StackKind::Recurrent),
        &["recurrent.cell", "recurrent.d_hidden"],
        "the model has no recurrent stack",
    );
    add(
        encoder != Some(StackKind::Recurrent),
        &["recurrent.bidirectional"],
        "the model has no recurrent encoder",
    );
    add(
        decoder != Some(StackKind::Recurrent) || encoder.is_none(),
        &["recurrent.attention"],
        "the model has no recurrent decoder behind an encoder",
    );
    add(
        decoder != Some(StackKind::Transformer),
        &["decoder_mixing"],
        "the model has no Transformer decoder",
    );
    add(
        encoder.is_none(),
        &["n_encoder_layers"],
        "the model has no encoder",
    );
    add(
        decoder.is_none(),
        &["n_decoder_layers"],
        "the model has no decoder",
    );
    add(
        decoder.is_none(),
        &["decoder_start"],
        "the model has no decoder",
    );
    add(
        model.family.task() != Task::Translate,
        &["forced_first", "forced_last", "never_generated"],
        "the model does not translate",
    );
    let positions = model.positions;
    add(
        has_transformer && positions != Positions::Relative,
        &["relative_buckets", "relative_distance"],
        "`model.positions` is not `relative`",
    );
    add(
        has_transformer && positions != Positions::Rotary,
        &["rotary_base"],
        "`model.positions` is not `rotary`",
    );
    add(
        has_transformer && positions != Positions::Learned,
        &["position_offset"],
        "`model.positions` is not `learned`",
    );
    let labels = matches!(model.family, Family::Tagger | Family::Classifier);
    add(
        labels,
        &["tie_embeddings", "output_bias", "logit_scale"],
        "the model predicts labels",
    );
    add(
        model.family != Family::Classifier,
        &["pooling"],
        "only classifiers pool the positions of a text",
    );
    unused
}

fn unused_by_optimizer(optimizer: &OptimizerConfig) -> Unused {
    match optimizer.kind {
        OptimizerKind::Sgd => ["beta1", "beta2", "epsilon"]
            .map(|key| (key, "SGD has no such value"))
            .into(),
        OptimizerKind::Adam | OptimizerKind::Adamw => Unused::new(),
    }
}
